/** What calls changed in rows, and what an undo puts back there: each kind, and what someone has changed since. */
import { expect, it } from 'vitest';
import type { CallNote } from '../../../src/protocol/agent/call-note.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { accepted, answer, finished, LEASE_MS, only, said } from '../lanes/turns.ts';
import { request } from '../requests.ts';

const SESSION = 'telegram:42' as const;
const USER = 'telegram:42';
const PLAN = { id: 'p1', goal: 'Paint the fence', steps: [], state: 'stored', mode: 'planner' };

/** A turn whose one call changes these things with `act`. */
async function turnThat(
  store: TestStore,
  changes: CallNote['changes'],
  act: (turnId: string, callKey: string) => Promise<unknown>,
): Promise<string> {
  const node = await store.lanes.register('home', LEASE_MS);
  const result = accepted(await store.ledger.accept({ ...request(`m${Math.random()}`), node }));
  const { turnId } = result;
  const head = only(result);
  const callKey = `${turnId}.1.0`;
  await store.ledger.openTurn(head, turnId, 50);
  await store.ledger.journalAnswer(head, turnId, [said('q')]);
  const note = { session: SESSION, turnId, callKey, memoryOwner: USER, changes };
  const call = { toolCallId: 'c', toolName: 'tool', callIndex: 0 };
  await store.ledger.toolIntent(
    head,
    turnId,
    1,
    { kind: 'tool_intent', ...call },
    { ...note, when: 'before' },
  );
  await act(turnId, callKey);
  const entry = { kind: 'tool_result' as const, ...call, content: 'done', isError: false };
  await store.ledger.toolResult(head, turnId, 1, entry, 1, { ...note, when: 'after' });
  // A repeat whose first answer was lost.
  await store.ledger.toolResult(head, turnId, 1, entry, 1, { ...note, when: 'after' });
  await store.ledger.finishTurn(head, finished(turnId, 'a', { entries: [answer(2, 'a')] }));
  return turnId;
}

async function undo(store: TestStore, turnId: string): Promise<string[]> {
  expect(await store.undo.begin(SESSION, turnId, new Map())).toBeUndefined();
  await store.undo.finished(SESSION);
  const turn = await store.undo.undoable(SESSION, turnId);
  if (typeof turn === 'string') throw new Error(turn);
  return turn.effects.map(({ kind, state, why: reason }) => [kind, state, reason].filter(Boolean).join(' '));
}

describeStore('an undo of rows', (databases) => {
  it('puts back a schedule and a fact that were removed, and a profile that was switched', async () => {
    const store = await databases.open();
    await turnThat(store, [], async () => undefined);
    await store.sql`
      insert into schedule (id, session, address, place, creator_id, timing, task, next_at)
      values ('s1', ${SESSION}, ${SESSION}, 'private', ${USER}, '{"kind": "every", "everyMs": 60000}', 'Water the plants', now())`;
    const { memory } = await store.memories.remember(USER, {
      key: 'k',
      text: 'Likes tea.',
      session: SESSION,
      untrusted: false,
    });
    const [before] = await store.schedules.schedules({ session: SESSION, limit: 5 });
    const turn = await turnThat(store, ['schedules', 'profile', `memory:${memory.id}`], async () => {
      await store.sql`delete from schedule where id = 's1'`;
      await store.memories.deleteMemories(USER, memory.id);
      await store.ledger.updateSession(SESSION, { profileId: 'coder' });
    });
    expect((await undo(store, turn)).toSorted()).toEqual([
      'memory undone',
      'profile undone',
      'schedule undone',
    ]);
    expect(await store.schedules.schedules({ session: SESSION, limit: 5 })).toEqual([before]);
    expect(await store.memories.memories(USER, 5)).toEqual([memory]);
    expect(await store.ledger.session(SESSION)).toMatchObject({ profileId: 'default', profileChosen: false });
  });

  it('cancels an open plan, and leaves what someone has changed since', async () => {
    const store = await databases.open();
    await turnThat(store, [], async () => undefined);
    const turn = await turnThat(store, ['todos', 'scratchpad'], async (turnId) => {
      await store.todos.setTodos(SESSION, [{ text: 'one', status: 'pending' }]);
      await store.scratchpad.setNote(SESSION, 'idea', { text: 'blue', sources: [] });
      await store.sql`
        insert into plan (id, session, turn_id, doc) values ('p1', ${SESSION}, ${turnId}, ${store.sql.json(PLAN)})`;
    });
    await store.todos.setTodos(SESSION, [{ text: 'two', status: 'pending' }]);
    expect((await undo(store, turn)).toSorted()).toEqual([
      'note undone',
      'plan undone',
      'todo stays changed_since',
    ]);
    expect(await store.todos.todos(SESSION)).toMatchObject([{ text: 'two' }]);
    expect((await store.scratchpad.notes(SESSION)).size).toBe(0);
    expect((await store.plans.plan('p1'))?.plan).toMatchObject({ state: 'cancelled' });
  });

  it('begins once, lets nothing else begin before it is finished, and ends with its session', async () => {
    const store = await databases.open();
    const first = await turnThat(store, [], async () => undefined);
    const second = await turnThat(store, ['todos'], () =>
      store.todos.setTodos(SESSION, [{ text: 'one', status: 'pending' }]),
    );
    expect(await store.undo.begin(SESSION, second, new Map())).toBeUndefined();
    expect(await store.undo.unfinished(5)).toEqual([{ session: SESSION, turnId: second }]);
    expect(await store.undo.begin(SESSION, first, new Map())).toBe('busy');
    expect((await store.ledger.session(SESSION))?.undoing).toBe(second);
    await store.undo.finished(SESSION);
    expect(await store.undo.unfinished(5)).toEqual([]);
    await store.ledger.deleteSession(SESSION);
    expect(await store.sql`select from turn_effect`).toHaveLength(0);
  });

  it('names nothing for an id that is too short, or of another session', async () => {
    const store = await databases.open();
    const turn = await turnThat(store, [], async () => undefined);
    expect(await store.undo.undoable(SESSION, turn.slice(-4))).toBe('nothing');
    expect(await store.undo.undoable('telegram:43', turn)).toBe('nothing');
    expect(await store.undo.undoable(SESSION, turn.slice(-8))).toMatchObject({ turnId: turn });
  });
});
