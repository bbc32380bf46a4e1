/** The parts of a homeserver's data that are read here, checked once; anything else is ignored. Pure. */
import { z } from 'zod';

import { oneLine } from '../../src/lib/text.ts';

/** At most 255 bytes each ("Identifier Grammar"); the server may have a port, or be an address in brackets. */
export const USER_ID = /^@[^\s:]{1,220}:[A-Za-z0-9.:[\]-]{1,220}$/;
export const ROOM_ID = /^![^\s:]{1,220}(?::[A-Za-z0-9.:[\]-]{1,220})?$/;
export const EVENT_ID = /^\$\S{1,254}$/;
/** A file on a media server: `mxc://server/id`. */
const CONTENT_URI = /^mxc:\/\/([A-Za-z0-9.:[\]-]{1,220})\/([A-Za-z0-9_-]{1,220})$/;
/** The types of a poll's start event: the one that clients send so far (MSC3381), and the one in the specification. */
export const POLL_TYPES = ['org.matrix.msc3381.poll.start', 'm.poll.start'];
/** The type of the event that gives a room its name. */
export const ROOM_NAME = 'm.room.name';
/** Maximum number of options listed; MSC3381 allows no more. */
const MAX_ANSWERS = 20;

/** A text under its old name, or under the one in the specification (`m.text`: the same text in several formats). */
const pollText = z
  .object({
    'org.matrix.msc1767.text': z.string().optional().catch(undefined),
    'm.text': z
      .array(z.object({ body: z.string() }))
      .optional()
      .catch(undefined),
  })
  .transform((texts) => oneLine(texts['org.matrix.msc1767.text'] ?? texts['m.text']?.[0]?.body ?? ''));

const poll = z.object({ question: pollText, answers: z.array(pollText) });

const pollContent = z.object({
  'org.matrix.msc3381.poll.start': poll.optional().catch(undefined),
  'm.poll': poll.optional().catch(undefined),
});

const eventId = z.string().regex(EVENT_ID);
const userId = z.string().regex(USER_ID);

const relation = z.object({
  rel_type: z.string().optional().catch(undefined),
  event_id: eventId.optional().catch(undefined),
  /** In a reaction. */
  key: z.string().optional().catch(undefined),
  is_falling_back: z.boolean().optional().catch(undefined),
  'm.in_reply_to': z.object({ event_id: eventId }).optional().catch(undefined),
});

/** "Sending encrypted attachments": AES-CTR with a 256-bit key, and the SHA-256 of the ciphertext; base64 without padding. */
const encryptedFile = z.object({
  v: z.literal('v2'),
  url: z.string(),
  key: z.object({ alg: z.literal('A256CTR'), k: z.string().regex(/^[\w-]{43}$/) }),
  iv: z.string().regex(/^[A-Za-z0-9+/]{22}={0,2}$/),
  hashes: z.object({ sha256: z.string().max(100) }),
});
export type EncryptedFile = z.infer<typeof encryptedFile>;

