/** The command `parley dead-letters`: lists messages that were given up, and queues them again. */
import { GatewayError } from '../contracts/errors.ts';
import { LANE_CLASSES } from '../contracts/store/lanes.ts';
import type { DeadLetter, LaneKey, LaneStore } from '../contracts/store/lanes.ts';
import { escapeControls, oneLine } from '../lib/text.ts';
import { PARLEY } from '../contracts/texts/parley.ts';

/** Dead letters that one call lists or queues again; those that died last come first. */
export const MAX_DEAD_LETTERS = 200;
/** Characters of an error in the list. */
const MAX_ERROR_CHARS = 200;

const USAGE = `Expected: dead-letters [replay ID | replay --all]. See: ${PARLEY} --help`;

type DeadLetters = Pick<LaneStore, 'deadLetters' | 'replayDeadLetter'>;

/**
 * Runs the command and gives the text to print. Throws `GatewayError`: `usage`, or `unknown_dead_letter` when the id
 * names none; `StoreError` from the store.
 */
export async function deadLettersCommand(lanes: DeadLetters, args: string[], all: boolean): Promise<string> {
  const [action, id, ...more] = args;
  if (more.length > 0) throw new GatewayError('usage', USAGE);
  if (action === undefined && !all) return listed(await lanes.deadLetters(MAX_DEAD_LETTERS + 1));
  if (action === 'replay' && id === undefined && all) return await replayAll(lanes);
  if (action === 'replay' && id !== undefined && !all) return await replayOne(lanes, id);
  throw new GatewayError('usage', USAGE);
}

function listed(letters: readonly DeadLetter[]): string {
  if (letters.length === 0) return 'There are no dead letters.';
  const lines = letters.slice(0, MAX_DEAD_LETTERS).map(line);
  if (letters.length > lines.length) lines.push(`Only the newest ${MAX_DEAD_LETTERS} are listed.`);
  return lines.join('\n');
}

function line({ lane, seq, deadAt, attempts, crashes, error }: DeadLetter): string {
  const tries = `failed attempts: ${attempts}, crashes: ${crashes}`;
  const why = escapeControls(oneLine(error).slice(0, MAX_ERROR_CHARS));
  return `${escapeControls(lane)}#${seq}  ${deadAt.toISOString()}  ${tries}  ${why}`;
}

async function replayOne(lanes: DeadLetters, id: string): Promise<string> {
  const place = parseId(id);
  if (place !== undefined && (await lanes.replayDeadLetter(place.lane, place.seq)))
    return `${id} is queued again.`;
  throw new GatewayError(
    'unknown_dead_letter',
    `There is no dead letter ${oneLine(id)}. See: ${PARLEY} dead-letters`,
  );
}

/** The oldest message of a lane first, so that they keep their order at its tail. */
async function replayAll(lanes: DeadLetters): Promise<string> {
  const letters = await lanes.deadLetters(MAX_DEAD_LETTERS + 1);
  const batch = letters.slice(0, MAX_DEAD_LETTERS).toSorted((a, b) => a.seq - b.seq);
  let queued = 0;
  for (const { lane, seq } of batch) if (await lanes.replayDeadLetter(lane, seq)) queued += 1;
  const rest = letters.length > batch.length ? ' There are more: run the command again.' : '';
  return `Queued again: ${queued}.${rest}`;
}

/** A lane may hold any character a session's name may, `#` included: the last one parts the number from it. */
function parseId(id: string): { lane: LaneKey; seq: number } | undefined {
  const at = id.lastIndexOf('#');
  const [lane, seq] = [id.slice(0, at), id.slice(at + 1)];
  if (at < 0 || !isLaneKey(lane) || !/^\d{1,9}$/.test(seq)) return undefined;
  return { lane, seq: Number(seq) };
}

function isLaneKey(text: string): text is LaneKey {
  return LANE_CLASSES.some((name) => text.startsWith(`${name}:`) && text.length > name.length + 1);
}
