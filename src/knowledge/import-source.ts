/** Reads all documents of one source: what is new or changed, and takes out what is gone. Interrupted, it goes on where it was. */
import { GatewayError, StoreError } from '../protocol/errors.ts';
import {
  type ClaimedSource,
  DOCUMENT_MS,
  type KnowledgeStore,
  MAX_SCOPE_DOCUMENTS,
  type ReadDocument,
} from '../protocol/knowledge.ts';
import type { Log } from '../protocol/log.ts';
import { storedText, textRef } from '../protocol/texts/say.ts';
import { problemOf, readDocument, versionOf } from './read-document.ts';
import { DocumentTooLarge, entriesOf, type EntryDeps, type SourceEntry } from './source-entries.ts';

/** How long a process holds a source without a sign of life, and how often it gives one, in milliseconds. */
const LEASE_MS = 10_000;
const HOLD_MS = 3_000;
/** When a source is read again, in milliseconds: a look at the times of files, a request with the ETag. */
const FILES_MS = 60_000;
const URL_MS = 24 * 60 * 60_000;
/** After a failure of the source itself. */
const RETRY_MS = 15 * 60_000;

export interface ImportDeps extends EntryDeps {
  store: KnowledgeStore;
  /** The home that holds the paths. */
  instance: string;
  /** The name of this process. */
  holder: string;
  /** Longest time for one document, in milliseconds. */
  documentMs?: number;
  /** Called after each document. */
  onProgress?: (progress: { done: number; total: number; source: ClaimedSource }) => void;
  log: Log;
}

/**
 * Reads the next source that is due, one of `ids` if given; false when none is. Throws `StoreError`, and the signal's
 * reason: the source is free again then.
 */
export async function importNext(
  deps: ImportDeps,
  signal: AbortSignal,
  ids?: readonly string[],
): Promise<boolean> {
  const { store, instance, holder } = deps;
  const source = await store.claimSource(holder, instance, LEASE_MS, ids);
  if (source === undefined) return false;
  const loss = new AbortController();
  const timer = setInterval(() => {
    store.holdSource(source.id, holder, LEASE_MS).then(
      (isHeld) => isHeld || loss.abort(),
      (error: unknown) => deps.log.warn({ err: error, source: source.id }, 'knowledge_lease_not_extended'),
    );
  }, HOLD_MS);
  try {
    await importSource(deps, source, AbortSignal.any([signal, loss.signal]));
  } catch (error) {
    // Others may go on at once. Without an error: it was removed, or another process has it.
    if (signal.aborted) await store.holdSource(source.id, holder, 0);
    if (!loss.signal.aborted) throw error;
  } finally {
    clearInterval(timer);
  }
  return true;
}

async function importSource(deps: ImportDeps, source: ClaimedSource, signal: AbortSignal): Promise<void> {
  const { store, holder } = deps;
  const usualMs = { folder: FILES_MS, file: FILES_MS, url: URL_MS, upload: undefined }[source.kind];
  try {
    const { entries, notice } = await entriesOf(deps, source);
    await store.holdSource(source.id, holder, LEASE_MS, entries.length);
    const { problem, full } = await importEntries(deps, source, entries, signal);
    await store.keepDocuments(
      source.id,
      entries.map(({ name }) => name),
    );
    const notices = [notice, full].filter((text) => text !== undefined).join('\n');
    const nextMs = problem === undefined ? usualMs : RETRY_MS;
    await store.finishSource(source.id, holder, { problem, notice: notices || undefined, nextMs });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof GatewayError) || error.code !== 'unreadable') throw error;
    // A folder that is away, such as that of a disk, keeps its documents; searches leave out files that are gone.
    const nextMs = Math.min(usualMs ?? RETRY_MS, RETRY_MS);
    await store.finishSource(source.id, holder, { problem: problemOf(error), nextMs });
  }
}

/** `full`: the words for documents that no longer fit. */
async function importEntries(
  deps: ImportDeps,
  source: ClaimedSource,
  entries: readonly SourceEntry[],
  signal: AbortSignal,
): Promise<{ problem?: string | undefined; full?: string }> {
  const { store, onProgress } = deps;
  const marks = await store.documentMarks(source.id);
  let problem: string | undefined;
  for (const [index, entry] of entries.entries()) {
    signal.throwIfAborted();
    const previous = marks.get(entry.name);
    const document = await loadAndRead(deps, source.id, entry, previous, signal);
    // An address that does not answer now is tried again soon, and keeps what it said.
    if (source.kind === 'url') problem = document?.problem;
    const keeps = problem !== undefined && previous?.failed === false;
    if (document !== undefined && !keeps && !(await store.saveDocument(source.id, document)))
      return {
        full: storedText(
          textRef('knowledge.full', { count: entries.length - index, most: MAX_SCOPE_DOCUMENTS }),
        ),
      };
    onProgress?.({ done: index + 1, total: entries.length, source });
  }
  return { problem };
}

/** What to store; undefined for a document that is as it was. Throws `StoreError`, and the signal's reason. */
async function loadAndRead(
  { store, readers, documentMs = DOCUMENT_MS }: ImportDeps,
  sourceId: string,
  { name, load }: SourceEntry,
  previous: { mark?: string; version: string } | undefined,
  signal: AbortSignal,
): Promise<ReadDocument | undefined> {
  const limit = AbortSignal.timeout(documentMs);
  const both = AbortSignal.any([signal, limit]);
  let mark: string | undefined;
  try {
    const loaded = await load(both, previous?.mark);
    mark = loaded?.mark;
    if (loaded === undefined) return undefined;
    if (versionOf(loaded.bytes) !== previous?.version) return await readDocument(readers, loaded, both);
    await store.markDocument(sourceId, name, mark);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof StoreError) throw error;
    const problem = limit.aborted
      ? storedText(textRef('knowledge.too_slow', { seconds: documentMs / 1_000 }))
      : problemOf(error);
    // With its mark: what cannot be read is not tried again before it changes.
    if (error instanceof DocumentTooLarge) mark = error.mark;
    return { name, title: name, version: '', bytes: 0, mark, problem, passages: [] };
  }
}
