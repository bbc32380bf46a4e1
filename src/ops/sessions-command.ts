/** `parley sessions` and `parley export`: an operator lists, reads, renames, deletes and exports sessions. */
import type { KeyObject } from 'node:crypto';
import { parseArgs } from 'node:util';
import { GatewayError } from '../protocol/errors.ts';
import { parseAddress, type SessionKey } from '../protocol/message.ts';
import {
  readFormat,
  readTitle,
  transcriptOf,
  type TranscriptSource,
} from '../protocol/sessions/session-list.ts';
import type { RecordStore } from '../protocol/operator/record.ts';
import type { ContextStore } from '../protocol/store/accept.ts';
import type { LaneStore } from '../protocol/store/lanes.ts';
import type { SessionStore } from '../protocol/store/ledger.ts';
import type { SessionRecord } from '../protocol/store/records.ts';
import { sleep } from '../lib/async/sleep.ts';
import { clipEnd, escapeControls, oneLine } from '../lib/text.ts';
import { PARLEY } from '../protocol/texts/parley.ts';
import { signedRecord } from './signed-record.ts';

/** Sessions in a list by default, and the maximum. */
const LISTED = 50;
export const MAX_LISTED = 1_000;
/** Messages shown for a session, and characters of each. */
const SHOWN_MESSAGES = 10;
const SHOWN_CHARS = 200;
/** Longest wait for a running turn before its session is deleted, and between checks, in milliseconds. */
const END_MS = 5_000;
const LOOK_MS = 100;

const USAGE = `Expected: sessions [list] [--archived] [--limit 1-${MAX_LISTED}] | show SESSION | rename SESSION TITLE | delete SESSION --yes. See: ${PARLEY} sessions --help`;
const EXPORT_USAGE = `Expected: export SESSION [--format md|json] [--signed]. See: ${PARLEY} export --help`;

/** What the commands need from the store. */
export interface SessionsStore {
  ledger: SessionStore;
  lanes: LaneStore;
  contexts: ContextStore;
}

/** Runs a parsed command; returns the text. Throws `GatewayError('unknown_session')` and `StoreError`. */
export type SessionsCommand = (store: SessionsStore) => Promise<string>;

/** Reads the arguments after `sessions`. Throws `GatewayError('usage')`. */
export function sessionsCommand(args: readonly string[]): SessionsCommand {
  const { positionals, values } = read(args);
  const [action = 'list', key, title, ...more] = positionals;
  if (more.length > 0 || (title !== undefined && action !== 'rename')) throw usage(USAGE);
  if (action === 'list' && key === undefined) {
    const limit = /^\d{1,4}$/.test(values.limit) ? Number(values.limit) : 0;
    if (limit < 1 || limit > MAX_LISTED) throw usage(USAGE);
    return (store) => list(store, { limit, archived: values.archived });
  }
  if (key === undefined || !['show', 'rename', 'delete'].includes(action)) throw usage(USAGE);
  const session = readKey(key);
  if (action === 'show') return (store) => show(store, session);
  if (action === 'rename' && title !== undefined) return (store) => rename(store, session, title);
  if (action === 'delete') return (store) => remove(store, session, values.yes);
  throw usage(USAGE);
}

/** What signs a record: called only if one is wanted. */
export type Signer = () => { key: KeyObject; program: string };

/** Reads the arguments after `export`; the result yields the session in pieces. Throws `GatewayError('usage')`. */
export function exportCommand(
  args: readonly string[],
): (store: SessionsStore & { records: RecordStore }, signer: Signer) => AsyncGenerator<string> {
  const { positionals, values } = read(args, EXPORT_USAGE);
  const [key, ...more] = positionals;
  if (key === undefined || more.length > 0) throw usage(EXPORT_USAGE);
  const session = readKey(key);
  const format = readFormat(values.format);
  return async function* pieces({ ledger, contexts, records }, signer) {
    const record = await existing(ledger, session);
    if (values.signed) yield* signedRecord(records, session, { ...signer(), now: new Date() });
    else yield* transcriptOf(record, transcriptSource(ledger, contexts, session), format);
  };
}

/** What a transcript of the session is written from. */
export function transcriptSource(
  ledger: SessionStore,
  contexts: ContextStore,
  session: SessionKey,
): TranscriptSource {
  return {
    messages: (page) => ledger.messages(session, page),
    resets: (span) => contexts.resets(session, span),
  };
}

