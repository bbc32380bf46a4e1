/** Facts about users: found, limited, deleted, and never anyone else's. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { campaignSize } from '../../campaign.ts';
import {
  MAX_MEMORIES,
  MAX_MEMORY_CHARS,
  MAX_UNVERIFIED_MEMORIES,
  MAX_UNVERIFIED_PER_TURN,
  type MemoryRecord,
  type MemoryStore,
} from '../../../src/protocol/store/notes.ts';
import { describeStore } from '../../database.ts';

/** For both users together. */
const OPERATIONS = campaignSize(10_000);

const ann = 'telegram:1';
const bob = 'telegram:2';

function fact(text: string, key = text, untrusted = false) {
  return { key, text, session: 'telegram:1' as const, untrusted };
}

const texts = (rows: readonly MemoryRecord[]): string[] => rows.map(({ text }) => text);

describeStore('memories', (databases) => {
  it('stores a fact once, by its key and by its text, with its origin', async () => {
    const { memories } = await databases.open();
    const first = await memories.remember(ann, fact('Has a dog called Rex', 'k1', true));
    expect(first).toMatchObject({ isNew: true, dropped: 0 });
    expect(first.memory).toMatchObject({
      session: 'telegram:1',
      untrusted: true,
      createdAt: expect.any(Date),
    });
    const again = [
      await memories.remember(ann, fact('something else', 'k1')),
      await memories.remember(ann, fact('Has a dog called Rex', 'k2')),
    ];
    expect(again).toEqual([1, 2].map(() => ({ memory: first.memory, isNew: false, dropped: 0 })));
    expect(await memories.remember(bob, fact('Has a dog called Rex', 'k1'))).toMatchObject({ isNew: true });
    expect(texts(await memories.memories(ann, 9))).toEqual(['Has a dog called Rex']);
  });

  it('finds facts by any of the words, best match first, and by prefixes', async () => {
    const { memories } = await databases.open();
    for (const text of ['Likes tea', 'Has a dog called Rex', "Rex's vet: Dr. O'Hara \\ Sons", '喜欢猫和狗'])
      await memories.remember(ann, fact(text));
    const found = async (query: string) => texts(await memories.searchMemory(ann, query, 9));
    expect(await found('which dogs? the dog Rex!')).toEqual([
      'Has a dog called Rex',
      "Rex's vet: Dr. O'Hara \\ Sons",
    ]);
    expect(await found('lik')).toEqual(['Likes tea']);
    expect(await found("O'Hara \\")).toEqual(["Rex's vet: Dr. O'Hara \\ Sons"]);
    expect(await found('猫')).toEqual(['喜欢猫和狗']);
    expect(await found('elephants')).toEqual([]);
    for (const odd of ["' | a:*", '\\', '!!', ':* & |', '<->', "''''", '(((', 'a\0b', '\ud800'])
      expect(await found(odd)).toBeInstanceOf(Array);
  });

  it('recalls the matching facts first, then the newest', async () => {
    const { memories } = await databases.open();
    for (const text of ['Has a dog called Rex', 'Likes tea', 'Lives in Tula'])
      await memories.remember(ann, fact(text));
    expect(texts(await memories.recall(ann, 'what does my dog eat', 2))).toEqual([
      'Has a dog called Rex',
      'Lives in Tula',
    ]);
    expect(texts(await memories.recall(ann, '', 9))).toEqual([
      'Lives in Tula',
      'Likes tea',
      'Has a dog called Rex',
    ]);
    expect(await memories.recall(bob, 'dog', 9)).toEqual([]);
  });

  it(`keeps ${MAX_MEMORIES} facts of ${MAX_MEMORY_CHARS} characters, and reports when the oldest was deleted`, async () => {
    const { memories } = await databases.open();
    for (let n = 0; n < MAX_MEMORIES; n += 1) {
      expect(await memories.remember(ann, fact(`fact ${n}`))).toMatchObject({ isNew: true, dropped: 0 });
    }
    expect(await memories.remember(bob, fact('bob'))).toMatchObject({ dropped: 0 });
    expect(await memories.remember(ann, fact('x'.repeat(MAX_MEMORY_CHARS)))).toMatchObject({ dropped: 1 });
    const kept = texts(await memories.memories(ann, 999));
    expect(kept).toHaveLength(MAX_MEMORIES);
    expect(kept.at(-1)).toBe('fact 1');
    await expect(memories.remember(ann, fact('x'.repeat(MAX_MEMORY_CHARS + 1)))).rejects.toMatchObject({
      code: 'memory_too_long',
    });
  });

  it(`keeps ${MAX_UNVERIFIED_MEMORIES} unverified facts, which displace each other but never a verified one`, async () => {
    const { memories } = await databases.open();
    for (let n = 0; n < MAX_MEMORIES; n += 1) await memories.remember(ann, fact(`true ${n}`));
    const dropped: number[] = [];
    for (let n = 0; n <= MAX_UNVERIFIED_MEMORIES; n += 1) {
      dropped.push((await memories.remember(ann, fact(`page ${n}`, `turn ${n}/1`, true))).dropped);
    }
    expect(dropped).toEqual([...Array(MAX_UNVERIFIED_MEMORIES).fill(0), 1]);
    const kept = await memories.memories(ann, 999);
    expect(kept.filter(({ untrusted }) => !untrusted)).toHaveLength(MAX_MEMORIES);
    expect(texts(kept.filter(({ untrusted }) => untrusted)).at(-1)).toBe('page 1');
    // A fact that is confirmed replaces the oldest confirmed one.
    expect(await memories.verifyMemory(ann, kept[0]?.id ?? 0)).toBe(true);
    const verified = (await memories.memories(ann, 999)).filter(({ untrusted }) => !untrusted);
    expect(verified).toHaveLength(MAX_MEMORIES);
    expect(texts(verified).at(-1)).toBe('true 1');
    expect(verified[0]?.text).toBe(`page ${MAX_UNVERIFIED_MEMORIES}`);
  });

  it(`saves ${MAX_UNVERIFIED_PER_TURN} unverified facts of one turn, and any number of verified ones`, async () => {
    const { memories } = await databases.open();
    const save = (turn: string, n: number, untrusted: boolean) =>
      memories.remember(ann, fact(`${turn} ${n} ${untrusted}`, `${turn}/${n}.${untrusted}`, untrusted));
    for (let n = 0; n < MAX_UNVERIFIED_PER_TURN; n += 1) await save('turn-1', n, true);
    await expect(save('turn-1', 99, true)).rejects.toMatchObject({ code: 'too_many_memories' });
    // The same call again, another turn, and facts from the user.
    expect(await save('turn-1', 0, true)).toMatchObject({ isNew: false });
    expect(await save('turn-10', 0, true)).toMatchObject({ isNew: true });
    for (let n = 0; n < 20; n += 1) await save('turn-1', n, false);
  });

  it('removes the mark from a fact, and deletes one or all, of one user only', async () => {
    const { memories } = await databases.open();
    const { memory } = await memories.remember(ann, fact('one', 'one', true));
    await memories.remember(ann, fact('two'));
    await memories.remember(bob, fact('bob'));
    expect(await memories.deleteMemories(bob, memory.id)).toBe(0);
    expect(await memories.verifyMemory(bob, memory.id)).toBe(false);
    expect(await memories.verifyMemory(ann, memory.id)).toBe(true);
    expect(await memories.memories(ann, 9)).toMatchObject([
      { text: 'two' },
      { text: 'one', untrusted: false },
    ]);
    expect(await memories.deleteMemories(ann, memory.id)).toBe(1);
    expect(await memories.deleteMemories(ann, memory.id)).toBe(0);
    expect(await memories.deleteMemories(ann, 'all')).toBe(1);
    expect(texts(await memories.memories(bob, 9))).toEqual(['bob']);
  });

  it(`never crosses users: ${OPERATIONS} random concurrent operations of two users, 0 foreign canaries`, async () => {
    const { memories } = await databases.open();
    const issued: number[] = [];
    const run = (user: string, canary: string) => live(memories, { user, canary, issued }, OPERATIONS / 2);
    const lives = await Promise.all([run(ann, 'canary-ann'), run(bob, 'canary-bob')]);
    expect(lives).toEqual([1, 2].map(() => ({ crossings: 0, differences: 0 })));
    expect(issued.length).toBeGreaterThan(OPERATIONS / 20);
  }, 120_000);
});

