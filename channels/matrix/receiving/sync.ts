/** One sync after another: what is new in the rooms, and what is missing before it if the homeserver left something out. */
import { z } from 'zod';
import { ChannelError, channelUnavailable } from '../../../src/protocol/errors.ts';
import type { Log } from '../../../src/protocol/log.ts';
import { CLIENT, type MatrixClient, pathOf } from '../client.ts';
import {
  type RawEvent,
  type RawTimeline,
  readEvent,
  readMember,
  readSync,
  type SyncAnswer,
} from '../events.ts';
import { POLL_TYPES } from '../polls.ts';

/** Events of a room in one sync; the others are read afterwards. */
const PER_ROOM = 50;
/** Events returned by a call that reads missed ones, and calls for one room. */
const PAGE = 100;
export const MAX_PAGES = 10;
/** The homeserver answers a sync no later than this after the requested time, in milliseconds. */
const GRACE_MS = 30_000;

/** Events that are read; a timeline that contains only these omits less. */
const TYPES = [
  'm.room.message',
  'm.sticker',
  ...POLL_TYPES,
  'm.reaction',
  'm.room.redaction',
  'm.room.member',
  'm.room.encrypted',
  'm.room.tombstone',
];
const NOTHING = { types: [] };
const FILTER = {
  presence: NOTHING,
  account_data: NOTHING,
  room: {
    account_data: NOTHING,
    ephemeral: NOTHING,
    state: { types: ['m.room.member', 'm.room.tombstone'] },
    timeline: { types: TYPES, limit: PER_ROOM },
  },
};
/** For the very first sync: only the position from which everything is new. */
const FIRST = { ...FILTER, room: { ...FILTER.room, state: NOTHING, timeline: { types: TYPES, limit: 1 } } };

const Page = z.object({ chunk: z.array(z.unknown()), end: z.string().optional() });

/** New events of a room, oldest first. */
export interface RoomEvents {
  roomId: string;
  /** Member changes from before `events`, and the room's end. */
  state: RawEvent[];
  events: RawEvent[];
}

export interface SyncParts {
  client: Pick<MatrixClient, 'call'>;
  log: Log;
  /** The id of the bot. */
  self: string;
  /** How long the homeserver may hold a sync open, in milliseconds. */
  longPollMs: number;
}

/**
 * Asks what is new since a token; without one, asks only for the token. `waitMs` 0 = answered at once. Throws
 * `ChannelError`, or the signal's reason.
 */
export async function sync(
  { client, longPollMs }: SyncParts,
  { since, waitMs = longPollMs }: { since: string | undefined; waitMs?: number },
  signal: AbortSignal,
): Promise<SyncAnswer> {
  const query = {
    filter: JSON.stringify(since === undefined ? FIRST : FILTER),
    timeout: String(since === undefined ? 0 : waitMs),
    set_presence: 'online',
    ...(since !== undefined && { since }),
  };
  const answer = readSync(
    await client.call('GET', pathOf(CLIENT, 'sync'), { query, signal, silenceMs: waitMs + GRACE_MS }),
  );
  if (answer === undefined)
    throw channelUnavailable('The Matrix homeserver gave an answer that is not a sync.');
  return answer;
}

/**
 * The new events of a room, with those between the last sync and the events in this one. Throws `ChannelError`, or
 * the signal's reason.
 */
export async function eventsOf(
  parts: SyncParts,
  { roomId, state, timeline }: { roomId: string; state: readonly unknown[]; timeline: RawTimeline },
  since: string,
  signal: AbortSignal,
): Promise<RoomEvents> {
  const given = timeline.events.flatMap((one) => readEvent(one) ?? []);
  const own = sinceInvited(given, parts.self);
  const isWhole = own !== undefined || timeline.limited !== true || timeline.prev_batch === undefined;
  const missed = isWhole
    ? []
    : await missedIn(parts, { roomId, from: timeline.prev_batch ?? '', to: since }, signal);
  return {
    roomId,
    state: state.flatMap((one) => readEvent(one) ?? []),
    events: [...missed, ...(own ?? given)],
  };
}

/** Reads backwards from the events in a sync to the sync before it, or to the time when the bot was invited. */
async function missedIn(
  { client, log, self }: SyncParts,
  range: { roomId: string; from: string; to: string },
  signal: AbortSignal,
): Promise<RawEvent[]> {
  const { roomId, to } = range;
  let { from } = range;
  let missed: RawEvent[] = [];
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const query = { dir: 'b', from, to, limit: String(PAGE), filter: JSON.stringify({ types: TYPES }) };
    const call = client.call('GET', pathOf(CLIENT, 'rooms', roomId, 'messages'), { query, signal });
    const { data } = Page.safeParse(await call.catch(unlessGone));
    if (data === undefined) break;
    missed = [...data.chunk.flatMap((one) => readEvent(one) ?? []).toReversed(), ...missed];
    const own = sinceInvited(missed, self);
    if (own !== undefined) return own;
    if (data.end === undefined || data.end === to || data.end === from) return missed;
    from = data.end;
  }
  log.warn({ chatId: roomId, read: missed.length }, 'matrix_history_truncated');
  return missed;
}

/** A room that can no longer be read has nothing to read; any other failure is retried. */
function unlessGone(error: unknown): undefined {
  if (error instanceof ChannelError && !error.retryable) return undefined;
  throw error;
}

/**
 * Everything said since the bot was invited, or joined on its own; undefined if both happened earlier. What people
 * said in a room before they invited the bot is not meant for it.
 */
function sinceInvited(events: readonly RawEvent[], self: string): RawEvent[] | undefined {
  const at = events.findLastIndex((event) => {
    const member = readMember(event);
    if (member?.userId !== self) return false;
    const before = event.unsigned?.prev_content?.membership;
    return (
      member.membership === 'invite' ||
      (member.membership === 'join' && before !== 'invite' && before !== 'join')
    );
  });
  return at === -1 ? undefined : events.slice(at + 1);
}
