/** The parts of Slack's Socket Mode data that are read here, checked once; anything else is ignored. Pure. */
import { z } from 'zod';
import { blocks } from './cards.ts';

/** Slack ids: people `U…` and `W…`, direct messages `D…`, channels `C…`, older private channels and group messages `G…`. */
export const USER_ID = /^[UW][0-9A-Z]{2,30}$/;
export const CHAT_ID = /^[CDG][0-9A-Z]{2,30}$/;
/** The time of a message, which is its id within a chat: `1721609600.123456`. */
export const TS = /^\d{1,12}\.\d{6}$/;

const ts = z.string().regex(TS);
const chatId = z.string().regex(CHAT_ID);

const file = z.object({
  id: z.string(),
  name: z.string().nullish(),
  title: z.string().nullish(),
  mimetype: z.string().nullish(),
  size: z.number().optional(),
  mode: z.string().optional(),
  subtype: z.string().optional(),
  duration_ms: z.number().optional(),
  url_private: z.string().optional(),
  url_private_download: z.string().optional(),
  external_url: z.string().optional(),
});
export type RawFile = z.infer<typeof file>;

/** A shared message, one shown for a link, or the card of an app (`attachments` of the message). */
const attachment = z.object({
  text: z.string().optional(),
  fallback: z.string().optional(),
  author_name: z.string().optional(),
  author_id: z.string().optional(),
  ts: z.union([z.string(), z.number()]).optional(),
  is_share: z.boolean().optional(),
  is_msg_unfurl: z.boolean().optional(),
  pretext: z.string().optional().catch(undefined),
  title: z.string().optional().catch(undefined),
  fields: z
    .array(z.object({ title: z.string().optional(), value: z.string().optional() }))
    .optional()
    .catch(undefined),
  footer: z.string().optional().catch(undefined),
  blocks,
});

const message = z.object({
  type: z.literal('message'),
  subtype: z.string().optional(),
  channel: chatId.optional(),
  user: z.string().optional(),
  username: z.string().optional(),
  bot_id: z.string().nullish(),
  text: z.string().catch(''),
  ts,
  thread_ts: ts.optional(),
  parent_user_id: z.string().optional(),
  edited: z.object({ ts: z.string() }).nullish(),
  files: z.array(file).nullish().catch(undefined),
  attachments: z.array(attachment).nullish().catch(undefined),
  blocks,
});
/** A message as it appears in an event and in the history (the event `message`; `app_mention` has the same fields). */
export type RawMessage = z.infer<typeof message> & { channel: string };

const change = z.object({
  type: z.literal('message'),
  subtype: z.literal('message_changed'),
  channel: chatId,
  message: z.unknown(),
  previous_message: z.object({ text: z.string().catch('') }).optional(),
});

const deletion = z.object({
  type: z.literal('message'),
  subtype: z.literal('message_deleted'),
  channel: chatId,
  deleted_ts: ts,
});

/** What remains of a message whose thread has replies. */
const tombstone = z.object({
  type: z.literal('message'),
  subtype: z.literal('message_changed'),
  channel: chatId,
  message: z.object({ subtype: z.literal('tombstone'), ts }),
});

/** A deleted message. */
export interface RawDeletion {
  channel: string;
  ts: string;
}

const reaction = z.object({
  type: z.literal('reaction_added'),
  user: z.string(),
  reaction: z.string(),
  item: z.object({ type: z.literal('message'), channel: chatId, ts }),
  event_ts: z.string(),
});
export type RawReaction = z.infer<typeof reaction>;

const membership = z.object({
  type: z.enum(['member_joined_channel', 'channel_left', 'group_left']),
  user: z.string().optional(),
  channel: chatId,
  inviter: z.string().optional(),
  actor_id: z.string().optional(),
  event_ts: z.string(),
});
export type RawMembership = z.infer<typeof membership>;

const command = z.object({
  command: z.string(),
  text: z.string().catch(''),
  user_id: z.string(),
  user_name: z.string().optional(),
  channel_id: chatId,
  trigger_id: z.string(),
});
/** A slash command ("Slash commands", the payload). */
export type RawCommand = z.infer<typeof command>;

const press = z.object({
  type: z.literal('block_actions'),
  user: z.object({ id: z.string(), name: z.string().optional() }),
  trigger_id: z.string(),
  container: z.object({ type: z.string(), message_ts: ts, channel_id: chatId, thread_ts: ts.optional() }),
  actions: z
    .array(z.object({ type: z.string(), value: z.string().optional(), action_ts: z.string() }))
    .min(1),
});
/** A pressed button (`block_actions`). */
export type RawPress = z.infer<typeof press>;

const callback = z.object({ event: z.unknown() });

/** One event: what people wrote or changed, or what happened around it. */
export type RawEvent =
  | { kind: 'message'; message: RawMessage }
  | { kind: 'edit'; message: RawMessage }
  | { kind: 'deletion'; deletion: RawDeletion }
  | { kind: 'reaction'; reaction: RawReaction }
  | { kind: 'membership'; membership: RawMembership };

/** The event in an Events API envelope; undefined for anything that is not read. */
export function readEvent(payload: unknown): RawEvent | undefined {
  const event = callback.safeParse(payload).data?.event;
  const rawDeletion = readDeletion(event);
  if (rawDeletion !== undefined) return { kind: 'deletion', deletion: rawDeletion };
  const rawChange = change.safeParse(event).data;
  if (rawChange !== undefined) return readChange(rawChange);
  const rawReaction = reaction.safeParse(event).data;
  if (rawReaction !== undefined) return { kind: 'reaction', reaction: rawReaction };
  const rawMembership = membership.safeParse(event).data;
  if (rawMembership !== undefined) return { kind: 'membership', membership: rawMembership };
  const rawMessage = readMessage(event);
  return rawMessage && { kind: 'message', message: rawMessage };
}

function readDeletion(event: unknown): RawDeletion | undefined {
  const whole = deletion.safeParse(event).data;
  if (whole !== undefined) return { channel: whole.channel, ts: whole.deleted_ts };
  const withReplies = tombstone.safeParse(event).data;
  return withReplies && { channel: withReplies.channel, ts: withReplies.message.ts };
}

/** Undefined for anything but a message; `channel` is that of a history, whose messages do not name it. */
export function readMessage(value: unknown, channel?: string): RawMessage | undefined {
  const raw: Record<string, unknown> = { ...Object(value) };
  // A mention in a channel that the bot does not otherwise read is the same message under another name.
  const { data } = message.safeParse(raw['type'] === 'app_mention' ? { ...raw, type: 'message' } : raw);
  const chat = data?.channel ?? channel;
  return data === undefined || chat === undefined ? undefined : { ...data, channel: chat };
}

/** Slack also reports a change when it shows a link preview: in that case no one has edited the text. */
function readChange(raw: z.infer<typeof change>): RawEvent | undefined {
  const edit = readMessage(raw.message, raw.channel);
  if (edit === undefined || !edit.edited || edit.text === raw.previous_message?.text) return undefined;
  return { kind: 'edit', message: edit };
}

export function readCommand(payload: unknown): RawCommand | undefined {
  return command.safeParse(payload).data;
}

export function readPress(payload: unknown): RawPress | undefined {
  return press.safeParse(payload).data;
}

/** Whether one person or several read a chat with the bot: only direct messages begin with a D. */
export function privacyOf(chatId: string): 'private' | 'group' {
  return chatId.startsWith('D') ? 'private' : 'group';
}

/** When a message was sent, in epoch milliseconds. */
export function timeOf(ts: string): number {
  return Math.floor(Number(ts) * 1_000);
}