const text = z.object({
  msgtype: z.string(),
  body: z.string().catch(''),
  formatted_body: z.string().optional().catch(undefined),
  /** If present, `body` is the caption of a file. */
  filename: z.string().optional().catch(undefined),
  url: z.string().optional().catch(undefined),
  /** An encrypted file, in place of `url`. */
  file: encryptedFile.optional().catch(undefined),
  geo_uri: z.string().optional().catch(undefined),
  info: z
    .object({
      mimetype: z.string().optional().catch(undefined),
      size: z.number().optional().catch(undefined),
      /** Milliseconds. */
      duration: z.number().optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
  'org.matrix.msc3245.voice': z.unknown().optional(),
  'm.mentions': z
    .object({ user_ids: z.array(z.string()).optional().catch(undefined) })
    .optional()
    .catch(undefined),
});
/** The content of a message (`m.room.message`, "m.room.message msgtypes"). */
export type RawContent = z.infer<typeof text>;

const content = text.extend({
  'm.relates_to': relation.optional().catch(undefined),
  'm.new_content': text.optional().catch(undefined),
});

const event = z.object({
  type: z.string(),
  event_id: eventId,
  sender: userId,
  origin_server_ts: z.number(),
  state_key: z.string().optional(),
  /** What a redaction removes, before room version 11; afterwards it is in the content. */
  redacts: eventId.optional().catch(undefined),
  content: z.record(z.string(), z.unknown()),
  unsigned: z
    .object({
      prev_content: z.object({ membership: z.string() }).optional().catch(undefined),
      redacted_because: z.unknown().optional(),
      'm.relations': z.object({ 'm.replace': z.unknown().optional() }).optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
});
/** An event of a room's timeline or state. */
export type RawEvent = z.infer<typeof event>;

export interface RawMessage {
  event_id: string;
  sender: string;
  origin_server_ts: number;
  content: z.infer<typeof content>;
}

const member = z.object({ membership: z.string(), displayname: z.string().nullish().catch(undefined) });

const timeline = z.object({
  events: z.array(z.unknown()),
  limited: z.boolean().optional().catch(undefined),
  prev_batch: z.string().optional().catch(undefined),
});

const events = z.object({ events: z.array(z.unknown()) });

const userIds = z.array(userId).optional().catch(undefined);

const syncAnswer = z.object({
  next_batch: z.string(),
  to_device: events.optional(),
  device_lists: z.object({ changed: userIds, left: userIds }).optional(),
  device_one_time_keys_count: z.record(z.string(), z.int()).optional(),
  device_unused_fallback_key_types: z.array(z.string()).optional(),
  rooms: z
    .object({
      join: z
        .record(z.string(), z.object({ state: events.optional(), timeline: timeline.optional() }))
        .optional(),
      invite: z.record(z.string(), z.object({ invite_state: events.optional() })).optional(),
      leave: z.record(z.string(), z.object({ timeline: timeline.optional() })).optional(),
    })
    .optional(),
});
/** The answer to a sync. */
export type SyncAnswer = z.infer<typeof syncAnswer>;
export type RawTimeline = z.infer<typeof timeline>;

/** Undefined for anything but a valid answer. */
export function readSync(value: unknown): SyncAnswer | undefined {
  return syncAnswer.safeParse(value).data;
}

/** The events in a list; none for anything but a list. */
export function readEvents(value: unknown): RawEvent[] {
  return (z.array(z.unknown()).safeParse(value).data ?? []).flatMap((one) => readEvent(one) ?? []);
}

/** Undefined for anything but an event. */
export function readEvent(value: unknown): RawEvent | undefined {
  return event.safeParse(value).data;
}

/** Undefined for an event that is no message, or was redacted. */
export function readMessage(raw: RawEvent): RawMessage | undefined {
  const message = messageIn(raw);
  const { data } = content.safeParse(message);
  return message !== undefined && data !== undefined ? { ...raw, content: data } : undefined;
}

/** Stickers and polls are messages with types of their own. */
function messageIn({ type, content: raw }: RawEvent): object | undefined {
  // A request to verify the bot's device by emoji, for which it has no eyes.
  if (type === 'm.room.message' && raw['msgtype'] === 'm.key.verification.request') return undefined;
  if (type === 'm.room.message') return raw;
  if (type === 'm.sticker') return { ...raw, msgtype: 'm.sticker' };
  const poll = POLL_TYPES.includes(type) ? readPoll(raw) : undefined;
  return poll === undefined ? undefined : { ...raw, msgtype: 'm.text', body: poll };
}

/** The message that a reaction refers to, and its emoji; undefined for anything else. */
export function readReaction(raw: RawEvent): { about: string; key: string } | undefined {
  const { data } = relation.safeParse(raw.content['m.relates_to']);
  if (raw.type !== 'm.reaction' || data?.rel_type !== 'm.annotation') return undefined;
  return data.event_id === undefined || data.key === undefined
    ? undefined
    : { about: data.event_id, key: data.key };
}

/** The event that a redaction removes; undefined for any other event. */
export function readRedaction({ type, redacts, content }: RawEvent): string | undefined {
  if (type !== 'm.room.redaction') return undefined;
  return eventId.safeParse(content['redacts']).data ?? redacts;
}

/** A person's membership; undefined for any other event. */
export function readMember(
  raw: RawEvent,
): { userId: string; membership: string; name: string | undefined } | undefined {
  const { data } = member.safeParse(raw.content);
  if (raw.type !== 'm.room.member' || data === undefined || raw.state_key === undefined) return undefined;
  return { userId: raw.state_key, membership: data.membership, name: data.displayname ?? undefined };
}

/** Whether the event says that its room continues in another. */
export function isTombstone({ type, state_key: key }: RawEvent): boolean {
  return type === 'm.room.tombstone' && key === '';
}

const strippedCreate = z.object({
  type: z.literal('m.room.create'),
  content: z.object({ predecessor: z.object({ room_id: z.string().regex(ROOM_ID) }) }),
});

/** Whether the inviting room says that it is encrypted. */
export function isEncryptedRoom(state: readonly unknown[]): boolean {
  return state.some((one) => z.object({ type: z.literal('m.room.encryption') }).safeParse(one).success);
}

/** The room that the inviting room says it replaces; undefined if it names none. */
export function readPredecessor(state: readonly unknown[]): string | undefined {
  const [create] = state.flatMap((one) => strippedCreate.safeParse(one).data ?? []);
  return create?.content.predecessor.room_id;
}

const stripped = z.object({
  type: z.literal('m.room.member'),
  sender: userId,
  state_key: z.string(),
  content: z.object({ membership: z.literal('invite'), is_direct: z.boolean().optional().catch(undefined) }),
});

/** Who invited the bot, and whether the room is for the two alone; undefined if the homeserver does not say. */
export function readInvite(
  state: readonly unknown[],
  self: string,
): { by: string; isDirect: boolean } | undefined {
  for (const one of state) {
    const { data } = stripped.safeParse(one);
    if (data?.state_key === self) return { by: data.sender, isDirect: data.content.is_direct === true };
  }
  return undefined;
}

/** The encrypted file in the content of a message; undefined without one. */
export function readEncryptedFile(raw: unknown): EncryptedFile | undefined {
  return z.object({ file: encryptedFile }).safeParse(raw).data?.file;
}

/** The server and the id of a file; undefined for any other address. */
export function readContentUri(uri: string): { server: string; mediaId: string } | undefined {
  const [, server, mediaId] = CONTENT_URI.exec(uri) ?? [];
  return server === undefined || mediaId === undefined ? undefined : { server, mediaId };
}

/** `example.org` of `@ada:example.org`. */
export function serverOf(userId: string): string {
  return userId.slice(userId.indexOf(':') + 1);
}

/** `ada` of `@ada:example.org`: the name of a person who has no other. */
export function localpartOf(userId: string): string {
  return userId.slice(1).split(':', 1)[0] ?? userId;
}

/** A poll's question with its options; undefined for anything that is not a poll. */
function readPoll(raw: unknown): string | undefined {
  const { data } = pollContent.safeParse(raw);
  const start = data?.['m.poll'] ?? data?.['org.matrix.msc3381.poll.start'];
  if (start === undefined) return undefined;
  return `[poll "${start.question}": ${start.answers.slice(0, MAX_ANSWERS).join(' / ')}]`;
}
