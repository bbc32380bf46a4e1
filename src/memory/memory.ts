/** Remembered facts, found by words, and by meaning if an embedding model is set. */
import { toGatewayError } from '../protocol/errors.ts';
import type { MemoryRecord, MemoryStore, UserId, Vector } from '../protocol/store/notes.ts';
import { type BackfillDeps, createBackfill, toVector } from './backfill.ts';

/** Softens the difference between adjacent ranks in a list, as is usual in reciprocal rank fusion. */
const RANK_OFFSET = 60;

/** Maximum number of facts that a search finds by meaning alone; every fact is similar to a question to some degree. */
const NEAREST = 10;
/** Longest wait for the vector of a question, in milliseconds: a turn is waiting for it. */
const QUESTION_MS = 1_500;
/** How long questions are answered by words alone after a failure, in milliseconds. */
const REST_MS = 30_000;
/** Longest part of a question that is compared, in UTF-16 units. */
const MAX_QUESTION_CHARS = 2_000;
/** Words that a question and a fact share say less than their meaning: most of them are words like "the" and "is". */
const WEIGHT_OF_MEANING = 3;

export interface MemoryDeps extends BackfillDeps {
  memories: MemoryStore;
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

/** Creates the search over the stored facts. */
export function createMemory(deps: MemoryDeps): Memory {
  const { memories, vectors } = deps;
  const backfill = createBackfill(deps);
  const vectorOf = createQuestions(deps);

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
        return near === undefined ? words : merged(words, near).slice(0, limit);
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
        const best = merged(words, near).slice(0, limit);
        const ids = new Set(best.map(({ id }) => id));
        return [...best, ...usual.filter(({ id }) => !ids.has(id))].slice(0, limit);
      },
    },
    refresh: () => backfill.wake({ now: true }),
    close: () => backfill.close(),
  };
}

/** The facts found by words and by meaning, best first, by reciprocal rank fusion. */
function merged(words: readonly MemoryRecord[], near: readonly MemoryRecord[]): MemoryRecord[] {
  const scores = new Map<number, { memory: MemoryRecord; score: number }>();
  const add = (memories: readonly MemoryRecord[], weight: number): void => {
    for (const [rank, memory] of memories.entries()) {
      const score = (scores.get(memory.id)?.score ?? 0) + weight / (RANK_OFFSET + rank);
      scores.set(memory.id, { memory, score });
    }
  };
  add(near, WEIGHT_OF_MEANING);
  add(words, 1);
  return [...scores.values()].toSorted((a, b) => b.score - a.score).map(({ memory }) => memory);
}

/** Returns the vectors of questions; undefined, for a while, after the model has not answered in time. Never throws. */
function createQuestions(deps: MemoryDeps) {
  const { embed, metered, log } = deps;
  let restsUntil = -Infinity;
  return async (model: string, question: string, userId: string): Promise<Vector | undefined> => {
    const text = question.slice(0, MAX_QUESTION_CHARS).toWellFormed().trim();
    if (text === '' || deps.monotonicNow() < restsUntil) return undefined;
    try {
      const signal = AbortSignal.timeout(QUESTION_MS);
      // The memories of a client's end user are on the account of its token.
      const call = { purpose: 'embedding', model, input: text, person: userId.split(':user:')[0] } as const;
      const { vectors } = await metered(call, () => embed({ model, input: [text], userId }, signal));
      return toVector(vectors[0] ?? []);
    } catch (error) {
      restsUntil = deps.monotonicNow() + REST_MS;
      const remedy = `Is the model that memory.embeddingModel in config.json names (${model}) on its server?`;
      log.warn({ err: toGatewayError(error), restMs: REST_MS, remedy }, 'memory_searched_by_words');
      return undefined;
    }
  };
}

/** The cosine of the angle between two vectors of the same length; 0 if one of them has no direction. */
function similarity(a: Vector, b: Vector): number {
  let dot = 0;
  let ofA = 0;
  let ofB = 0;
  for (let at = 0; at < a.length; at += 1) {
    const x = a[at]!;
    const y = b[at]!;
    dot += x * y;
    ofA += x * x;
    ofB += y * y;
  }
  return ofA === 0 || ofB === 0 ? 0 : dot / Math.sqrt(ofA * ofB);
}
