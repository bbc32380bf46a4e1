/** `parley knowledge`: an owner gives the bot documents; this process reads them, and a running gateway goes on with what is left. */
import { randomUUID } from 'node:crypto';
import { realpath, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { builtInProfiles } from '../../agent/index.ts';
import type { Config } from '../../config.ts';
import { addressFrom, importNext, type ImportDeps } from '../../knowledge/index.ts';
import { clipEnd, escapeControls, oneLine } from '../../lib/text.ts';
import { sleep } from '../../lib/async/sleep.ts';
import { createBackgroundText } from '../../media/index.ts';
import { GatewayError } from '../../protocol/errors.ts';
import {
  type KnowledgeScope,
  type KnowledgeSource,
  MAX_DOCUMENT_BYTES,
  type NewSource,
  wordProblem,
} from '../../protocol/knowledge.ts';
import type { Log } from '../../protocol/log.ts';
import { isAddress } from '../../protocol/message.ts';
import { inEnglish } from '../../protocol/texts/say.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';
import { createEgress } from '../../security/index.ts';
import type { HomeStore } from '../../store/index.ts';
import { readPage } from '../../tools/index.ts';
import { readArguments } from '../arguments.ts';

const USAGE = `Expected: knowledge [list] | add FOLDER|FILE|URL [--profile NAME | --chat ADDRESS] | show ID | refresh [ID] | remove ID. See: ${PARLEY} knowledge --help`;

/** How often the work of another process is looked at, and how often progress is printed, in milliseconds. */
const LOOK_MS = 500;
const PROGRESS_MS = 1_000;
/** Documents of one source that are listed. */
const LISTED = 200;
/** Characters of a line. */
const LINE_CHARS = 400;

/** Where the command prints its progress, and what ends it early. */
export interface KnowledgeTerminal {
  progress: (line: string) => void;
  signal: AbortSignal;
  log: Log;
}

/** Runs a parsed command, and returns the text to print. Throws `GatewayError`. */
export type KnowledgeAct = (store: HomeStore, config: Config, terminal: KnowledgeTerminal) => Promise<string>;

/** Runs the command on the terminal of this process. */
export function onTerminal(
  run: KnowledgeAct,
  logOf: (config: Config) => Log,
  endedBySignals: () => AbortController,
): (store: HomeStore, config: Config) => Promise<string> {
  return async (store, config) => {
    const progress = (line: string): void => void process.stderr.write(`${line}\n`);
    return await run(store, config, { progress, signal: endedBySignals().signal, log: logOf(config) });
  };
}

/** Reads the arguments after `knowledge`. Throws `GatewayError('usage')`. */
export function knowledgeCommand(args: readonly string[]): KnowledgeAct {
  const options = { profile: { type: 'string' }, chat: { type: 'string' } } as const;
  const { positionals, values } = readArguments(args, USAGE, { options, allowPositionals: true });
  const [action = 'list', what, ...more] = positionals;
  const { profile, chat } = values;
  const hasScope = profile !== undefined || chat !== undefined;
  if (more.length > 0 || (hasScope && action !== 'add') || (profile !== undefined && chat !== undefined))
    throw new GatewayError('usage', USAGE);
  if (action === 'list' && what === undefined) return list;
  if (action === 'add' && what !== undefined)
    return (store, config, terminal) => add(store, config, terminal, { what, profile, chat });
  if (action === 'refresh') return (store, config, terminal) => refresh(store, config, terminal, what);
  if (what === undefined) throw new GatewayError('usage', USAGE);
  if (action === 'show') return (store) => show(store, what);
  if (action === 'remove') return (store) => remove(store, what);
  throw new GatewayError('usage', USAGE);
}

async function list(store: HomeStore, config: Config): Promise<string> {
  const sources = await store.knowledge.sources();
  if (sources.length === 0)
    return `No documents yet. Add a folder, a file or an address: ${PARLEY} knowledge add WHAT`;
  const model = config.memory.embeddingModel ?? (await store.passages.vectorModel());
  const way =
    model === undefined ? inEnglish('knowledge.by_words') : inEnglish('knowledge.by_meaning', { model });
  return [...sources.flatMap(linesOf), way].join('\n');
}

/** A source with what is wrong with it, and what was left out. */
function linesOf(source: KnowledgeSource): string[] {
  const { id, scope, location, problem, notice } = source;
  const line = `${id}  ${scope.replace('/', ' ')}  ${oneLine(location)}: ${stateOf(source)}`;
  const about = [problem, notice].flatMap((stored) =>
    stored === undefined ? [] : [`  ${wordProblem(stored)}`],
  );
  return [line, ...about].map((text) => escapeControls(clipEnd(text, LINE_CHARS)));
}

function stateOf({ state, documents, failed: failures, passages, vectors, total }: KnowledgeSource): string {
  const counts = `${documents} documents, ${passages} passages (${vectors} found by meaning, too)`;
  const broken = failures === 0 ? '' : `, ${failures} could not be read`;
  if (state === 'reading') return `reading, ${documents} of ${total ?? '?'} documents so far`;
  return `${state === 'ready' ? '' : `${state}, `}${counts}${broken}`;
}

async function find(store: HomeStore, id: string): Promise<KnowledgeSource> {
  const source = (await store.knowledge.sources()).find((one) => one.id === id);
  if (source !== undefined) return source;
  const name = oneLine(id).slice(0, 80);
  throw new GatewayError('unknown_source', `There is nothing with the id ${name}. See: ${PARLEY} knowledge`);
}

async function show(store: HomeStore, id: string): Promise<string> {
  const source = await find(store, id);
  const documents = await store.knowledge.documents(id);
  const lines = documents.slice(0, LISTED).map(({ name, passages, problem, notice }) => {
    const about = problem === undefined ? `${passages} passages` : `not read: ${wordProblem(problem)}`;
    const limit = notice === undefined ? '' : ` ${wordProblem(notice)}`;
    return escapeControls(clipEnd(`  ${oneLine(name)}: ${about}${limit}`, LINE_CHARS));
  });
  const rest = documents.length > LISTED ? [`  … and ${documents.length - LISTED} more`] : [];
  return [...linesOf(source), ...lines, ...rest].join('\n');
}

async function remove(store: HomeStore, id: string): Promise<string> {
  const { location } = await find(store, id);
  await store.knowledge.removeSource(id);
  return `Removed: ${escapeControls(oneLine(location))}. No later answer will find its documents.`;
}

interface Request {
  what: string;
  profile: string | undefined;
  chat: string | undefined;
}

async function add(
  store: HomeStore,
  config: Config,
  terminal: KnowledgeTerminal,
  request: Request,
): Promise<string> {
  const scope = await scopeOf(config, request);
  const id = await store.knowledge.addSource({ scope, ...(await locate(store, request.what)) });
  return await readNow(store, config, terminal, [id]);
}

/** Throws `GatewayError('usage')` for a profile that does not exist, and for what is no address of a chat. */
async function scopeOf(config: Config, { profile = 'default', chat }: Request): Promise<KnowledgeScope> {
  if (chat !== undefined) {
    if (isAddress(chat)) return `chat/${chat}`;
    throw new GatewayError(
      'usage',
      `"${oneLine(chat).slice(0, 80)}" is not a chat: expected CHANNEL:CHAT_ID, such as http:work.`,
    );
  }
  const { usual, others } = builtInProfiles({ persona: undefined, enabledTools: [] }, () => true);
  const own = await readdir(path.join(config.home, 'profiles')).catch((): string[] => []);
  const names = [...new Set([usual.id, ...others.map(({ id }) => id), ...own])];
  if (names.includes(profile)) return `profile/${profile}`;
  throw new GatewayError(
    'usage',
    `There is no profile "${oneLine(profile).slice(0, 80)}"; there are ${names.join(', ')}.`,
  );
}

/** What a person typed: an address, else a path of this machine. Throws `GatewayError`. */
async function locate(
  store: HomeStore,
  what: string,
): Promise<Pick<NewSource, 'kind' | 'location' | 'instance'>> {
  if (/^https?:\/\//i.test(what)) return { kind: 'url', location: addressFrom(what) };
  const instance = instanceOf(store);
  if (instance === 'attached')
    throw new GatewayError(
      'no_gateway',
      `No gateway has run with this GATEWAY_HOME yet, so none could read the folder again: run "${PARLEY} start" once.`,
    );
  try {
    const location = await realpath(path.resolve(what));
    const stats = await stat(location);
    if (stats.isDirectory()) return { kind: 'folder', location, instance };
    if (stats.isFile()) return { kind: 'file', location, instance };
  } catch (cause) {
    const name = oneLine(what).slice(0, 200);
    throw new GatewayError('no_file', `There is no folder or file ${name} that can be read.`, { cause });
  }
  throw new GatewayError('no_file', `${oneLine(what).slice(0, 200)} is neither a folder nor a file.`);
}

/** The home, whichever of its workers asks. */
function instanceOf({ instance }: HomeStore): string {
  return instance.split(':', 1)[0] ?? instance;
}

async function refresh(
  store: HomeStore,
  config: Config,
  terminal: KnowledgeTerminal,
  id: string | undefined,
): Promise<string> {
  if (id !== undefined) await find(store, id);
  await store.knowledge.refreshSources(id);
  const instance = instanceOf(store);
  const sources = (await store.knowledge.sources()).filter((source) =>
    id === undefined ? source.instance === undefined || source.instance === instance : source.id === id,
  );
  if (sources.length === 0) return 'There is nothing to read.';
  return await readNow(
    store,
    config,
    terminal,
    sources.map((source) => source.id),
  );
}

/** Reads these sources here, or watches a gateway that does, until all are read or the signal aborts. */
async function readNow(
  store: HomeStore,
  config: Config,
  terminal: KnowledgeTerminal,
  ids: readonly string[],
): Promise<string> {
  const { signal } = terminal;
  const deps = importDeps(store, config, terminal);
  try {
    for (;;) {
      while (await importNext(deps, signal, ids));
      const open = (await sourcesOf(store, ids)).filter(
        ({ state }) => state === 'reading' || state === 'waiting',
      );
      if (open.length === 0) break;
      for (const { location, documents, total } of open)
        deps.report(location, `${documents} of ${total ?? '?'} documents`);
      await sleep(LOOK_MS, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    const rest = `Interrupted. A running gateway goes on with it, or: ${PARLEY} knowledge refresh`;
    return [...(await sourcesOf(store, ids)).flatMap(linesOf), rest].join('\n');
  }
  return (await sourcesOf(store, ids)).flatMap(linesOf).join('\n');
}

async function sourcesOf(store: HomeStore, ids: readonly string[]): Promise<KnowledgeSource[]> {
  return (await store.knowledge.sources()).filter(({ id }) => ids.includes(id));
}

function importDeps(
  store: HomeStore,
  config: Config,
  { progress, log }: KnowledgeTerminal,
): ImportDeps & { report(location: string, text: string): void } {
  const instance = instanceOf(store);
  let printedAt = -Infinity;
  const report = (location: string, text: string, isLast = false): void => {
    if (!isLast && performance.now() - printedAt < PROGRESS_MS) return;
    printedAt = performance.now();
    progress(escapeControls(`${oneLine(location)}: ${text}`));
  };
  return {
    store: store.knowledge,
    instance,
    holder: `${instance}:${randomUUID()}`,
    home: path.resolve(config.home),
    readers: {
      documentText: createBackgroundText({ log, monotonicNow: () => performance.now() }),
      readPage,
      egress: createEgress({
        ports: () => config.tools.ports,
        limits: { wireBytes: MAX_DOCUMENT_BYTES, decodedBytes: MAX_DOCUMENT_BYTES },
      }),
    },
    onProgress: ({ done: count, total, source }) =>
      report(source.location, `${count} of ${total} documents`, count === total),
    report,
    log,
  };
}
