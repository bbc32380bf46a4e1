/** Memory by words and by meaning: the same guarantees, and what else is found when a model knows what words mean. */
import { unmetered } from '../fakes/gateway/unmetered.ts';
import { expect, it, onTestFinished, vi } from 'vitest';
import { ProviderError } from '../../src/protocol/errors.ts';
import type { MemoryRecord } from '../../src/protocol/store/notes.ts';
import { createMemory } from '../../src/memory/index.ts';
import { BACKFILL_BATCH } from '../../src/memory/backfill.ts';
import { describeStore, type TestDatabases } from '../database.ts';
import { testLog } from '../fakes/agent/tool-context.ts';
import { fakeMeanings } from '../fakes/memory/meanings.ts';
import { SYNONYMS, TWO_HUNDRED } from '../fakes/memory/two-hundred.ts';

const ann = 'telegram:1';
const bob = 'telegram:2';
const WAIT = { timeout: 10_000 };
const session = 'telegram:1' as const;
const texts = (found: readonly MemoryRecord[]): string[] => found.map(({ text }) => text);

async function open(databases: TestDatabases, model: string | undefined) {
  const store = await databases.open();
  const fake = fakeMeanings(SYNONYMS);
  const lines: string[] = [];
  const now = { ms: 0 };
  const named = { model };
  const memory = createMemory({
    metered: unmetered,
    memories: store.memories,
    vectors: store.memoryVectors,
    embed: (request, signal) => fake.provider.embed(request, signal),
    model: () => named.model,
    log: testLog(lines),
    monotonicNow: () => now.ms,
  });
  onTestFinished(() => memory.close());
  const { memories } = memory;
  const remember = async (user: string, facts: readonly string[], untrusted = false): Promise<void> => {
    for (const [n, text] of facts.entries())
      await memories.remember(user, { key: `${untrusted ? n : 'turn'}/${text}`, text, session, untrusted });
  };
  /** Waits until every fact has a vector of the named model. */
  const filled = (): Promise<void> =>
    vi.waitFor(async () => {
      const missing = await store.memoryVectors.withoutVector(named.model ?? '', 1);
      if (missing.length > 0) throw new Error(`there are facts without a vector: ${lines.at(-1) ?? ''}`);
    }, WAIT);
  return { store, memory, memories, fake, lines, now, named, remember, filled };
}

