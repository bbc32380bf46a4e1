/** Finds passages by words, and by meaning where there is an embedding model. */
import { access } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { StoreError } from '../protocol/errors.ts';
import type { FoundPassage, KnowledgeScope, KnowledgeSearch, PassageStore } from '../protocol/knowledge.ts';
import type { Log } from '../protocol/log.ts';
import type { Vector } from '../protocol/store/notes.ts';
import { fuseRanks, similarity } from '../lib/ranks.ts';

/**
 * Documents are full of names and numbers, which words find and many embedding models do not: with these values even a weak
 * model takes nothing from the search by words (docs/knowledge.md).
 */
const WEIGHT_OF_WORDS = 2;
const RANK_OFFSET = 20;
/** Passages that each way contributes. */
const CANDIDATES = 40;
/** Vectors that are compared before others get the thread: about 5 ms of work with 768 dimensions. */
const VECTORS_AT_ONCE = 2_000;

export interface SearchDeps {
  passages: PassageStore;
  /** The model as last found; never waits. */
  model: () => KnowledgeSearch;
  vectorOf: (model: string, question: string, userId: string) => Promise<Vector | undefined>;
  /** Vectors are missing. */
  wake: () => void;
  instance: string;
  log: Log;
}

/** The passages for a query, best first. Throws `StoreError`. */
export type SearchPassages = (
  scopes: readonly KnowledgeScope[],
  query: string,
  userId: string,
  limit: number,
) => Promise<FoundPassage[]>;

/** Makes the search. */
export function createSearch(deps: SearchDeps): SearchPassages {
  const { passages, instance } = deps;
  return async (scopes, query, userId, limit) => {
    const [words, near] = await Promise.all([
      byWords(deps, scopes, query),
      nearest(deps, scopes, query, userId),
    ]);
    const byId = new Map(words.map((passage) => [passage.id, passage]));
    const nearOnly = near.filter(({ id }) => !byId.has(id)).map(({ id }) => id);
    for (const passage of await passages.byIds(scopes, nearOnly)) byId.set(passage.id, passage);
    const ranked = fuseRanks(
      [
        { items: words, weight: WEIGHT_OF_WORDS },
        { items: near, weight: 1 },
      ],
      RANK_OFFSET,
    );
    const best: FoundPassage[] = [];
    for (const { id } of ranked) {
      const passage = byId.get(id);
      if (passage !== undefined && (await isThere(passage, instance))) best.push(passage);
      if (best.length === limit) break;
    }
    return best;
  };
}

/** A search by words that takes too long leaves what is found by meaning. */
async function byWords(
  { passages, log }: SearchDeps,
  scopes: readonly KnowledgeScope[],
  query: string,
): Promise<FoundPassage[]> {
  try {
    return await passages.byWords(scopes, query, CANDIDATES);
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== 'search_timeout') throw error;
    log.warn({ err: error }, 'knowledge_words_too_slow');
    return [];
  }
}

/** Ids, the nearest first; none without a model that answers now. */
async function nearest(
  { passages, model, vectorOf, wake }: SearchDeps,
  scopes: readonly KnowledgeScope[],
  query: string,
  userId: string,
): Promise<{ id: number }[]> {
  const { model: name } = model();
  const question = name === undefined ? undefined : await vectorOf(name, query, userId);
  if (name === undefined || question === undefined) return [];
  let best: { id: number; near: number }[] = [];
  let isOther = false;
  for (let last = 0; ;) {
    const rows = await passages.vectorsOf(scopes, name, { after: last, limit: VECTORS_AT_ONCE });
    for (const { id, vector } of rows) {
      if (vector.length === question.length) best.push({ id, near: similarity(question, vector) });
      else isOther ||= vector.length > 0;
    }
    best = best.toSorted((a, b) => b.near - a.near).slice(0, CANDIDATES);
    const end = rows.at(-1);
    if (end === undefined || rows.length < VECTORS_AT_ONCE) break;
    last = end.id;
    await setImmediate();
  }
  if (isOther) {
    // A different model answers under the same name.
    await passages.dropOtherLengths(name, question.length);
    wake();
  }
  return best;
}

/** A file that was deleted is found no more, even before its folder is looked at again. */
async function isThere({ kind, location, name, instance }: FoundPassage, own: string): Promise<boolean> {
  if ((kind !== 'folder' && kind !== 'file') || instance !== own) return true;
  try {
    await access(kind === 'folder' ? path.join(location, name) : location);
    return true;
  } catch {
    // Whatever hides the file from the gateway hides it from the search.
    return false;
  }
}
