/** The fan-out contract in this process and over Postgres; over NATS it runs with the NATS tests. */
import { describe, expect, it, vi } from 'vitest';
import { createEventBus } from '../../src/bus/event-bus.ts';
import type { AgentEvent } from '../../src/protocol/event.ts';
import { fanoutContract } from '../contracts/fanout.ts';
import { describeStore } from '../database.ts';
import { recordingLog, TestNetwork, textOnScreen } from './events.ts';

const RUN = { sessionKey: 'telegram:1', turnId: 't', epoch: 1 } as const;
const LONG = { timeout: 20_000 };

describe('a fan-out in this process', () => {
  fanoutContract(() => {
    const network = new TestNetwork();
    return Promise.resolve([network.fanout(), network.fanout()]);
  });
});

describeStore('a fan-out over the database', (databases) => {
  describe('of two nodes', () => {
    fanoutContract(async () => {
      const store = await databases.open();
      const beside = await databases.open({ beside: store });
      if (store.fanout === undefined || beside.fanout === undefined)
        throw new Error('Postgres has a fan-out');
      return [store.fanout, beside.fanout];
    });
  });

  it('shows readers the end of a turn although both nodes lost their connections as it ended', async () => {
    const store = await databases.open();
    const beside = await databases.open({ beside: store });
    const { log } = recordingLog();
    const [a, b] = [store, beside].map(({ fanout }, index) =>
      createEventBus({ ...(fanout && { fanout }), nodeId: `node-${index}`, log }),
    );
    try {
      await Promise.all([a!.start(), b!.start()]);
      let resumes = 0;
      const leave = await store.fanout!.subscribe(
        () => undefined,
        () => (resumes += 1),
      );
      const seen: AgentEvent[] = [];
      b!.subscribe({ sessionKey: RUN.sessionKey }, (event) => seen.push(event));
      const turn = a!.turn(RUN);
      await vi.waitFor(() => {
        turn.emit({ type: 'stream_chunk', msgId: 'm', delta: 'word ' });
        expect(textOnScreen(seen)).toContain('word');
      }, LONG);
      await store.sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where query like 'listen %' and datname = current_database()`;
      await vi.waitFor(() =>
        expect([store, beside].map(({ fanout }) => fanout?.isUp())).toEqual([false, false]),
      );
      turn.emit({ type: 'stream_chunk', msgId: 'm', delta: 'the end' });
      turn.emit({ type: 'turn_ended', reason: 'completed' });
      await vi.waitFor(() => expect(seen.at(-1)?.type).toBe('turn_ended'), LONG);
      expect(textOnScreen(seen)).toMatch(/word the end$/);
      expect([store, beside].map(({ fanout }) => fanout?.isUp())).toEqual([true, true]);
      await vi.waitFor(() => expect(resumes).toBe(1), LONG);
      await leave();
    } finally {
      await Promise.all([a!.stop(), b!.stop()]);
    }
  });
});
