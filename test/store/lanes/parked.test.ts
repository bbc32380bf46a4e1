/** Turns that wait for a person in a room of several people: who goes ahead of them, what each reads, and how they end. */
import { expect, it, vi } from 'vitest';
import { GROUP_WAIT_MS } from '../../../src/protocol/agent/approvals.ts';
import { FencedError } from '../../../src/protocol/errors.ts';
import type { LaneHead } from '../../../src/protocol/store/lanes.ts';
import type { InboundMessage } from '../../../src/protocol/message.ts';
import { describeStore } from '../../database.ts';
import { request } from '../requests.ts';
import { accepted, answer, finished, IN_ROOM, only, said, startTurn, subject } from './turns.ts';

const SESSION = 'telegram:42' as const;
const HOUR_MS = 3_600_000;
const ADA: Partial<InboundMessage> = {};
const BEN: Partial<InboundMessage> = { senderId: '8', senderName: 'Ben' };
const CARL: Partial<InboundMessage> = { senderId: '9', senderName: 'Carl' };

describeStore('a turn that waits for a person', (databases) => {
  /** Ada's turn has asked and is parked. */
  async function askedForAda(change: Partial<InboundMessage> = {}, detail: object = {}) {
    const store = await databases.open();
    const { ledger, lanes } = store;
    const { node, head, turnId } = await startTurn(store, 'm1', change);
    await ledger.openTurn(head, turnId, 50);
    await ledger.journalAnswer(head, turnId, [said('Ada asks'), answer(1, 'May I?')]);
    const park = (fence: LaneHead, of: string, id: string, expiresInMs = HOUR_MS) =>
      lanes.park(fence, {
        id,
        turnId: of,
        detail: { ...subject(`${of}.1.0`, {}), ...detail },
        expiresInMs,
      });
    await park(head, turnId, 'ada');
    const says = async (id: string, who: Partial<InboundMessage>) =>
      accepted(await ledger.accept(request(id, who, node)));
    const turnOf = (head: LaneHead): string => (head.payload as { turnId: string }).turnId;
    /** Runs what a node would: parked heads let others pass; the first turn that opens is returned. */
    const next = async (heads?: readonly LaneHead[]) => {
      let claimed = heads ?? (await lanes.sweep(node, IN_ROOM));
      for (let passes = 0; passes < 9; passes += 1) {
        const [first] = claimed;
        if (first === undefined) return undefined;
        const opened = await ledger.openTurn(first, turnOf(first), 50).catch((error: unknown) => {
          if (!(error instanceof FencedError)) throw error;
        });
        if (opened !== undefined) return { head: first, turnId: turnOf(first), ...opened };
        claimed = await lanes.sweep(node, IN_ROOM);
      }
      throw new Error('the lane does not settle');
    };
    const texts = (rows: readonly { entry: object }[]) =>
      rows.map(({ entry }) => ('content' in entry ? entry.content : ''));
    return { ...store, node, head, turnId, park, says, next, texts };
  }

  it('lets the message of another person go ahead, and goes on after it when it is decided (P26)', async () => {
    const { ledger, lanes, approvals, turnId, says, next, texts } = await askedForAda();
    const ben = await says('m2', BEN);
    const running = await next(ben.heads);
    // What Ada's question shows must stay as it is: Ben's turn changes no file.
    expect(await approvals.asksOther(SESSION, `${ben.turnId}.1.0`, ben.turnId)).toBe(true);
    expect(running?.turnId).toBe(ben.turnId);
    // Neither the open turn nor its answer so far is in what Ben's turn reads.
    expect(running?.history).toEqual([]);
    expect(await lanes.decide('ada', 'approved', 'boss')).toBe(true);
    const end = finished(ben.turnId, 'For Ben.', { entries: [said('Ben asks'), answer(1, 'For Ben.')] });
    const again = await next((await ledger.finishTurn(running!.head, end)).heads);
    expect(again?.turnId).toBe(turnId);
    expect(texts(again?.history ?? [])).toEqual(['Ben asks', 'For Ben.']);
    expect(texts(again?.journal ?? [])).toEqual(['Ada asks', 'May I?']);
    expect(again?.approvals).toMatchObject([{ id: 'ada', decision: 'approved' }]);
    await ledger.finishTurn(again!.head, finished(turnId, 'For Ada.', { entries: [answer(2, 'For Ada.')] }));
    const carl = await next((await says('m3', CARL)).heads);
    expect(texts(carl?.history ?? [])).toEqual(['Ben asks', 'For Ben.', 'Ada asks', 'May I?', 'For Ada.']);
  });

  it('keeps the order of one person: their later messages wait, those of others pass both', async () => {
    const { ledger, lanes, turnId, says, next } = await askedForAda();
    const later = await says('m2', ADA);
    expect(await next(later.heads)).toBeUndefined();
    expect(await ledger.queue(SESSION)).toEqual({ busy: true, waiting: 1 });
    const order: string[] = [];
    for (const [id, who] of [
      ['m3', BEN],
      ['m4', CARL],
    ] as const) {
      const one = await next((await says(id, who)).heads);
      order.push(one?.turnId ?? '');
      const { heads } = await ledger.finishTurn(one!.head, finished(one!.turnId, 'done'));
      expect(await next(heads)).toBeUndefined();
    }
    expect(new Set(order)).not.toContain(later.turnId);
    await lanes.decide('ada', 'denied', 'boss');
    const ada = await next();
    expect(ada?.turnId).toBe(turnId);
    const last = await next((await ledger.finishTurn(ada!.head, finished(turnId, 'no'))).heads);
    expect(last?.turnId).toBe(later.turnId);
  });

  it('has 10 minutes left in a group once the next message of its person waits; a question to another keeps its time', async () => {
    const inGroup = { place: 'group' } as const;
    const leftIn = async (detail: object, who: Partial<InboundMessage>): Promise<number> => {
      const { says, next, sql } = await askedForAda(inGroup, detail);
      const one = await next((await says('m2', { ...inGroup, ...who })).heads);
      expect(one === undefined).toBe(who === ADA);
      const [row] = await sql<{ left: number }[]>`
        select extract(epoch from expires_at - now())::float8 * 1000 as left from approval where id = 'ada'`;
      return row?.left ?? 0;
    };
    expect(await leftIn({}, BEN)).toBeGreaterThan(GROUP_WAIT_MS);
    const left = await leftIn({}, ADA);
    expect(left).toBeLessThanOrEqual(GROUP_WAIT_MS);
    expect(left).toBeGreaterThan(GROUP_WAIT_MS - 300_000);
    expect(await leftIn({ question: {} }, ADA)).toBeGreaterThan(GROUP_WAIT_MS);
  });

  it('lets those go ahead who were already waiting when it began to wait', async () => {
    const store = await databases.open();
    const { head, turnId, node } = await startTurn(store);
    await store.ledger.openTurn(head, turnId, 50);
    const ben = accepted(await store.ledger.accept(request('m2', BEN, node)));
    const detail = subject(`${turnId}.1.0`, {});
    await store.lanes.park(head, { id: 'ada', turnId, detail, expiresInMs: HOUR_MS });
    const parked = only(await store.lanes.sweep(node, IN_ROOM));
    await expect(store.ledger.openTurn(parked, turnId, 50)).rejects.toThrow(FencedError);
    expect(only(await store.lanes.sweep(node, IN_ROOM)).payload).toMatchObject({ turnId: ben.turnId });
  });

  it('continues the one of several that is decided first, and each at its own expiry', async () => {
    const { ledger, lanes, turnId, says, next, park, sql } = await askedForAda();
    const ben = await next((await says('m2', BEN)).heads);
    await park(ben!.head, ben!.turnId, 'ben');
    expect(await next()).toBeUndefined();
    await lanes.decide('ben', 'approved', 'boss');
    const decided = await next();
    expect(decided?.turnId).toBe(ben?.turnId);
    const { heads } = await ledger.finishTurn(decided!.head, finished(ben!.turnId, 'done'));
    await sql`update approval set expires_at = now() where id = 'ada'`;
    const expired = await next(heads);
    expect(expired?.turnId).toBe(turnId);
    expect(expired?.approvals).toMatchObject([{ decision: 'denied', decidedBy: 'expiry' }]);
    expect(await lanes.decide('ada', 'approved', 'too late')).toBe(false);
  });

  it('ends with a stop, denied, whoever runs before it; the rest of the queue is dropped', async () => {
    const { ledger, lanes, turnId, says, next, approvals } = await askedForAda();
    const ben = await next((await says('m2', BEN)).heads);
    const dropped = await says('m3', CARL);
    expect(await lanes.stop(SESSION, { fresh: true })).toEqual({ stopped: true, cancelled: 1 });
    expect(await ledger.turn(dropped.turnId)).toMatchObject({ state: 'done', reason: 'stopped' });
    expect(await approvals.approval('ada')).toMatchObject({ state: 'denied', decidedBy: 'stop' });
    const ended = await ledger.finishTurn(ben!.head, finished(ben!.turnId, 'so far', { reason: 'stopped' }));
    const ada = await next(ended.heads);
    expect(ada?.turnId).toBe(turnId);
    expect(ada?.approvals).toMatchObject([{ decision: 'denied', decidedBy: 'stop' }]);
    await ledger.finishTurn(ada!.head, finished(turnId, '', { reason: 'stopped' }));
    expect(await ledger.queue(SESSION)).toEqual({ busy: false, waiting: 0 });
    // After `/new` nobody reads any of it.
    expect((await next((await says('m4', CARL)).heads))?.history).toEqual([]);
  });

  it('is not among the messages that can be edited, dropped or sent now, and stays whole when they are', async () => {
    const { ledger, waiting, turnId, says, next, texts, lanes } = await askedForAda();
    const ben = await next((await says('m2', BEN)).heads);
    const carl = await says('m3', CARL);
    const later = await says('m4', BEN);
    expect((await waiting.waiting(SESSION)).messages.map((one) => one.turnId)).toEqual([
      carl.turnId,
      later.turnId,
    ]);
    expect(await waiting.dropWaiting(SESSION, turnId)).toBe('begun');
    expect(await waiting.dropWaiting(SESSION, carl.turnId)).toBe('changed');
    expect(await waiting.sendWaitingNow(SESSION, later.turnId)).toBe('changed');
    const second = await next((await ledger.finishTurn(ben!.head, finished(ben!.turnId, 'b'))).heads);
    expect(second?.turnId).toBe(later.turnId);
    await lanes.decide('ada', 'approved', 'boss');
    const ada = await next((await ledger.finishTurn(second!.head, finished(later.turnId, 'c'))).heads);
    expect(texts(ada?.journal ?? [])).toEqual(['Ada asks', 'May I?']);
  });

  it('does not join another turn, and messages behind it get their own', async () => {
    const { ledger, says, next, sql } = await askedForAda();
    await sql`update session set queue_mode = 'steer' where key = ${SESSION}`;
    const ben = await next((await says('m2', BEN)).heads);
    await says('m3', BEN);
    expect((await ledger.waitingBehind(ben!.head, 9)).messages).toEqual([]);
  });

  it('is not blamed for the death of a node that was about to let others pass', async () => {
    const { ledger, lanes, says, sql } = await askedForAda();
    const claimed = only((await says('m2', BEN)).heads);
    await sql`update node set lease_until = now()`;
    const node = await lanes.register('another home', HOUR_MS);
    expect(only(await lanes.sweep(node, IN_ROOM))).toMatchObject({ seq: claimed.seq, crashes: 0 });
    await expect(ledger.openTurn(claimed, 'whoever', 5)).rejects.toThrow(FencedError);
  });

  it('is woken by a decision that waits for the lock of a node that lets it sleep on', async () => {
    const { lanes, sql, node, says, place, ...store } = await askedForAda();
    const { sql: other } = await databases.open({ beside: { ...store, lanes, sql, place } });
    // Her own next message claims the lane: the turn is looked at, and sleeps on.
    expect((await says('m2', ADA)).heads).toHaveLength(1);
    const { promise: end, resolve: release } = Promise.withResolvers<void>();
    const { promise: locked, resolve: lock } = Promise.withResolvers<void>();
    const settling = other.begin(async (tx) => {
      await tx`select from lane where key = ${`in:${SESSION}`} for update`;
      lock();
      await end;
      await tx`
        update lane set owner = null, wake_at = now() + interval '1 hour', delay_ms = 3600000
        where key = ${`in:${SESSION}`}`;
    });
    await locked;
    const decided = lanes.decide('ada', 'approved', 'boss');
    await vi.waitFor(async () => {
      const waiting = await sql`
        select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
      expect(waiting.length).toBeGreaterThan(0);
    });
    release();
    await settling;
    expect(await decided).toBe(true);
    expect(only(await lanes.sweep(node, IN_ROOM)).lane).toBe(`in:${SESSION}`);
  });

  it('loses no decision that is made while a node lets others pass', async () => {
    for (let round = 0; round < 8; round += 1) {
      const { lanes, says, next } = await askedForAda();
      const { heads } = await says('m2', round % 2 === 0 ? ADA : BEN);
      const [decided, first] = await Promise.all([lanes.decide('ada', 'approved', 'boss'), next(heads)]);
      expect(decided).toBe(true);
      const second = first ?? (await next());
      expect(second).toBeDefined();
    }
  });
});
