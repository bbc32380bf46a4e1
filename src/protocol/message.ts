/** Inbound and outbound messages, and the keys of chats and sessions. */
import { GatewayError } from './errors.ts';

import { type Media, mediaShape, type SentMedia } from './media.ts';
import { z } from 'zod';
import { clipMiddle } from '../lib/text.ts';
import type { Source } from './agent/risk.ts';

/** A chat or thread: `channel:chatId[:threadId]`; a colon in an id is written `=3A`, and an equals sign `=3D`. */
export type Address = `${string}:${string}`;

/** Key of a conversation that the model remembers; by default the same string as the address it was first used from. */
export type SessionKey = `${string}:${string}`;

/** A chat on a channel, with its thread or topic if the platform has them. */
export interface Place {
  channel: string;
  chatId: string;
  threadId?: string | undefined;
}

/** One message on a platform; `id` is what `edit` needs, `metadata` is read only by the channel that wrote it. */
export interface SentMessage {
  id: string;
  metadata?: Record<string, string> | undefined;
  /** Its id for people and their reactions, if `id` only addresses it (a deferred Discord reply) and the platform reveals it later. */
  realId?: string | undefined;
  /** No text longer than this was ever shown in it while it grew, in UTF-16 units of markup; set by the delivery. */
  shows?: number | undefined;
}

/** A message from a person (or from `system`: subagent results, cron, heartbeat), parsed once by its channel. */
export interface InboundMessage extends Place {
  /** Unique for this message on this channel and account: the dedupe key (`<bot_id>:<update_id>`, message id, Idempotency-Key). */
  id: string;
  /** Immutable id of the sender, from the transport, never from text; `token:<id>` on HTTP. */
  senderId: string;
  /** Another bot wrote it, or a webhook: it has no rights, and is answered only when it names this bot in a group. */
  fromBot?: boolean | undefined;
  /** What the sender belonged to when this was written, from the transport, if access can be granted to that. */
  memberships?: readonly Membership[] | undefined;
  /** For display only: no decision may depend on it. */
  senderName?: string | undefined;
  /**
   * The sender's language: as the platform reports it (`de-AT`, or the header `Accept-Language`); of an accepted
   * message, the code of the language in which the gateway writes to them.
   */
  language?: string | undefined;
  /** The person that an HTTP API client serves, as a digest of the name it provides: has memories, and no rights. */
  endUser?: string | undefined;
  /** Of a message of the gateway itself: on whose account the answer is. */
  payer?: Payer | undefined;
  content: string;
  /** Epoch milliseconds, the platform's clock. */
  timestamp: number;
  media: Media[];
  replyTo?: string | undefined;
  /** The message itself on its platform, if answers can reply to it and its sender can edit it. */
  messageId?: string | undefined;
  /** In a group, only its sender sees the message: what a reply that no one else sees refers to it by. It has no `messageId`. */
  hiddenId?: string | undefined;
  /** The sender has given the message `messageId` this text. */
  isEdit?: true | undefined;
  /** The sender wants to stop the answer that this message on the platform is part of; then there is no text. */
  stops?: string | undefined;
  /** What the message replies to; its text is never the sender's instruction. */
  quoted?: Quoted | undefined;
  /** `group` is every place where more than one person can write. */
  place: 'private' | 'group';
  /** The bot is not a member of the chat: the sender has brought it in for this, and their own right to write in private counts. */
  isGuest?: true | undefined;
  /**
   * The chat is this person's own with someone else, and the bot answers there in their name: only an owner's chats count.
   * Whoever else writes there has no rights, gets nothing but answers, and has a `senderId` that no user of the bot has. This
   * is an id as in `senderId`.
   */
  onBehalfOf?: string | undefined;
  forwarded?: boolean | undefined;
  /** Who wrote a forwarded text, as the platform names them; display only. */
  forwardedFrom?: string | undefined;
  /** The prompt of an MCP server that the sender has chosen: the content is its text, not theirs. */
  prompt?: { server: string; name: string } | undefined;
  /** Value of a pressed button, as it was sent; then there is no text. */
  button?: string | undefined;
  /** The channel can show the person who pressed a form. */
  forms?: true | undefined;
  /** What was entered in the form that the button opened, by field name. */
  fields?: Readonly<Record<string, string>> | undefined;
  /** The message under which it was pressed, if the platform reports it. */
  buttonUnder?: SentMessage | undefined;
  /** In a group: the bot was mentioned, replied to, or called by a command for it. */
  mentioned: boolean;
  /** A message already on screen that becomes the answer (a deferred Discord reply). */
  placeholder?: SentMessage | undefined;
  /** The channel itself shows the gateway's immediate reply (a slash command of Slack): none is queued. */
  answeredInPlace?: true | undefined;
  /** The name of the group, as its members know it; for display only. */
  chatName?: string | undefined;
  /** A session other than the address's own; only for `system` messages and HTTP. */
  sessionKey?: SessionKey | undefined;
  /** Of a `system` message: the sources that its text was made from. Channels never set it. */
  sources?: readonly Source[] | undefined;
  /** Read only by the channel that wrote it. */
  metadata?: Record<string, string> | undefined;
}