describeStore('remembered facts', (databases) => {
  it.each([
    { by: 'words', model: undefined },
    { by: 'meaning', model: 'meanings' },
  ])('by $by are those of their user, limited, and gone when they are deleted', async ({ model }) => {
    const { memories, remember, filled } = await open(databases, model);
    await remember(ann, ['Has a canine called Rex', 'Likes tea', 'Plays chess']);
    await remember(bob, ['Has a canine called Bello']);
    if (model !== undefined) await filled();
    expect(texts(await memories.searchMemory(ann, 'canine Rex', 2))[0]).toBe('Has a canine called Rex');
    expect(await memories.searchMemory(ann, 'canine Rex', 1)).toHaveLength(1);
    expect(texts(await memories.recall(ann, 'canine', 2))).toContain('Has a canine called Rex');
    expect(texts(await memories.recall(ann, 'anything', 9))).toHaveLength(3);
    const [rex] = await memories.searchMemory(ann, 'Rex', 1);
    expect(await memories.deleteMemories(ann, rex?.id ?? 0)).toBe(1);
    expect(texts(await memories.searchMemory(ann, 'canine Rex', 9))).not.toContain('Has a canine called Rex');
    for (const found of [
      await memories.recall(ann, 'Bello', 9),
      await memories.searchMemory(ann, 'Bello', 9),
    ])
      expect(texts(found).join()).not.toContain('Bello');
  });

  it('are found by meaning among 200 when the question uses different words', async () => {
    const { memories, remember, filled, named } = await open(databases, 'meanings');
    await remember(
      ann,
      TWO_HUNDRED.map(({ fact }) => fact),
    );
    await filled();
    const share = async (): Promise<number> => {
      let hits = 0;
      for (const { fact, question } of TWO_HUNDRED)
        if (texts(await memories.recall(ann, question, 10)).includes(fact)) hits += 1;
      return hits / TWO_HUNDRED.length;
    };
    const byMeaning = await share();
    named.model = undefined;
    const byWords = await share();
    // oxlint-disable-next-line no-console -- the figure that this test is for
    console.log(`recall of 200 facts among the first 10: by meaning ${byMeaning}, by words ${byWords}`);
    expect(byMeaning).toBeGreaterThanOrEqual(0.95);
    expect(byWords).toBeLessThan(0.2);
  }, 60_000);

  it('get vectors in batches, again for another model, and again when it answers with other dimensions', async () => {
    const { store, memory, memories, remember, filled, fake, named } = await open(databases, undefined);
    const facts = TWO_HUNDRED.slice(0, BACKFILL_BATCH + 3).map(({ fact }) => fact);
    await remember(ann, facts);
    expect(fake.requests).toEqual([]);
    named.model = 'first';
    memory.refresh();
    await filled();
    expect(fake.requests.map(({ input }) => input.length)).toEqual([BACKFILL_BATCH, 3]);
    named.model = 'second';
    memory.refresh();
    await filled();
    expect(await store.memoryVectors.vectorsOf(ann, 'first')).toEqual([]);
    fake.state.dimensions = 64;
    await memories.searchMemory(ann, 'wife and the job', 3);
    await filled();
    expect((await store.memoryVectors.vectorsOf(ann, 'second')).map(({ vector }) => vector.length)).toEqual(
      facts.map(() => 64),
    );
    expect(texts(await memories.searchMemory(ann, 'wife and the job', 3))[0]).toContain(
      'spouse concerns the employed',
    );
  });

  it('are found by words while the model fails, which is reported once per while and fails no call', async () => {
    const { memories, remember, filled, fake, lines, now } = await open(databases, 'meanings');
    await remember(ann, ['The spouse is employed', 'Likes tea']);
    await filled();
    fake.state.fails = new ProviderError('unavailable', 'The server is unavailable.', { retryable: true });
    const before = fake.requests.length;
    expect(texts(await memories.searchMemory(ann, 'tea', 9))).toEqual(['Likes tea']);
    expect(await memories.searchMemory(ann, 'wife', 9)).toEqual([]);
    expect(fake.requests.length).toBe(before + 1);
    expect(lines.filter((line) => line.includes('memory_searched_by_words'))).toHaveLength(1);
    expect(lines.join('\n')).toContain('memory.embeddingModel');
    fake.state.fails = undefined;
    now.ms += 60_000;
    expect(texts(await memories.searchMemory(ann, 'wife', 1))).toEqual(['The spouse is employed']);
  });

  it('wait only briefly for a silent model', async () => {
    const { memories, remember, filled, fake } = await open(databases, 'meanings');
    await remember(ann, ['Likes tea']);
    await filled();
    fake.state.silent = true;
    expect(texts(await memories.searchMemory(ann, 'tea', 9))).toEqual(['Likes tea']);
  });

  it('are found by words when too long for the model, and do not keep others from their vectors', async () => {
    const { store, memory, memories, remember, fake, filled, named } = await open(databases, undefined);
    await remember(ann, ['The spouse is employed', 'x'.repeat(900)]);
    const { embed } = fake.provider;
    fake.provider.embed = (request, signal) =>
      request.input.some((text) => text.length > 800)
        ? Promise.reject(new ProviderError('context_overflow', 'too long'))
        : embed(request, signal);
    named.model = 'meanings';
    memory.refresh();
    await filled();
    expect(
      (await store.memoryVectors.vectorsOf(ann, 'meanings'))
        .map(({ vector }) => vector.length)
        .toSorted((a, b) => a - b),
    ).toEqual([0, 256]);
    expect(texts(await memories.searchMemory(ann, 'wife', 1))).toEqual(['The spouse is employed']);
    expect(texts(await memories.searchMemory(ann, 'x'.repeat(900), 1))).toEqual(['x'.repeat(900)]);
  });

  it('are marked by meaning as by words when unverified, and displace no verified one', async () => {
    const { store, memories, remember, filled } = await open(databases, 'meanings');
    await remember(
      ann,
      TWO_HUNDRED.map(({ fact }) => fact),
    );
    await remember(
      ann,
      Array.from({ length: 25 }, (_, n) => `Unverified number ${n}`),
      true,
    );
    await filled();
    const all = await store.memories.memories(ann, 500);
    expect(all.filter(({ untrusted }) => !untrusted)).toHaveLength(200);
    expect(all.filter(({ untrusted }) => untrusted)).toHaveLength(20);
    const found = await memories.searchMemory(ann, 'Unverified number 24', 1);
    expect(found).toMatchObject([{ text: 'Unverified number 24', untrusted: true }]);
  }, 30_000);
});