const word = fc.constantFrom('dog', 'tea', 'Tula', 'canary', 'ann', 'bob', "o'clock", '猫', 'blue');
const operation = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('remember' as const),
      words: fc.array(word, { minLength: 1, maxLength: 3 }),
      key: fc.nat(400),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom<'search' | 'recall'>('search', 'recall'),
      words: fc.array(word, { maxLength: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('list' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('forget' as const), which: fc.nat() }) },
);

interface Life {
  user: string;
  canary: string;
  /** Ids given to either user: each also tries to delete the other's. */
  issued: number[];
}

/** Random operations of one user; returns how many facts of others it saw, and how often store and model differed. */
async function live(
  memories: MemoryStore,
  { user, canary, issued }: Life,
  operations: number,
): Promise<{ crossings: number; differences: number }> {
  const model = new Map<number, { key: string; text: string }>();
  let crossings = 0;
  let differences = 0;
  const agree = (store: unknown, wanted: unknown): void => {
    if (JSON.stringify(store) !== JSON.stringify(wanted)) differences += 1;
  };
  const look = (rows: readonly MemoryRecord[]): readonly MemoryRecord[] => {
    crossings += rows.filter(({ id, text }) => !text.includes(canary) || !model.has(id)).length;
    return rows;
  };
  for (const step of fc.sample(operation, operations)) {
    if (step.do === 'remember') {
      const text = `${canary} ${step.words.join(' ')} ${step.key % 40}`;
      const known = [...model].find(([, row]) => row.key === `k${step.key}` || row.text === text);
      const { memory, isNew } = await memories.remember(user, fact(text, `k${step.key}`));
      agree(isNew, known === undefined);
      if (isNew) {
        model.set(memory.id, { key: `k${step.key}`, text });
        issued.push(memory.id);
      }
      if (model.size > MAX_MEMORIES) model.delete(model.keys().next().value ?? 0);
      look([memory]);
    } else if (step.do === 'search') {
      look(await memories.searchMemory(user, step.words.join(' '), 20));
    } else if (step.do === 'recall') {
      look(await memories.recall(user, step.words.join(' '), 20));
    } else if (step.do === 'list') {
      const rows = look(await memories.memories(user, 999));
      agree(
        rows.map(({ id }) => id),
        [...model.keys()].toReversed(),
      );
    } else if (step.do === 'forget') {
      const id = issued[step.which % Math.max(1, issued.length)] ?? 0;
      agree(await memories.deleteMemories(user, id), model.delete(id) ? 1 : 0);
    }
  }
  return { crossings, differences };
}