/** A button under a message; `value` is returned unchanged when it is pressed. */
export interface Button {
  label: string;
  value: string;
  style?: 'normal' | 'confirm' | 'danger';
  /** Pressing it copies this text, and sends nothing; only if the channel can (`capabilities.copyButtons`). */
  copy?: string | undefined;
  /** Pressing it opens a form; only if the channel shows forms (`capabilities.forms`). */
  form?: boolean | undefined;
}

/** A message to deliver: its text, then its files; `turnId` joins it to the live message already on screen. */
export interface OutboundMessage extends Place {
  content: string;
  turnId?: string | undefined;
  replyTo?: string | undefined;
  media: SentMedia[];
  folder?: string | undefined;
  buttons: Button[];
  isError?: boolean;
  /** In a group: useful only to this person, and shown to no one else if the channel can do that. */
  onlyFor?: string | undefined;
  /** What it replies to is a message that only that person sees (`InboundMessage.hiddenId`). */
  repliesHidden?: boolean | undefined;
  /** It answers a person's question, which they may have asked again. */
  asked?: boolean | undefined;
  /** The language of what the gateway itself adds, such as buttons; default: English. */
  language?: string | undefined;
}

/** What an `out:` message contains; `ref` names the parts for nonces and stored ids. */
export interface DeliveryPayload {
  ref: string;
  /** Key of this delivery when it rewrites the message that an earlier delivery of the same `ref` sent. */
  key?: string | undefined;
  message: OutboundMessage;
  /**
   * Messages that show what `ref` names: those that are not among its stored parts are duplicates from before a crash,
   * and are removed. With this there is no text to deliver.
   */
  copies?: SentMessage[] | undefined;
  /** The delivery shows the current card of this plan, and no text. */
  planId?: string | undefined;
  /** The text is this one of the gateway's own, in the language of its reader, in place of the message's content. */
  says?: 'turn.stopped' | 'turn.joined' | 'turn.deleted' | undefined;
}

/** The delivery that removes duplicates of what `ref` shows; the same for a repeat. */
export function removalOf(
  ref: string,
  { channel, chatId, threadId }: Place,
  copies: SentMessage[],
): DeliveryPayload {
  const key = `${ref}:copy:${copies.map(({ id }) => id).join(':')}`;
  const message = { channel, chatId, threadId, content: '', media: [], buttons: [] };
  return { ref, key, message, copies };
}

/** The address of a place: `telegram:42`, `telegram:-100:7`, `matrix:!garden=3Aexample.org`. */
export function addressOf({ channel, chatId, threadId }: Place): Address {
  const chat = `${channel}:${escapeKeyPart(chatId)}` as const;
  return threadId === undefined ? chat : `${chat}:${escapeKeyPart(threadId)}`;
}

/** The message on its platform that the answer replies to: in private the question is obvious. */
export function answeredMessage({ channel, place, messageId }: InboundMessage): string | undefined {
  return place === 'group' || channel === 'system' ? messageId : undefined;
}