function read(args: readonly string[], text = USAGE) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        archived: { type: 'boolean', default: false },
        limit: { type: 'string', default: String(LISTED) },
        yes: { type: 'boolean', default: false },
        format: { type: 'string', default: 'md' },
        signed: { type: 'boolean', default: false },
      },
    });
  } catch (cause) {
    throw usage(text, cause);
  }
}

function usage(text: string, cause?: unknown): GatewayError {
  return new GatewayError('usage', text, { cause });
}

/** Throws `GatewayError('usage')` for what is not a session key. */
export function readKey(text: string): SessionKey {
  try {
    parseAddress(text);
  } catch (cause) {
    const description = oneLine(text).slice(0, 80);
    throw usage(`"${description}" is not a session, such as http:work. See: ${PARLEY} sessions`, cause);
  }
  const first = text.indexOf(':');
  return `${text.slice(0, first)}:${text.slice(first + 1)}`;
}

async function existing(ledger: SessionStore, key: SessionKey): Promise<SessionRecord> {
  const record = await ledger.session(key);
  if (record !== undefined) return record;
  throw new GatewayError('unknown_session', `There is no session ${oneLine(key)}. See: ${PARLEY} sessions`);
}

async function list(
  { ledger }: SessionsStore,
  { limit, archived }: { limit: number; archived: boolean },
): Promise<string> {
  const sessions = await ledger.listSessions({ limit: limit + 1, archived });
  if (sessions.length === 0) return archived ? 'No archived sessions.' : 'There are no sessions yet.';
  const lines = sessions.slice(0, limit).map(({ key, title, preview, state, updatedAt, pinned }) => {
    const name = clipEnd(oneLine(title ?? preview), SHOWN_CHARS);
    return escapeControls(
      `${key}  ${moment(updatedAt)}  ${state}${pinned ? ', pinned' : ''}${name === '' ? '' : `  ${name}`}`,
    );
  });
  if (sessions.length > limit) lines.push(`Only the newest ${limit} are listed; --limit shows more.`);
  return lines.join('\n');
}

async function show({ ledger }: SessionsStore, key: SessionKey): Promise<string> {
  const record = await existing(ledger, key);
  const { title, profileId, model, mode, ownerTokenId, messageCount, createdAt, updatedAt } = record;
  const { busy, waiting: waitingCount } = await ledger.queue(key);
  const messages = await ledger.messages(key, { limit: SHOWN_MESSAGES });
  const lines = [
    `session   ${key}`,
    `title     ${oneLine(title ?? '(none)')}`,
    `profile   ${profileId}, model ${model ?? 'of the profile'}, mode ${mode}`,
    ...(ownerTokenId === undefined ? [] : [`token     ${ownerTokenId}`]),
    `begun     ${moment(createdAt)}, last used ${moment(updatedAt)}`,
    `now       ${busy ? 'a turn runs or waits' : 'idle'}${waitingCount === 0 ? '' : `, ${waitingCount} messages wait`}`,
    `messages  ${messageCount}${messageCount > messages.length ? `, the last ${messages.length}:` : ''}`,
    ...messages.map(({ createdAt: at, role, senderName, content }) => {
      const who = oneLine(senderName ?? role);
      return `  ${moment(at)}  ${who}: ${clipEnd(oneLine(content), SHOWN_CHARS)}`;
    }),
  ];
  return lines.map(escapeControls).join('\n');
}

async function rename({ ledger }: SessionsStore, key: SessionKey, text: string): Promise<string> {
  const title = readTitle(text);
  await existing(ledger, key);
  await ledger.updateSession(key, { title });
  return `${escapeControls(key)} is now called: ${escapeControls(title)}`;
}

async function remove(store: SessionsStore, key: SessionKey, sure: boolean): Promise<string> {
  const { messageCount } = await existing(store.ledger, key);
  const description = `${escapeControls(key)} with ${messageCount} messages, its plans, schedules and files`;
  if (!sure) {
    throw new GatewayError('not_confirmed', `Nothing was deleted. To delete ${description}, add --yes.`);
  }
  await deleteSession(store, key);
  return `Deleted ${description}. A running gateway removes the files within the hour.`;
}

/** Stops a session, waits briefly, and deletes it. False if there is none. Throws `StoreError`. */
export async function deleteSession({ ledger, lanes }: SessionsStore, key: SessionKey): Promise<boolean> {
  await lanes.stop(key, { fresh: true });
  const until = performance.now() + END_MS;
  // If rows were deleted under a turn, its model call would run to the end.
  while (performance.now() < until && (await ledger.queue(key)).busy) await sleep(LOOK_MS);
  return await ledger.deleteSession(key);
}

function moment(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
