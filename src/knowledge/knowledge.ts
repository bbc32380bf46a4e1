/** The knowledge of a gateway: reads documents in the background, finds passages for turns, and opens what they cite. */
import { randomUUID } from 'node:crypto';
import type { MeterCall } from '../protocol/agent/budgets.ts';
import type { LLMProvider } from '../protocol/agent/provider.ts';
import { toGatewayError } from '../protocol/errors.ts';
import {
  type CitationApi,
  type CitationStore,
  EMBEDDING_CALLS_PER_MINUTE,
  type KnowledgeApi,
  type KnowledgeScope,
  type KnowledgeSearch,
  type KnowledgeStore,
  type PassageStore,
  type TurnKnowledge,
} from '../protocol/knowledge.ts';
import type { Log } from '../protocol/log.ts';
import { pause } from '../lib/async/sleep.ts';
import type { Backfill, BackfillDeps, QuestionDeps, VectorOf } from '../memory/index.ts';
import { createAdministration } from './administration.ts';
import { createEmbeddingModel } from './embedding-model.ts';
import { importNext } from './import-source.ts';
import type { DocumentReaders } from './read-document.ts';
import { createSearch } from './search.ts';
import { createTurnKnowledge } from './turn-knowledge.ts';

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
  monotonicNow: () => number;
  /** How often it looks for work, in milliseconds. */
  pollMs?: number;
  log: Log;
}

export interface Knowledge {
  turns: TurnKnowledge;
  /** Without what depends on who may read a session. */
  administration: Omit<KnowledgeApi, keyof CitationApi>;
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
  const closing = new AbortController();
  const model = createEmbeddingModel({ ...deps, passages: store.passages });
  const { backfill, vectorOf } = createVectors(deps, () => model.current().model);
  const search = createSearch({
    passages: store.passages,
    model: () => model.current(),
    vectorOf,
    wake: () => backfill.wake(),
    instance: homeOf(deps.instance),
    log,
  });
  let scopes: ReadonlySet<KnowledgeScope> = new Set();
  /** What has a vector, or will have: passages up to this id, of this model. */
  let vectors: { newest: number | undefined; model: string | undefined } = { newest: 0, model: undefined };
  const look = async (): Promise<void> => {
    scopes = new Set(await store.knowledge.scopes());
    if (scopes.size === 0) return;
    const [{ model: name }, newest] = await Promise.all([model.look(), store.passages.newestPassage()]);
    // Commands of this machine add passages, too.
    if (name !== undefined && (name !== vectors.model || newest !== vectors.newest)) backfill.wake();
    vectors = { newest, model: name };
  };
  const work = createWork(deps, closing.signal, look);
  const onChange = async (): Promise<void> => {
    await look();
    work.wake();
  };
  return {
    turns: createTurnKnowledge({
      scopes: () => scopes,
      search,
      citations: store.citations,
      countCitations: (counts) => deps.countCitations(counts),
      log,
    }),
    administration: createAdministration(store.knowledge, () => model.current(), onChange),
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

/** What computes the vectors of passages, slowly, and of questions. */
function createVectors(deps: KnowledgeDeps, model: () => string | undefined) {
  const { store, vectors, metered, monotonicNow, log } = deps;
  const shared = {
    embed: (...[request, signal]: Parameters<LLMProvider['embed']>) => deps.provider.embed(request, signal),
    metered,
    remedy: (name: string | undefined) =>
      `Is the model ${name} on its server? memory.embeddingModel in config.json names another.`,
    log,
  };
  const events = {
    failed: 'passages_without_vectors',
    embedded: 'passages_embedded',
    tooLong: 'passage_too_long_for_its_model',
  };
  const callsPerMinute = EMBEDDING_CALLS_PER_MINUTE;
  return {
    backfill: vectors.createBackfill({ ...shared, vectors: store.passages, model, events, callsPerMinute }),
    vectorOf: vectors.createQuestions({ ...shared, event: 'knowledge_searched_by_words', monotonicNow }),
  };
}

/** The home, whichever of its workers this is. */
function homeOf(instance: string): string {
  return instance.split(':', 1)[0] ?? instance;
}

/** Calls `look` and imports what is due, again and again. */
function createWork(deps: KnowledgeDeps, closing: AbortSignal, look: () => Promise<void>) {
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
        await look();
        while (await importNext(importDeps, closing)) await look();
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