/** Where a message is on its platform; undefined if it shows no reactions. */
export function askedQuestion(
  message: InboundMessage,
): (Place & { messageId: string; place: InboundMessage['place'] }) | undefined {
  const { channel, chatId, threadId, messageId, place } = message;
  return messageId === undefined ? undefined : { channel, chatId, threadId, messageId, place };
}

/** User id of the sender, the same in every chat: `telegram:42`, `token:<id>`; `system` when no person wrote it. */
export function userIdOf({ channel, senderId }: Pick<InboundMessage, 'channel' | 'senderId'>): string {
  if (channel === 'system') return 'system';
  return channel === 'http' ? senderId : `${channel}:${senderId}`;
}

/** On whose account work is done, besides that of all: a user id, and the ids of a schedule and a plan. */
export const payerShape = z.object({
  person: z.string().optional(),
  schedule: z.string().optional(),
  plan: z.string().optional(),
});

export type Payer = z.infer<typeof payerShape>;

/** On whose account the answer to a message is: its sender's, or of a message of the gateway that of whoever caused it. */
export function payerOf(message: Pick<InboundMessage, 'channel' | 'senderId' | 'payer'>): Payer {
  return message.payer ?? (message.channel === 'system' ? {} : { person: userIdOf(message) });
}

/** Whose memories the answer to a message may use: the sender's own, or those of the end user that a client named. */
export function memoryOwnerOf(message: Pick<InboundMessage, 'channel' | 'senderId' | 'endUser'>): string {
  const userId = userIdOf(message);
  return message.endUser === undefined ? userId : `${userId}:user:${message.endUser}`;
}

/** Sources of a message's text: empty when it is the sender's own, quotes no one else, and no one else can write in the chat. */
export function sourcesOfMessage(message: InboundMessage): Source[] {
  const quoted = message.quoted === undefined ? [] : sourcesOfQuote(message.quoted);
  return [...new Set([...ownSources(message), ...quoted])];
}

/** Those of the message without what it quotes. */
function ownSources(message: InboundMessage): Source[] {
  const group: Source[] = message.place === 'group' ? ['group'] : [];
  if (message.channel === 'system') {
    const unknown: Source[] = message.senderId.startsWith('agent:') ? ['local'] : [];
    return [...group, ...(message.sources ?? unknown)];
  }
  const forwarded: Source[] = message.forwarded === true ? ['forwarded'] : [];
  // A file's name and content come from its creator, and the model reads them along with the text. A
  // recording for this chat is the sender's own speech.
  const files: Source[] = message.media.some(({ kind }) => kind !== 'voice') ? ['local'] : [];
  const ofServer: Source[] = message.prompt === undefined ? [] : [`mcp:${message.prompt.server}`];
  return [...group, ...forwarded, ...files, ...ofServer];
}

/**
 * Who typed a message's text, apart from quotes and files: a person by their user id, their scheduled task by its
 * message's id. Undefined if a model, a bot or others had a part in it.
 */
export function authorOf(message: InboundMessage): string | undefined {
  const others = ownSources({ ...message, media: [] }).filter((source) => source !== 'group');
  if (others.length > 0) return undefined;
  if (message.fromBot === true) return undefined;
  if (message.channel !== 'system') return userIdOf(message);
  const byModel = message.senderId.startsWith('agent:') || message.place === 'group';
  return byModel ? undefined : `system:${message.id}`;
}

/** Whether a text has the form of an address. */
export function isAddress(text: string): text is Address {
  const first = text.indexOf(':');
  return first > 0 && first < text.length - 1;
}

/** Splits an address at its first colon, and the chat from its thread at the next. Throws `GatewayError('bad_address')`. */
export function parseAddress(address: string): Place {
  const first = address.indexOf(':');
  if (!isAddress(address)) {
    const text = address.slice(0, 80);
    throw new GatewayError('bad_address', `"${text}" is not an address: expected channel:chat_id.`);
  }
  const channel = address.slice(0, first);
  const rest = address.slice(first + 1);
  const second = rest.indexOf(':');
  if (second <= 0) return { channel, chatId: readKeyPart(rest) };
  const chatId = readKeyPart(rest.slice(0, second));
  return { channel, chatId, threadId: readKeyPart(rest.slice(second + 1)) };
}

