/** Messages that join the turn before them, and those that end it: what the rows say, and that it happens once. */
import { expect, it } from 'vitest';
import { FencedError } from '../../../src/protocol/errors.ts';
import type { QueueMode } from '../../../src/protocol/store/records.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { request } from '../requests.ts';
import {
  accepted,
  answer,
  delivery,
  finished,
  IN_ROOM,
  LEASE_MS,
  only,
  said,
  startTurn,
} from '../lanes/turns.ts';

const SESSION = 'telegram:42' as const;
const row = (content: string, laneSeq: number) => ({
  iteration: 2,
  entry: { kind: 'user' as const, content, laneSeq },
  tokens: 1,
});

describeStore('a running turn', (databases) => {
  /** A running turn with this many messages behind it. */
  const busy = async (mode: QueueMode, waiting: number) => {
    const store: TestStore = await databases.open();
    const running = await startTurn(store);
    await store.ledger.updateSession(SESSION, { queueMode: mode });
    const behind: ReturnType<typeof accepted>[] = [];
    for (let n = 2; n < 2 + waiting; n += 1)
      behind.push(accepted(await store.ledger.accept(request(`m${n}`))));
    const join = (rows: ReturnType<typeof row>[]) => ({
      rows,
      joined: rows.map(({ entry }) => ({
        seq: entry.laneSeq,
        turnId: behind[entry.laneSeq - 2]?.turnId ?? '',
      })),
    });
    return { store, ...running, behind, join };
  };

  it.each(['queue', 'interrupt'] as const)('sees nothing waiting for it in mode %s', async (mode) => {
    const { store, head } = await busy(mode, 2);
    expect(await store.ledger.waitingBehind(head, 9)).toMatchObject({ mode, messages: [] });
  });

  it.each(['steer', 'collect'] as const)(
    'sees what waits behind it in mode %s, in order, with ages',
    async (mode) => {
      const { store, head, behind } = await busy(mode, 3);
      const seen = await store.ledger.waitingBehind(head, 2);
      expect(seen).toMatchObject({
        mode,
        messages: [
          { seq: 2, payload: { turnId: behind[0]?.turnId } },
          { seq: 3, payload: { turnId: behind[1]?.turnId } },
        ],
      });
      await store.sql`update turn set created_at = created_at - interval '10 s'`;
      const later = await store.ledger.waitingBehind(head, 2);
      expect(later.quietMs).toBeGreaterThan(seen.quietMs + 9_000);
      expect(later.waitedMs).toBeGreaterThan(seen.waitedMs + 9_000);
    },
  );

  it('joins messages once: their turns end, the next one follows, and they no longer count as waiting', async () => {
    const { store, head, turnId, behind, join, node } = await busy('steer', 3);
    const { ledger } = store;
    await ledger.journalAnswer(head, turnId, [said('first'), answer(1, 'I look.')]);
    const both = join([row('second', 2), row('third', 3)]);
    expect(await ledger.joinTurn(head, turnId, both)).toBe(true);
    expect(await ledger.joinTurn(head, turnId, both)).toBe(true);
    for (const { turnId: gone } of behind.slice(0, 2)) {
      expect(await ledger.turn(gone)).toMatchObject({ state: 'done', reason: 'joined' });
    }
    expect(await ledger.queue(SESSION)).toEqual({ busy: true, waiting: 1 });
    expect((await ledger.counts()).pending).toBe(1);
    expect(await ledger.waitingBehind(head, 9)).toMatchObject({ messages: [{ seq: 4 }] });
    const { journal } = await ledger.openTurn(head, turnId, 10);
    expect(journal.map(({ entry }) => ('content' in entry ? entry.content : ''))).toEqual([
      'first',
      'I look.',
      'second',
      'third',
    ]);
    expect(accepted(await ledger.accept(request('m5')))).toMatchObject({ position: 2 });
    const next = only(await ledger.finishTurn(head, finished(turnId, 'All three.')));
    expect(next).toMatchObject({ seq: 4, dedupe: 'm4', stopped: false });
    expect(only(await ledger.finishTurn(next, finished(behind[2]?.turnId ?? '', 'Four.')))).toMatchObject({
      seq: 5,
    });
    expect(await store.lanes.sweep(node, IN_ROOM)).toEqual([]);
  });

  it('resumes after a crash with the joined messages, leaving none behind', async () => {
    const { store, head, turnId, join } = await busy('steer', 2);
    await store.ledger.joinTurn(head, turnId, join([row('second', 2), row('third', 3)]));
    const young = await store.lanes.register('home of m1', LEASE_MS);
    const again = only(await store.lanes.sweep(young, IN_ROOM));
    expect(again).toMatchObject({ seq: 1, dedupe: 'm1' });
    expect((await store.ledger.openTurn(again, turnId, 10)).journal).toHaveLength(2);
    expect(await store.ledger.finishTurn(again, finished(turnId, 'All.'))).toEqual({ heads: [] });
    expect(await store.ledger.queue(SESSION)).toEqual({ busy: false, waiting: 0 });
  });

  it('joins nothing for a node that lost the lane or after a stop', async () => {
    const { store, head, turnId, join } = await busy('steer', 1);
    const stale = { ...head, epoch: head.epoch - 1 };
    const one = join([row('second', 2)]);
    await expect(store.ledger.joinTurn(stale, turnId, one)).rejects.toThrow(FencedError);
    await expect(store.ledger.waitingBehind(stale, 9)).rejects.toThrow(FencedError);
    expect(await store.lanes.stop(SESSION, { fresh: false })).toEqual({ stopped: true, cancelled: 1 });
    expect(await store.ledger.joinTurn(head, turnId, one)).toBe(false);
    expect(await store.ledger.waitingBehind(head, 9)).toMatchObject({ messages: [] });
    expect(await store.sql`select from context where kind = 'user'`).toHaveLength(0);
  });

  it('does not count joined messages among those a stop drops', async () => {
    const { store, head, turnId, join } = await busy('steer', 3);
    await store.ledger.joinTurn(head, turnId, join([row('second', 2)]));
    expect(await store.lanes.stop(SESSION, { fresh: false })).toEqual({ stopped: true, cancelled: 2 });
  });

  it('ends the placeholder of a joined message once', async () => {
    const store = await databases.open();
    const { head, turnId } = await startTurn(store);
    const change = { placeholder: { id: '@original', metadata: {} } };
    const shown = accepted(await store.ledger.accept(request('m2', change)));
    const join = { rows: [row('second', 2)], joined: [{ seq: 2, turnId: shown.turnId }] };
    await store.ledger.joinTurn(head, turnId, join);
    await store.ledger.joinTurn(head, turnId, join);
    const out = await store.sql<{ ref: string; text: string }[]>`
      select payload ->> 'ref' as ref, payload ->> 'says' as text from lane_item where lane like 'out:%'`;
    expect(out).toEqual([{ ref: shown.turnId, text: 'turn.joined' }]);
  });

  it('is marked to end when the next message interrupts it, but not for system messages', async () => {
    const store = await databases.open();
    const { head, node, turnId } = await startTurn(store);
    await store.ledger.updateSession(SESSION, { queueMode: 'interrupt' });
    const gateway = accepted(
      await store.ledger.accept(request('h1', { channel: 'system', sessionKey: SESSION })),
    );
    expect(gateway.interrupts).toBe(false);
    expect(await store.lanes.flags(node)).toEqual([]);
    const next = accepted(await store.ledger.accept(request('m2')));
    expect(next.interrupts).toBe(true);
    expect(await store.lanes.flags(node)).toEqual([
      { lane: `in:${SESSION}`, stopSeq: 0, interruptSeq: head.seq },
    ]);
    const young = await store.lanes.register('home of m1', LEASE_MS);
    const again = only(await store.lanes.sweep(young, IN_ROOM));
    expect(await store.lanes.flags(young)).toMatchObject([{ interruptSeq: again.seq }]);
    const end = finished(turnId, 'so far', {
      reason: 'interrupted',
      outbound: delivery(turnId, SESSION, 'so far'),
    });
    const { heads } = await store.ledger.finishTurn(again, end);
    expect(heads.find(({ lane }) => lane.startsWith('in:'))).toMatchObject({ seq: 2 });
    expect(await store.lanes.flags(young)).toEqual([]);
  });

  it('is not ended by a message of an idle session, nor while it waits for a human', async () => {
    const store = await databases.open();
    const { head, turnId, node } = await startTurn(store);
    await store.ledger.updateSession(SESSION, { queueMode: 'interrupt' });
    await store.lanes.park(head, { id: 'a1', turnId, detail: {}, expiresInMs: 60_000 });
    expect(accepted(await store.ledger.accept(request('m2'))).interrupts).toBe(false);
    await store.lanes.decide('a1', 'approved', 'telegram:1');
    only(await store.lanes.sweep(node, IN_ROOM));
    expect(await store.lanes.flags(node)).toEqual([]);
  });
});
