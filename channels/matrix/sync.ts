/** One sync after another: what is new in the rooms, and what is missing before it if the homeserver left something out. */
import { z } from 'zod';
import type { TtlCache } from '../../src/lib/ttl-cache.ts';
import type { ChannelDeps } from '../../src/protocol/channel.ts';
import { ChannelError, channelUnavailable } from '../../src/protocol/errors.ts';
import type { SingleReactions } from '../../src/protocol/channel-parts.ts';
import type { Receive } from '../../src/protocol/receive.ts';
import { CLIENT, type MatrixClient, type MatrixTiming, pathOf } from './client.ts';
import {
  POLL_TYPES,
  ROOM_NAME,
  type RawEvent,
  type RawTimeline,
  readEvents,
  readMember,
  readSync,
  type SyncAnswer,
} from './events.ts';
import type { Encryption } from './encryption/encryption.ts';
import type { Replacements } from './rooms.ts';
import type { Sending } from './sending.ts';

/** Events of a room in one sync; the others are read afterwards. */
const PER_ROOM = 50;
/** Events returned by a call that reads missed ones, and calls for one room. */
const PAGE = 100;
export const MAX_PAGES = 10;
/** The homeserver answers a sync no later than this after the requested time, in milliseconds. */
const GRACE_MS = 30_000;
/** State that determines how messages are sent to a room. */
const ENCRYPTION = 'm.room.encryption';
const VISIBILITY = 'm.room.history_visibility';
/** Events that are read; a timeline that contains only these omits less. */
const TYPES = [
  'm.room.message',
  'm.sticker',
  ...POLL_TYPES,
  ROOM_NAME,
  'm.reaction',
  'm.room.redaction',
  'm.room.member',
  'm.room.encrypted',
  ENCRYPTION,
  VISIBILITY,
  'm.room.tombstone',
];
const NOTHING = { types: [] };
const FILTER = {
  presence: NOTHING,
  account_data: NOTHING,
  room: {
    account_data: NOTHING,
    ephemeral: NOTHING,
    state: { types: ['m.room.member', 'm.room.tombstone', ROOM_NAME, ENCRYPTION, VISIBILITY] },
    timeline: { types: TYPES, limit: PER_ROOM },
  },
};
/** For the very first sync: only the position from which everything is new. */
const FIRST = { ...FILTER, room: { ...FILTER.room, state: NOTHING, timeline: { types: TYPES, limit: 1 } } };

/**
 * For a sync whose answer is too long to read: anyone may fill rooms with large events, or have many join and leave them.
 * What it leaves out is read afterwards, a page at a time.
 */
const SHORT = {
  ...FILTER,
  room: {
    ...FILTER.room,
    state: { types: FILTER.room.state.types.filter((type) => type !== 'm.room.member') },
    timeline: { types: TYPES, limit: 1 },
  },
};

const Page = z.object({ chunk: z.array(z.unknown()), end: z.string().optional() });

/** What receiving needs, from `start` to `stop`. */
export interface ReceivingParts extends ChannelDeps {
  receive: Receive;
  client: MatrixClient;
  sending: Sending;
  encryption: Encryption;
  replacements: Replacements;
  /** Private rooms of strangers that the bot has joined lately. */
  strangerRooms: TtlCache<true>;
  reactions: SingleReactions;
  self: string;
  timing: MatrixTiming;
}

/**
 * Asks what is new since a token, held back for `waitMs`, or for the shortest such answer; without a token, for the token.
 * Throws `ChannelError` or the reason.
 */
export async function sync(
  client: MatrixClient,
  since: string | undefined,
  { waitMs, isShort }: { waitMs: number; isShort: boolean },
  signal: AbortSignal,
): Promise<SyncAnswer> {
  const query = {
    filter: JSON.stringify(since === undefined ? FIRST : isShort ? SHORT : FILTER),
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

/** The new events of a room, oldest first, with those since the last sync. Throws `ChannelError`, or the signal's reason. */
export async function eventsOf(
  parts: ReceivingParts,
  roomId: string,
  timeline: RawTimeline,
  since: string,
  signal: AbortSignal,
): Promise<RawEvent[]> {
  const events = readEvents(timeline.events);
  const relevant = sinceInvited(events, parts.self);
  const { limited, prev_batch: from } = timeline;
  if (relevant !== undefined || limited !== true || from === undefined) return relevant ?? events;
  return [...(await gapIn(parts, roomId, from, since, signal)), ...events];
}

/** Reads backwards from the events in a sync to the sync before it, or to the time when the bot was invited. */
async function gapIn(
  { client, log, self }: ReceivingParts,
  roomId: string,
  end: string,
  to: string,
  signal: AbortSignal,
): Promise<RawEvent[]> {
  let from = end;
  let events: RawEvent[] = [];
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const query = { dir: 'b', from, to, limit: String(PAGE), filter: JSON.stringify({ types: TYPES }) };
    const call = client.call('GET', pathOf(CLIENT, 'rooms', roomId, 'messages'), { query, signal });
    const { data } = Page.safeParse(await call.catch(unlessGone));
    if (data === undefined) break;
    events = [...readEvents(data.chunk).toReversed(), ...events];
    const relevant = sinceInvited(events, self);
    if (relevant !== undefined) return relevant;
    if (data.end === undefined || data.end === to || data.end === from) return events;
    from = data.end;
  }
  log.warn({ chatId: roomId, read: events.length }, 'matrix_history_truncated');
  return events;
}

/** A room that can no longer be read has nothing to read; any other failure is retried. */
function unlessGone(error: unknown): undefined {
  if (error instanceof ChannelError && !error.retryable) return undefined;
  throw error;
}

/** Everything said since the bot was invited or joined; what was said in a room before is not meant for it. */
function sinceInvited(events: readonly RawEvent[], self: string): RawEvent[] | undefined {
  const at = events.findLastIndex((event) => {
    const member = readMember(event);
    if (member?.userId !== self) return false;
    const former = event.unsigned?.prev_content?.membership;
    return (
      member.membership === 'invite' ||
      (member.membership === 'join' && former !== 'invite' && former !== 'join')
    );
  });
  return at === -1 ? undefined : events.slice(at + 1);
}
