/** Undos of random turns among changes by hand, and undos whose process dies: the files are those of a simple model. */
import * as fc from 'fast-check';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { MAX_UNDO_FILE_BYTES } from '../../../src/protocol/sessions/undo.ts';
import { campaignSize } from '../../campaign.ts';
import { describeStore } from '../../database.ts';
import { type Change, openUndoingSession, SESSION, type Writes } from '../../fakes/agent/undoing-session.ts';

const NAMES = ['a', 'b', 'c'];
const content = fc.constantFrom(null, 'x', 'y', 'z');
const writes = fc.dictionary(fc.constantFrom(...NAMES), content, {
  minKeys: 1,
  maxKeys: 3,
  noNullPrototype: true,
});
const change = fc.record({ writes, isWhole: fc.boolean() });
const death = fc.option(fc.record({ filesBack: fc.nat(3) }), { nil: undefined });
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('turn' as const),
      changes: fc.array(change, { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('hand' as const), writes }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('undo' as const), nth: fc.nat(5), death }) },
);

type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

/** Who wrote what into one file, oldest first; `hand` stands for people. */
type History = { by: string; content: string | null }[];

/** The rule in other words: what goes back is what the turn was the last to write. */
class Model {
  readonly #files = new Map<string, History>(NAMES.map((name) => [name, []]));
  readonly undone = new Set<string>();

  write(by: string, all: Writes): void {
    for (const [name, text] of Object.entries(all)) {
      const history = this.#history(name);
      if (this.#now(history) === text) continue;
      if (history.at(-1)?.by === by) history.pop();
      // What is as it was before the last author is no change of theirs.
      if (this.#now(history) !== text) history.push({ by, content: text });
    }
  }

  undo(turn: string): void {
    if (this.undone.has(turn)) return;
    this.undone.add(turn);
    for (const name of NAMES) {
      const history = this.#history(name);
      if (history.at(-1)?.by === turn) history.pop();
    }
  }

  disk(): Record<string, string> {
    return Object.fromEntries(
      NAMES.flatMap((name) => {
        const text = this.#now(this.#history(name));
        return text === null ? [] : [[name, text]];
      }),
    );
  }

  #history(name: string): History {
    return this.#files.get(name) ?? [];
  }

  #now(history: History): string | null {
    return history.at(-1)?.content ?? null;
  }
}

describeStore('an undo', (databases) => {
  it('leaves the files of the model, in every sequence of turns, changes by hand and dying undos', async () => {
    const run = async (steps: readonly Step[]): Promise<void> => {
      const session = await openUndoingSession(await databases.open());
      const model = new Model();
      const turns = [await session.turn([])];
      for (const one of steps) {
        if (one.kind === 'turn') {
          const id = await session.turn(one.changes);
          turns.push(id);
          for (const { writes: all } of one.changes) model.write(id, all);
        } else if (one.kind === 'hand') {
          await session.write(one.writes);
          model.write('hand', one.writes);
        } else {
          const id = turns.at(-1 - (one.nth % turns.length)) ?? '';
          await session.undo(id, one.death);
          model.undo(id);
        }
        expect(await session.disk()).toEqual(model.disk());
      }
    };
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 12 }), run), {
      numRuns: Math.max(40, campaignSize(250)),
      seed: 5,
    });
  }, 600_000);

  it('brings back exactly what was there before a call that died and whose turn was stopped', async () => {
    const session = await openUndoingSession(await databases.open());
    await session.turn([{ writes: { a: 'old', b: 'old' }, isWhole: false }]);
    const dying: Change = { writes: { a: null, b: 'half', c: 'new' }, isWhole: true };
    const id = await session.turn([dying], { dies: true });
    expect(await session.undoing.preview(SESSION)).toMatchObject({
      goesBack: [
        { target: 'a', how: 'restored' },
        { target: 'b', how: 'restored' },
        { target: 'c', how: 'removed' },
      ],
      stays: [],
    });
    await session.undo(id, undefined);
    expect(await session.disk()).toEqual({ a: 'old', b: 'old' });
  });

  it('does not take what a later turn wrote for the work of a call that died before it', async () => {
    const session = await openUndoingSession(await databases.open());
    await session.turn([{ writes: { a: 'old' }, isWhole: false }]);
    const died = await session.turn([{ writes: { a: 'half' }, isWhole: true }], { dies: true });
    await session.turn([{ writes: { a: 'whole' }, isWhole: false }]);
    await session.undo(died, undefined);
    expect(await session.disk()).toEqual({ a: 'whole' });
    expect(await session.undoing.preview(SESSION, died)).toMatchObject({
      state: 'undone',
      stays: [{ target: 'a', why: 'later_turn' }],
    });
  });

  it(`keeps an earlier content of ${MAX_UNDO_FILE_BYTES} bytes, and names a longer one, and one that was given up`, async () => {
    const store = await databases.open();
    const session = await openUndoingSession(store);
    await session.turn([]);
    const place = await session.files.open(await session.folderOf());
    await writeFile(path.join(place, 'a'), Buffer.alloc(MAX_UNDO_FILE_BYTES, 'a'));
    await writeFile(path.join(place, 'b'), Buffer.alloc(MAX_UNDO_FILE_BYTES + 1, 'b'));
    const id = await session.turn([{ writes: { a: 'x', b: 'x' }, isWhole: true }]);
    expect(await session.undoing.preview(SESSION)).toMatchObject({
      goesBack: [{ target: 'a' }],
      stays: [{ target: 'b', why: 'too_large' }],
    });
    await store.sql`delete from earlier_content`;
    await session.undo(id, undefined);
    expect(await session.undoing.preview(SESSION, id)).toMatchObject({
      goesBack: [],
      stays: [
        { target: 'a', why: 'given_up' },
        { target: 'b', why: 'too_large' },
      ],
    });
    expect(await session.disk()).toEqual({ a: 'x', b: 'x' });
  });
});
