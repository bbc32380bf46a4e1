/** Remembered facts, found by words, and by meaning if an embedding model is set. */
import type { MeterCall } from '../protocol/agent/budgets.ts';
import type { LLMProvider } from '../protocol/agent/provider.ts';
import type { Log } from '../protocol/log.ts';
import type { MemoryRecord, MemoryStore, MemoryVectorStore, UserId } from '../protocol/store/notes.ts';
import { fuseRanks, similarity } from '../lib/ranks.ts';
import { createBackfill } from './backfill.ts';
import { createQuestions } from './questions.ts';

/** Maximum number of facts that a search finds by meaning alone; every fact is similar to a question to some degree. */
const NEAREST = 10;
/** Words that a question and a fact share say less than their meaning: most of them are words like "the" and "is". */
const WEIGHT_OF_MEANING = 3;

export interface MemoryDeps {
  memories: MemoryStore;
  vectors: MemoryVectorStore;
  embed: LLMProvider['embed'];
  metered: MeterCall;
  /** The embedding model; undefined if none is set. */
  model(): string | undefined;
  log: Log;
  /** A clock in milliseconds. */
  monotonicNow(): number;
}

export interface Memory {
  /** The facts; no call fails because of the embedding model. */
  memories: MemoryStore;
  /** Looks for facts without a vector, in the background: at startup, and when another model is set. */
  refresh(): void;
  /** Never throws; a second call does nothing. */
  close(): Promise<void>;
}

const EVENTS = {
  failed: 'memories_without_vectors',
  embedded: 'memories_embedded',
  tooLong: 'memory_too_long_for_its_model',
} as const;

function remedy(model: string | undefined): string {
  return `Is the model that memory.embeddingModel in config.json names (${model}) on its server?`;
}

/** Creates the search over the stored facts. */
export function createMemory(deps: MemoryDeps): Memory {
  const { memories, vectors } = deps;
  const backfill = createBackfill({ ...deps, remedy, events: EVENTS });
  const vectorOf = createQuestions({ ...deps, remedy, event: 'memory_searched_by_words' });

  /** Best first; undefined if nothing can be found by meaning now. */
  const nearest = async (
    user: UserId,
    message: string,
    limit: number,
  ): Promise<MemoryRecord[] | undefined> => {
    const model = deps.model();
    const question = model === undefined ? undefined : await vectorOf(model, message, user);
    if (model === undefined || question === undefined) return undefined;
    const facts = await vectors.vectorsOf(user, model);
    const same = facts.filter(({ vector }) => vector.length === question.length);
    if (facts.some(({ vector }) => vector.length !== question.length && vector.length > 0)) {
      // A different model answers under the same name.
      await vectors.dropOtherLengths(model, question.length);
      backfill.wake();
    }
    return same
      .map(({ memory, vector }) => ({ memory, near: similarity(question, vector) }))
      .toSorted((a, b) => b.near - a.near)
      .slice(0, limit)
      .map(({ memory }) => memory);
  };
  return {
    memories: {
      ...memories,
      async remember(user, fact) {
        const memory = await memories.remember(user, fact);
        if (memory.isNew && deps.model() !== undefined) backfill.wake();
        return memory;
      },
      async searchMemory(user, query, limit) {
        const [words, near] = await Promise.all([
          memories.searchMemory(user, query, limit),
          nearest(user, query, NEAREST),
        ]);
        return near === undefined ? words : fused(words, near).slice(0, limit);
      },
      async recall(user, message, limit) {
        const usual = await memories.recall(user, message, limit);
        // All facts are included: nothing has to be selected, and no turn waits for a model.
        if (usual.length < limit || deps.model() === undefined) return usual;
        const [words, near] = await Promise.all([
          memories.searchMemory(user, message, limit),
          nearest(user, message, limit),
        ]);
        if (near === undefined) return usual;
        const best = fused(words, near).slice(0, limit);
        const ids = new Set(best.map(({ id }) => id));
        return [...best, ...usual.filter(({ id }) => !ids.has(id))].slice(0, limit);
      },
    },
    refresh: () => backfill.wake({ now: true }),
    close: () => backfill.close(),
  };
}

/** The facts found by words and by meaning, best first. */
function fused(words: readonly MemoryRecord[], near: readonly MemoryRecord[]): MemoryRecord[] {
  return fuseRanks([
    { items: near, weight: WEIGHT_OF_MEANING },
    { items: words, weight: 1 },
  ]);
}
