/** The knowledge of a gateway: reads documents in the background, finds passages for turns, and opens what they cite. */
import { randomUUID } from 'node:crypto';
import type { MeterCall } from '../protocol/agent/budgets.ts';
import type { LLMProvider } from '../protocol/agent/provider.ts';
import { pageSource } from '../protocol/agent/risk.ts';
import { GatewayError, toGatewayError } from '../protocol/errors.ts';
import {
  citedNumbers,
  type CitationStore,
  EMBEDDING_CALLS_PER_MINUTE,
  type KnowledgeApi,
  type KnowledgeScope,
  type KnowledgeSearch,
  type KnowledgeStore,
  type PassageStore,
  scopesOf,
  type TurnKnowledge,
} from '../protocol/knowledge.ts';
import type { Log } from '../protocol/log.ts';
import { chatOf } from '../protocol/message.ts';
import { pause } from '../lib/async/sleep.ts';
import type { Backfill, BackfillDeps, QuestionDeps, VectorOf } from '../memory/index.ts';
import { createAdministration } from './administration.ts';
import { createEmbeddingModel } from './embedding-model.ts';
import { importNext } from './import-source.ts';
import type { DocumentReaders } from './read-document.ts';
import { createSearch } from './search.ts';

/** How often the database is asked whether something is due, in milliseconds: commands add sources while this runs. */
const POLL_MS = 5_000;
/** Pause after a failure, in milliseconds. */
const FAILURE_MS = 30_000;

export interface KnowledgeDeps {
  store: { knowledge: KnowledgeStore; passages: PassageStore; citations: CitationStore };
  /** The home that holds the paths of its sources, and where it is. */
  instance: string;
  home: string;
  readers: DocumentReaders;
  provider: Pick<LLMProvider, 'models' | 'capabilities' | 'embed'>;
  metered: MeterCall;
  /** `memory.embeddingModel` of config.json. */
  setting(): string | undefined;
  /** What computes vectors, as for memories. */
  vectors: { createBackfill(deps: BackfillDeps): Backfill; createQuestions(deps: QuestionDeps): VectorOf };
  /** Counts citations of answers: those that exist, and those that were made up. */
  countCitations(counts: { real: number; invented: number }): void;
  monotonicNow(): number;
  /** How often it looks for work, in milliseconds. */
  pollMs?: number;
  log: Log;
}

export interface Knowledge {
  turns: TurnKnowledge;
  /** Without what depends on who may read a session. */
  administration: Omit<KnowledgeApi, 'citations' | 'citation' | 'citedIn'>;
  citations: CitationStore;
  /** Which ways of searching are on; undefined without any source. */
  searches(): KnowledgeSearch | undefined;
  /** Begins to look for work, in the background. */
  start(): void;
  /** Ends it. Never throws; a second call does nothing. */
  close(): Promise<void>;
}

/** Creates it; nothing is read before `start`. */
export function createKnowledge(deps: KnowledgeDeps): Knowledge {
  const { store, log } = deps;
  const instance = homeOf(deps.instance);
  const closing = new AbortController();
  const model = createEmbeddingModel({ ...deps, passages: store.passages });
  const remedy = (name: string | undefined): string =>
    `Is the model ${name} on its server? memory.embeddingModel in config.json names another.`;
  const backfill = deps.vectors.createBackfill({
    vectors: store.passages,
    embed: (request, signal) => deps.provider.embed(request, signal),
    metered: deps.metered,
    model: () => model.current().model,
    remedy,
    events: {
      failed: 'passages_without_vectors',
      embedded: 'passages_embedded',
      tooLong: 'passage_too_long_for_its_model',
    },
    callsPerMinute: EMBEDDING_CALLS_PER_MINUTE,
    log,
  });
  const vectorOf = deps.vectors.createQuestions({
    embed: (request, signal) => deps.provider.embed(request, signal),
    metered: deps.metered,
    remedy,
    event: 'knowledge_searched_by_words',
    monotonicNow: deps.monotonicNow,
    log,
  });
  const search = createSearch({
    passages: store.passages,
    model: model.current,
    vectorOf,
    wake: () => backfill.wake(),
    instance,
    log,
  });
  let scopes: ReadonlySet<KnowledgeScope> = new Set();
  const readScopes = async (): Promise<void> => {
    scopes = new Set(await store.knowledge.scopes());
  };
  const work = createWork(deps, closing.signal, async (hasRead) => {
    await readScopes();
    if (scopes.size === 0) return;
    const { model: name } = await model.look();
    if (name !== undefined && (hasRead || name !== embedded)) backfill.wake();
    embedded = name;
  });
  /** The model whose vectors were last asked for. */
  let embedded: string | undefined;
  const scopesFor = (profileId: string, address: Parameters<TurnKnowledge['has']>[1]): KnowledgeScope[] =>
    scopesOf(profileId, address, chatOf(address)).filter((scope) => scopes.has(scope));
  return {
    turns: {
      has: (profileId, address) => scopes.size > 0 && scopesFor(profileId, address).length > 0,
      async search({ profileId, address, sessionKey, turnId, userId }, query, limit) {
        const own = scopesFor(profileId, address);
        const found = own.length === 0 ? [] : await search(own, query, userId, limit);
        const numbers = found.length === 0 ? [] : await store.citations.cite(sessionKey, turnId, found);
        return found.map((passage, index) => ({
          number: numbers[index] ?? 0,
          passage,
          source: passage.kind === 'url' ? pageSource(passage.location) : 'local',
        }));
      },
      async cited(session, text) {
        const numbers = citedNumbers(text);
        if (numbers.length === 0) return [];
        try {
          const citations = await store.citations.citations(session, numbers);
          deps.countCitations({ real: citations.length, invented: numbers.length - citations.length });
          return citations;
        } catch (error) {
          if (!(error instanceof GatewayError)) throw error;
          log.warn({ err: error, session }, 'citations_not_read');
          return [];
        }
      },
    },
    administration: createAdministration(store.knowledge, () => model.current(), {
      async changed() {
        await readScopes();
        work.wake();
      },
    }),
    citations: store.citations,
    searches: () => (scopes.size === 0 ? undefined : model.current()),
    start: () => work.wake(),
    async close() {
      closing.abort();
      await work.ended();
      await backfill.close();
    },
  };
}

/** The home, whichever of its workers this is. */
function homeOf(instance: string): string {
  return instance.split(':', 1)[0] ?? instance;
}

/** Imports what is due, then calls `after`, again and again. */
function createWork(deps: KnowledgeDeps, closing: AbortSignal, after: (hasRead: boolean) => Promise<void>) {
  const { store, home, readers, log, pollMs = POLL_MS } = deps;
  const instance = homeOf(deps.instance);
  const holder = `${instance}:${randomUUID()}`;
  const importDeps = { store: store.knowledge, instance, holder, home, readers, log };
  let running: Promise<void> | undefined;
  let rest = new AbortController();
  const run = async (): Promise<void> => {
    while (!closing.aborted) {
      let pauseMs = pollMs;
      rest = new AbortController();
      try {
        await after(false);
        let hasRead = false;
        while (await importNext(importDeps, closing)) hasRead = true;
        if (hasRead) await after(true);
      } catch (error) {
        if (closing.aborted) return;
        log.warn({ err: toGatewayError(error) }, 'knowledge_not_read');
        pauseMs = FAILURE_MS;
      }
      await pause(pauseMs, AbortSignal.any([closing, rest.signal]));
    }
  };
  return {
    /** Looks now. Never throws, never waits. */
    wake(): void {
      rest.abort();
      running ??= run();
    },
    ended: async (): Promise<void> => await running,
  };
}
