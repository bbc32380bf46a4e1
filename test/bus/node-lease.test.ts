/** The lease of a paused process: it holds nothing from the moment another node may have taken over its lanes. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { HEARTBEAT_MS, LEASE_MS } from '../../src/bus/message-bus.ts';
import { HEARTBEAT_LATE_MS, NodeLease } from '../../src/bus/node-lease.ts';
import { StoreError } from '../../src/protocol/errors.ts';
import type { LaneStore } from '../../src/protocol/store/lanes.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { describeStore, silentLog } from '../database.ts';

function leaseOf(lanes: LaneStore, monotonicMs: () => number): NodeLease {
  return new NodeLease({
    lanes,
    instance: 'home',
    leaseMs: LEASE_MS,
    heartbeatMs: HEARTBEAT_MS,
    clock: { ...systemClock, monotonicMs },
    log: silentLog,
    onLost: () => undefined,
    onRegained: () => undefined,
  });
}

describeStore('the lease of a node', (databases) => {
  it('ends on time, before any timer of the process has run', async () => {
    const { lanes } = await databases.open();
    let now = 1_000;
    const lease = leaseOf(lanes, () => now);
    onTestFinished(() => lease.stop());
    await lease.start();
    now += LEASE_MS - 1;
    expect(lease.node).toBeDefined();
    now += 1;
    expect(lease.node).toBeUndefined();
  });

  it('says that the database is down once a heartbeat is late, and up with the answer', async () => {
    const { lanes } = await databases.open();
    let now = 1_000;
    const answer = Promise.withResolvers<boolean>();
    const lease = leaseOf({ ...lanes, heartbeat: () => answer.promise }, () => now);
    onTestFinished(() => lease.stop());
    await lease.start();
    now += HEARTBEAT_LATE_MS - 1;
    expect(lease.store).toBe('up');
    now += 1;
    expect(lease.store).toBe('down');
    answer.resolve(true);
    await vi.waitFor(() => expect(lease.store).toBe('up'));
  });

  it.each([
    ['read_only', 'read_only'],
    ['unavailable', 'down'],
  ])('says after a heartbeat that failed as %s that the database is %s', async (code, state) => {
    const { lanes } = await databases.open();
    const heartbeat = () => Promise.reject(new StoreError(code, 'No.', { retryable: true }));
    const lease = leaseOf({ ...lanes, heartbeat }, () => 1_000);
    onTestFinished(() => lease.stop());
    await lease.start();
    await vi.waitFor(() => expect(lease.store).toBe(state));
  });
});
