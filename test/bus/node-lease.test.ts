/** The lease of a paused process: it holds nothing from the moment another node may have taken over its lanes. */
import { expect, it, onTestFinished } from 'vitest';
import { HEARTBEAT_MS, LEASE_MS } from '../../src/bus/message-bus.ts';
import { NodeLease } from '../../src/bus/node-lease.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { describeStore, silentLog } from '../database.ts';

describeStore('the lease of a node', (databases) => {
  it('ends on time, before any timer of the process has run', async () => {
    const { lanes } = await databases.open();
    let now = 1_000;
    const lease = new NodeLease({
      lanes,
      instance: 'home',
      leaseMs: LEASE_MS,
      heartbeatMs: HEARTBEAT_MS,
      clock: { ...systemClock, monotonicMs: () => now },
      log: silentLog,
      onLost: () => undefined,
      onRegained: () => undefined,
    });
    onTestFinished(() => lease.stop());
    await lease.start();
    now += LEASE_MS - 1;
    expect(lease.node).toBeDefined();
    now += 1;
    expect(lease.node).toBeUndefined();
  });
});
