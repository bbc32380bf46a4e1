/** The embedding model of knowledge: the one that the settings name, else one that a server says it has. */
import type { LLMProvider } from '../protocol/agent/provider.ts';
import { toGatewayError } from '../protocol/errors.ts';
import type { KnowledgeSearch, PassageStore } from '../protocol/knowledge.ts';
import type { Log } from '../protocol/log.ts';

/** How long a search for a model is trusted, in milliseconds. */
const TRUSTED_MS = 5 * 60_000;
/** Longest search, in milliseconds. */
const SEARCH_MS = 10_000;
/** Models that are looked at, those first whose name says what they are. */
const MAX_LOOKED_AT = 64;
const LIKELY_NAME = /embed|bge|minilm|gte|e5/i;

export interface EmbeddingModelDeps {
  provider: Pick<LLMProvider, 'models' | 'capabilities'>;
  passages: Pick<PassageStore, 'vectorModel'>;
  /** `memory.embeddingModel` of config.json. */
  setting(): string | undefined;
  monotonicNow: () => number;
  log: Log;
}

export interface EmbeddingModel {
  /** As last found; never waits. */
  current: () => KnowledgeSearch;
  /** Looks for one, unless one was found lately. Never throws. */
  look(): Promise<KnowledgeSearch>;
}

/** Makes the search; it asks no server previous `look`. */
export function createEmbeddingModel(deps: EmbeddingModelDeps): EmbeddingModel {
  let available: string | undefined;
  let lookedAt = -Infinity;
  const current = (): KnowledgeSearch => {
    const set = deps.setting();
    return set === undefined ? { model: available, isSet: false } : { model: set, isSet: true };
  };
  return {
    current,
    async look() {
      if (deps.setting() === undefined && deps.monotonicNow() - lookedAt >= TRUSTED_MS) {
        lookedAt = deps.monotonicNow();
        const model = await find(deps);
        if (model !== available) deps.log.info({ model }, 'knowledge_embedding_model');
        available = model;
      }
      return current();
    },
  };
}

/**
 * The one that made the vectors so far, else the first that its server calls an embedding model. Servers that say nothing of
 * it, such as those of companies, get no documents unasked.
 */
async function find({ provider, passages, log }: EmbeddingModelDeps): Promise<string | undefined> {
  const signal = AbortSignal.timeout(SEARCH_MS);
  try {
    const [names, previous] = await Promise.all([provider.models(signal), passages.vectorModel()]);
    const rank = (name: string): number => (name === previous ? 0 : LIKELY_NAME.test(name) ? 1 : 2);
    for (const name of names.toSorted((a, b) => rank(a) - rank(b)).slice(0, MAX_LOOKED_AT)) {
      const { embeds } = await provider.capabilities(name, signal);
      if (embeds === true) return name;
    }
  } catch (error) {
    log.info({ err: toGatewayError(error) }, 'knowledge_embedding_model_not_found');
  }
  return undefined;
}