/** The chat of an address, which all of its threads share. Throws `GatewayError('bad_address')`. */
export function chatOf(address: Address): Address {
  const { channel, chatId } = parseAddress(address);
  return addressOf({ channel, chatId });
}

/** Ids that HTTP callers may give their sessions. */
const HTTP_SESSION_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** True when `id` may follow `http:` in a session key. */
export function isHttpSessionId(id: string): boolean {
  return HTTP_SESSION_ID.test(id);
}

/** Both ids are the platform's own. */
export interface ChatMigration {
  channel: string;
  from: string;
  to: string;
}

/** Moves the data of a chat to its new id. Throws only `StoreError`. */
export interface ChatMigrationStore {
  /**
   * Moves the grant (also one `listed` in the configuration), conversation and schedules to the new id. False when
   * there is nothing to move anymore. A conversation that has started under the new id is left alone.
   */
  moveChat(move: ChatMigration, listed: boolean): Promise<boolean>;
}

/** The bot was added to a chat, or can no longer write there: it was removed or blocked. */
export interface MembershipChange extends Pick<InboundMessage, 'channel' | 'chatId' | 'place'> {
  /** Unique for this change on this channel and account. */
  id: string;
  change: 'joined' | 'left';
  /** Who changed it: an immutable id from the transport. */
  byId: string;
  /** Their language, as the platform reports it. */
  language?: string | undefined;
  /** False if the platform shows the bot only messages that are meant for it. */
  readsAll: boolean;
}

/** Greets a group that the bot has joined, and ends work for a chat that it has left; the same change twice acts once. Throws only `StoreError`. */
export type NoteMembership = (change: MembershipChange) => Promise<void>;

/** Moves everything of a chat to its new id; a repeated call changes nothing. Throws only `StoreError`. */
export type FollowChatMigration = (move: ChatMigration) => Promise<void>;

/** Escapes a part of a key, whose parts are separated by colons. An equals sign needs no escape in a URL's path. */
function escapeKeyPart(part: string): string {
  return part.replaceAll('=', '=3D').replaceAll(':', '=3A');
}

/** Undoes `escapeKeyPart`; any other equals sign stays. */
function readKeyPart(part: string): string {
  return part.replaceAll('=3A', ':').replaceAll('=3D', '=');
}

/** Longest quoted text, in UTF-16 units: more than a Telegram or Discord message can contain. */
export const MAX_QUOTED_CHARS = 8_000;

/** Files of a quoted message that are named; more than a Telegram album or a Discord message has. */
const MAX_QUOTED_MEDIA = 10;

/** For parsing what was stored. */
export const storedQuote = z.object({
  text: z.string(),
  by: z.enum(['bot', 'sender', 'other']),
  author: z.string().optional(),
  sentAt: z.number().optional(),
  media: z.array(mediaShape.pick({ kind: true, name: true })),
});

/**
 * A quoted message. `by`: the words are this bot's, the quoting sender's, or someone else's, which includes what the
 * sender had only forwarded. `author` names someone else, only for display; `sentAt` is the platform's time in epoch
 * milliseconds, if reported; a message with only files has empty text.
 */
export type Quoted = z.infer<typeof storedQuote>;

/** The quote within its limits: a long text loses its middle, with a marker; undefined if there is nothing to read. */
export function boundQuote(quoted: Quoted): Quoted | undefined {
  if (quoted.text === '' && quoted.media.length === 0) return undefined;
  const media = quoted.media.slice(0, MAX_QUOTED_MEDIA).map(({ kind, name }) => ({ kind, name }));
  return { ...quoted, text: clipMiddle(quoted.text, MAX_QUOTED_CHARS), media };
}

/** Sources of a quoted text: empty for text of the bot and of the sender, if it comes without files. */
function sourcesOfQuote({ by, media }: Quoted): Source[] {
  const others: Source[] = by === 'other' ? ['quoted'] : [];
  const fileSources: Source[] = media.some(({ name }) => name !== undefined) ? ['local'] : [];
  return [...others, ...fileSources];
}

/** A guild that a person belongs to, or a role that they have there; the id is the platform's. */
export interface Membership {
  kind: 'guild' | 'role';
  id: string;
}
