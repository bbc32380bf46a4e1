/** The command `parley dead-letters`: lists, shows, requeues and drops messages that were given up. */
import { GatewayError } from '../protocol/errors.ts';
import type { AdministrationStore } from '../protocol/operator/administration.ts';
import { type DeadLetter, LANE_CLASSES, type LaneKey, type LaneStore } from '../protocol/store/lanes.ts';
import { escapeControls, oneLine } from '../lib/text.ts';
import { PARLEY } from '../protocol/texts/parley.ts';

/** Dead letters that one call lists or queues again; most recent first. */
export const MAX_DEAD_LETTERS = 200;
/** Characters of an error in the list. */
const MAX_ERROR_CHARS = 200;

const USAGE = `Expected: dead-letters [show ID | replay ID | replay --all | drop ID]. See: ${PARLEY} dead-letters --help`;

/** What the command needs from the store. */
export interface DeadLetterStore {
  lanes: LaneStore;
  administration: AdministrationStore;
}

/** Reads the arguments after `dead-letters`. Throws `GatewayError`: `usage`, `unknown_dead_letter`; and `StoreError`. */
export function deadLettersCommand(args: readonly string[]): (store: DeadLetterStore) => Promise<string> {
  const all = args.includes('--all');
  const [action, id, ...more] = args.filter((arg) => arg !== '--all');
  if (more.length === 0 && action === undefined && !all)
    return async ({ lanes }) => listText(await lanes.deadLetters(MAX_DEAD_LETTERS + 1));
  if (action === 'replay' && id === undefined && all) return ({ lanes }) => replayAll(lanes);
  if (more.length > 0 || id === undefined || all) throw new GatewayError('usage', USAGE);
  if (action === 'show') return ({ lanes }) => show(lanes, id);
  if (action === 'replay') return ({ lanes }) => replayOne(lanes, id);
  if (action === 'drop') return ({ administration }) => drop(administration, id);
  throw new GatewayError('usage', USAGE);
}

/** One in full: its text and error may have many lines. */
async function show(lanes: LaneStore, id: string): Promise<string> {
  const position = parseId(id);
  const [letter] = position === undefined ? [] : await lanes.deadLetters(1, position);
  if (letter === undefined) throw unknownLetter(id);
  const { lane, seq, deadAt, attempts, crashes, error, text } = letter;
  return [
    `lane             ${lane}`,
    `number           ${seq}`,
    `given up         ${deadAt.toISOString()}`,
    `failed attempts  ${attempts}`,
    `crashes          ${crashes}`,
    `error            ${error.replaceAll('\n', '\n  ')}`,
    '',
    text ?? '(It has no text.)',
  ]
    .flatMap((part) => part.split('\n'))
    .map(escapeControls)
    .join('\n');
}

async function drop(administration: AdministrationStore, id: string): Promise<string> {
  const letter = parseId(id);
  if (letter !== undefined && (await administration.dropDeadLetter(letter.lane, letter.seq)))
    return `${id} is deleted.`;
  throw unknownLetter(id);
}

function listText(letters: readonly DeadLetter[]): string {
  if (letters.length === 0) return 'There are no dead letters.';
  const lines = letters.slice(0, MAX_DEAD_LETTERS).map(line);
  if (letters.length > lines.length) lines.push(`Only the newest ${MAX_DEAD_LETTERS} are listed.`);
  return lines.join('\n');
}

function line({ lane, seq, deadAt, attempts, crashes, error }: DeadLetter): string {
  const failures = `failed attempts: ${attempts}, crashes: ${crashes}`;
  const reason = escapeControls(oneLine(error).slice(0, MAX_ERROR_CHARS));
  return `${escapeControls(lane)}#${seq}  ${deadAt.toISOString()}  ${failures}  ${reason}`;
}

async function replayOne(lanes: LaneStore, id: string): Promise<string> {
  const letter = parseId(id);
  if (letter !== undefined && (await lanes.replayDeadLetter(letter.lane, letter.seq)))
    return `${id} is queued again.`;
  throw unknownLetter(id);
}

function unknownLetter(id: string): GatewayError {
  return new GatewayError(
    'unknown_dead_letter',
    `There is no dead letter ${oneLine(id)}. See: ${PARLEY} dead-letters`,
  );
}

/** Oldest message of a lane first, so that they keep their order at its tail. */
async function replayAll(lanes: LaneStore): Promise<string> {
  const letters = await lanes.deadLetters(MAX_DEAD_LETTERS + 1);
  const batch = letters.slice(0, MAX_DEAD_LETTERS).toSorted((a, b) => a.seq - b.seq);
  let queued = 0;
  for (const { lane, seq } of batch) if (await lanes.replayDeadLetter(lane, seq)) queued += 1;
  const rest = letters.length > batch.length ? ' There are more: run the command again.' : '';
  return `Queued again: ${queued}.${rest}`;
}

/** A lane may contain any character that a session's name may, including `#`: the last one separates the number. */
function parseId(id: string): { lane: LaneKey; seq: number } | undefined {
  const at = id.lastIndexOf('#');
  const [lane, seq] = [id.slice(0, at), id.slice(at + 1)];
  if (at < 0 || !isLaneKey(lane) || !/^\d{1,9}$/.test(seq)) return undefined;
  return { lane, seq: Number(seq) };
}

function isLaneKey(text: string): text is LaneKey {
  return LANE_CLASSES.some((name) => text.startsWith(`${name}:`) && text.length > name.length + 1);
}
