/** The todo list and the scratchpad in the store: atomic, per session, limited in size. */
import { expect, it } from 'vitest';
import { MAX_NOTES } from '../../../src/protocol/store/notes.ts';
import { describeStore } from '../../database.ts';
import { startTurn } from '../lanes/turns.ts';

const A = 'telegram:1';
const B = 'telegram:2';
const note = (text: string) => ({ text, sources: [] });

describeStore('notes', (databases) => {
  it('keeps one todo list per session and replaces it as a whole', async () => {
    const { todos } = await databases.open();
    expect(await todos.todos(A)).toEqual([]);
    await todos.setTodos(A, [{ text: 'one\u0000', status: 'pending' }]);
    await todos.setTodos(B, [{ text: 'other', status: 'done', validation: 'seen' }]);
    await todos.setTodos(A, [{ text: 'two', status: 'failed' }]);
    expect(await todos.todos(A)).toEqual([{ text: 'two', status: 'failed' }]);
    expect(await todos.todos(B)).toEqual([{ text: 'other', status: 'done', validation: 'seen' }]);
  });

  it('changes single items, even when two agents of a session do it at the same time', async () => {
    const { todos } = await databases.open();
    const items = Array.from({ length: 10 }, (_, n) => ({ text: `item ${n}`, status: 'pending' as const }));
    await todos.setTodos(A, items);
    await Promise.all(
      items.map((_, index) => todos.changeTodo(A, index, { status: 'done', validation: `checked ${index}` })),
    );
    expect(await todos.todos(A)).toEqual(
      items.map(({ text }, index) => ({ text, status: 'done', validation: `checked ${index}` })),
    );
    expect(await todos.changeTodo(A, 10, { status: 'done' })).toBeUndefined();
    expect(await todos.changeTodo(A, -1, { status: 'done' })).toBeUndefined();
    expect(await todos.changeTodo(B, 0, { status: 'done' })).toBeUndefined();
  });

  it('keeps notes by name for each session, and deletes them', async () => {
    const { scratchpad } = await databases.open();
    expect(await scratchpad.setNote(A, 'zeta', note('last'))).toBe(true);
    expect(await scratchpad.setNote(A, 'alpha', note('first'))).toBe(true);
    expect(await scratchpad.setNote(A, 'alpha', note('changed'))).toBe(true);
    expect([...(await scratchpad.notes(A))]).toEqual([
      ['alpha', note('changed')],
      ['zeta', note('last')],
    ]);
    expect(await scratchpad.notes(B)).toEqual(new Map());
    expect(await scratchpad.setNote(A, 'zeta', undefined)).toBe(true);
    expect(await scratchpad.setNote(A, 'zeta', undefined)).toBe(true);
    expect([...(await scratchpad.notes(A)).keys()]).toEqual(['alpha']);
  });

  it(`refuses note ${MAX_NOTES + 1}, but not a change of an existing one`, async () => {
    const { scratchpad } = await databases.open();
    for (let n = 1; n <= MAX_NOTES; n += 1)
      expect(await scratchpad.setNote(A, `note ${n}`, note('x'))).toBe(true);
    expect(await scratchpad.setNote(A, 'one more', note('x'))).toBe(false);
    expect(await scratchpad.setNote(A, 'note 7', note('changed'))).toBe(true);
    expect(await scratchpad.setNote(B, 'one more', note('x'))).toBe(true);
    expect((await scratchpad.notes(A)).size).toBe(MAX_NOTES);
  });

  it('stays within the limit when notes are written concurrently', async () => {
    const { scratchpad } = await databases.open();
    for (let n = 2; n <= MAX_NOTES; n += 1) await scratchpad.setNote(A, `note ${n}`, note('x'));
    const raced = await Promise.all(
      ['a', 'b', 'c', 'd', 'e'].map((name) => scratchpad.setNote(A, name, note('x'))),
    );
    expect(raced.filter(Boolean)).toHaveLength(1);
    expect((await scratchpad.notes(A)).size).toBe(MAX_NOTES);
  });

  it('is empty after /new, but unchanged after a stop', async () => {
    const store = await databases.open();
    await startTurn(store);
    const session = 'telegram:42';
    await store.todos.setTodos(session, [{ text: 'one', status: 'pending' }]);
    await store.scratchpad.setNote(session, 'recipe', note('flour'));
    await store.lanes.stop(session, { fresh: false });
    expect(await store.todos.todos(session)).toHaveLength(1);
    expect((await store.scratchpad.notes(session)).size).toBe(1);
    await store.lanes.stop(session, { fresh: true });
    expect(await store.todos.todos(session)).toEqual([]);
    expect((await store.scratchpad.notes(session)).size).toBe(0);
  });
});
