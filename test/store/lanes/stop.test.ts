/** Stopping, parking, deciding and clearing, in every state a lane can be in. */
import { expect, it } from 'vitest';
import { describeStore } from '../../database.ts';
import { FencedError } from '../../../src/protocol/errors.ts';
import { plan } from '../../fakes/gateway/shown-plans.ts';
import { request } from '../requests.ts';
import { accepted, answer, finished, IN_ROOM, LEASE_MS, only, said, startTurn, subject } from './turns.ts';

const SESSION = 'telegram:42' as const;
const HOUR_MS = 3_600_000;

describeStore('stop and park', (databases) => {
  it('reports when there is nothing to stop', async () => {
    const { lanes } = await databases.open();
    expect(await lanes.stop('telegram:unknown', { fresh: false })).toEqual({ stopped: false, cancelled: 0 });
  });

  it('leaves a running head to its owner and cancels what is queued behind it', async () => {
    const { ledger, lanes, ...store } = await databases.open();
    const { node, turnId, head } = await startTurn({ ledger, lanes, ...store });
    const queued = accepted(await ledger.accept(request('m2')));
    await ledger.accept(request('m3'));
    expect(await lanes.stop(SESSION, { fresh: false })).toEqual({ stopped: true, cancelled: 2 });
    expect(await lanes.flags(node)).toMatchObject([{ lane: 'in:telegram:42', stopSeq: 3 }]);
    expect(await ledger.turn(queued.turnId)).toMatchObject({ state: 'done', reason: 'stopped' });
    const messages = await ledger.messages(SESSION, { limit: 9 });
    expect(messages.map(({ leftOut }) => leftOut)).toEqual([undefined, true, true]);
    expect(accepted(await ledger.accept(request('m4')))).toMatchObject({ position: 1 });
    const ended = finished(turnId, 'so far', { reason: 'stopped' });
    expect(only(await ledger.finishTurn(head, ended))).toMatchObject({
      seq: 4,
      dedupe: 'm4',
      stopped: false,
    });
    expect(await lanes.deadLetters(9)).toEqual([]);
  });

  it('cancels everything when the head is not running: unclaimed, or due later', async () => {
    const { ledger, lanes, ...store } = await databases.open();
    const { turnId, head, node } = await startTurn({ ledger, lanes, ...store });
    await lanes.release(head, { delayMs: HOUR_MS, attempt: true, error: 'busy' });
    await ledger.accept(request('m2'));
    expect(await lanes.stop(SESSION, { fresh: false })).toEqual({ stopped: false, cancelled: 2 });
    expect(await ledger.turn(turnId)).toMatchObject({ state: 'done', reason: 'stopped' });
    expect(await lanes.sweep(node, IN_ROOM)).toEqual([]);
    const next = accepted(await ledger.accept(request('m3', {}, node)));
    expect(only(next)).toMatchObject({ seq: 3, dedupe: 'm3', stopped: false });
  });

  it('cancels the plan of a turn that is not running, and gets its card updated (S-36)', async () => {
    const { ledger, lanes, plans, ...store } = await databases.open();
    const { turnId, head } = await startTurn({ ledger, lanes, plans, ...store });
    const usage = { promptTokens: 1, completionTokens: 1, modelMs: 1 };
    const unrun = plan(2, { mode: 'agentic' });
    const made = { plan: unrun, card: 'card', todos: [], rows: [] };
    await ledger.storePlan(head, turnId, { made, userId: SESSION, model: 'm', usage });
    await ledger.noteSent(head, 'plan:p', [{ id: '7' }]);
    await lanes.release(head, { delayMs: HOUR_MS, attempt: true });
    await lanes.stop(SESSION, { fresh: false });
    expect(await ledger.planOf(turnId)).toMatchObject({ state: 'cancelled', reason: 'Stopped.' });
    const [queued] = await store.sql`select payload from lane_item where lane = ${`out:${SESSION}`}`;
    expect(queued).toMatchObject({ payload: { ref: turnId, message: { turnId }, says: 'turn.stopped' } });
  });

  it('marks the head of a dead node as stopped when it is claimed again', async () => {
    const { ledger, lanes, ...store } = await databases.open();
    const { head, turnId } = await startTurn({ ledger, lanes, ...store });
    await ledger.openTurn(head, turnId, 10);
    expect(await lanes.stop(SESSION, { fresh: false })).toEqual({ stopped: true, cancelled: 0 });
    const young = await lanes.register('home of m1', LEASE_MS);
    expect(only(await lanes.sweep(young, IN_ROOM))).toMatchObject({ stopped: true, crashes: 1 });
  });

  it('makes a released head due immediately when it is stopped', async () => {
    const { ledger, lanes, ...store } = await databases.open();
    const { head, node } = await startTurn({ ledger, lanes, ...store });
    await lanes.stop(SESSION, { fresh: false });
    await lanes.release(head, { delayMs: HOUR_MS, attempt: true });
    expect(only(await lanes.sweep(node, IN_ROOM))).toMatchObject({ stopped: true });
  });

  it('ends the deferred reply of a message that it cancels, and no other', async () => {
    const { ledger, lanes, ...store } = await databases.open();
    const { node } = await startTurn({ ledger, lanes, ...store });
    const asked = accepted(await ledger.accept(request('m2', { placeholder: { id: '@original' } })));
    await ledger.accept(request('m3'));
    expect(await lanes.stop(SESSION, { fresh: false })).toEqual({ stopped: true, cancelled: 2 });
    const head = only(await lanes.sweep(node, [{ class: 'out', free: 9 }]));
    expect(head).toMatchObject({ lane: 'out:telegram:42', dedupe: asked.turnId });
    const message = { channel: 'telegram', chatId: '42', turnId: asked.turnId };
    expect(head.payload).toMatchObject({ ref: asked.turnId, message, says: 'turn.stopped' });
  });

  it('parks a turn without counting an attempt, and wakes it with the decision', async () => {
    const { ledger, lanes, ...store } = await databases.open();
    const { head, node, turnId } = await startTurn({ ledger, lanes, ...store });
    const detail = subject(`${turnId}.1.0`, { command: 'rm \0' });
    await lanes.park(head, { id: 'a1', turnId, detail, expiresInMs: HOUR_MS });
    expect((await ledger.turn(turnId))?.state).toBe('parked');
    expect(await lanes.sweep(node, IN_ROOM)).toEqual([]);
    const behind = only(accepted(await ledger.accept(request('m2', {}, node))));
    await expect(ledger.openTurn(behind, turnId, 5)).rejects.toThrow(FencedError);
    expect(await lanes.sweep(node, IN_ROOM)).toEqual([]);
    const raced = [lanes.decide('a1', 'approved', 'owner'), lanes.decide('a1', 'denied', 'other')];
    expect((await Promise.all(raced)).filter(Boolean)).toHaveLength(1);
    const woken = only(await lanes.sweep(node, IN_ROOM));
    expect(woken).toMatchObject({ seq: 1, attempts: 0, crashes: 0, stopped: false });
    const { approvals } = await ledger.openTurn(woken, turnId, 5);
    expect(approvals).toMatchObject([{ id: 'a1', callKey: `${turnId}.1.0`, digest: 'd1' }]);
    expect(await store.approvals.approval('a1')).toMatchObject({
      tool: 'exec',
      args: { command: 'rm \u2400' },
    });
    expect(await lanes.decide('a1', 'approved', 'owner')).toBe(false);
    expect(await lanes.decide('nobody', 'approved', 'owner')).toBe(false);
  });

  it('treats an approval that was not decided in time as denied', async () => {
    const { ledger, lanes, ...store } = await databases.open();
    const { head, node, turnId } = await startTurn({ ledger, lanes, ...store });
    await lanes.park(head, { id: 'a1', turnId, detail: {}, expiresInMs: 0 });
    expect(await lanes.decide('a1', 'approved', 'too late')).toBe(false);
    const woken = only(await lanes.sweep(node, IN_ROOM));
    expect((await ledger.openTurn(woken, turnId, 5)).approvals).toMatchObject([
      { decision: 'denied', decidedBy: 'expiry' },
    ]);
  });

  it('denies a parked turn on stop and lets it end immediately', async () => {
    const { ledger, lanes, ...store } = await databases.open();
    const { head, node, turnId } = await startTurn({ ledger, lanes, ...store });
    await lanes.park(head, { id: 'a1', turnId, detail: {}, expiresInMs: HOUR_MS });
    await ledger.accept(request('m2'));
    expect(await lanes.stop(SESSION, { fresh: false })).toEqual({ stopped: true, cancelled: 1 });
    expect(await lanes.decide('a1', 'approved', 'late')).toBe(false);
    const woken = only(await lanes.sweep(node, IN_ROOM));
    expect(woken).toMatchObject({ seq: 1, stopped: true });
    expect(await ledger.finishTurn(woken, finished(turnId, '', { reason: 'stopped' }))).toEqual({
      heads: [],
    });
    expect(await ledger.messages(SESSION, { limit: 9 })).toHaveLength(2);
  });

  it('wakes a turn immediately when the stop came before parking', async () => {
    const { ledger, lanes, ...store } = await databases.open();
    const { head, node, turnId } = await startTurn({ ledger, lanes, ...store });
    await lanes.stop(SESSION, { fresh: false });
    await lanes.park(head, { id: 'a1', turnId, detail: {}, expiresInMs: HOUR_MS });
    expect(await lanes.decide('a1', 'approved', 'late')).toBe(false);
    expect(only(await lanes.sweep(node, IN_ROOM))).toMatchObject({ stopped: true });
  });

  it('keeps where /new began a new conversation, once for each place, and nowhere before the first message', async () => {
    const store = await databases.open();
    const { ledger, lanes, contexts } = store;
    await lanes.stop(SESSION, { fresh: true });
    const first = await startTurn(store);
    expect(await contexts.resets(SESSION, { from: 0 })).toEqual([]);
    await lanes.stop(SESSION, { fresh: true });
    await lanes.stop(SESSION, { fresh: true });
    await ledger.finishTurn(first.head, finished(first.turnId, 'late', { reason: 'stopped' }));
    await ledger.accept(request('m2'));
    await lanes.stop(SESSION, { fresh: false });
    await ledger.accept(request('m3'));
    await lanes.stop(SESSION, { fresh: true });
    const places = async (span: { from: number; before?: number }) =>
      (await contexts.resets(SESSION, span)).map(({ after }) => after);
    expect(await places({ from: 1 })).toEqual([1, 4]);
    expect(await places({ from: 2 })).toEqual([4]);
    expect(await places({ from: 1, before: 4 })).toEqual([1]);
    const [{ at } = { at: new Date(0) }] = await contexts.resets(SESSION, { from: 4 });
    expect(Math.abs(Date.now() - at.getTime())).toBeLessThan(60_000);
    expect(await ledger.deleteSession(SESSION)).toBe(true);
    expect(await contexts.resets(SESSION, { from: 1 })).toEqual([]);
  });

  it('starts a new context at /new, without what a stopped turn writes after it', async () => {
    const { ledger, lanes, ...store } = await databases.open();
    const first = await startTurn({ ledger, lanes, ...store });
    await ledger.openTurn(first.head, first.turnId, 9);
    await ledger.journalAnswer(first.head, first.turnId, [said('old'), answer(1, 'old')]);
    expect(await lanes.stop(SESSION, { fresh: true })).toEqual({ stopped: true, cancelled: 0 });
    const fresh = accepted(await ledger.accept(request('m2')));
    const late = finished(first.turnId, 'late', { reason: 'stopped', entries: [answer(2, 'late')] });
    const next = only(await ledger.finishTurn(first.head, late));
    expect((await ledger.openTurn(next, fresh.turnId, 9)).history).toEqual([]);
    await ledger.journalAnswer(next, fresh.turnId, [said('new')]);
    const third = accepted(await ledger.accept(request('m3')));
    const last = only(
      await ledger.finishTurn(next, finished(fresh.turnId, 'ok', { entries: [answer(1, 'ok')] })),
    );
    const { history } = await ledger.openTurn(last, third.turnId, 9);
    expect(history.map((row) => row.entry)).toMatchObject([{ content: 'new' }, { content: 'ok' }]);
    expect((await ledger.openTurn(last, third.turnId, 1)).history).toMatchObject([
      { entry: { content: 'ok' } },
    ]);
  });

  it('loses no message that is accepted while a stop runs', async () => {
    const { ledger, lanes, sql } = await databases.open();
    const node = await lanes.register('home', LEASE_MS);
    const calls = Array.from({ length: 30 }, (_, i) => ledger.accept(request(`m${i}`, {}, node)));
    const stops = Array.from({ length: 5 }, () => lanes.stop(SESSION, { fresh: false }));
    const [results] = await Promise.all([Promise.all(calls), Promise.all(stops)]);
    const heads = results.flatMap((result) => (result.kind === 'accepted' ? result.heads : []));
    heads.push(...(await lanes.sweep(node, IN_ROOM)));
    for (let head = heads.at(-1); head !== undefined;) [head] = (await lanes.finish(head)).heads;
    const [left] = await sql`select count(*)::int as n from lane_item where done_at is null`;
    const [lane] = await sql`select head, tail, owner from lane`;
    expect(left?.n).toBe(0);
    expect(lane).toEqual({ head: 30, tail: 30, owner: null });
  });
});
