/** Inbound and outbound messages, and the keys of chats and sessions. */
import { GatewayError } from './errors.ts';
import type { TextSource } from './risk.ts';

/** A chat or thread: `channel:chatId[:threadId]`, split at the first colon. */
export type Address = `${string}:${string}`;

/** Key of a conversation that the model remembers; by default the same string as the address it was first used from. */
export type SessionKey = `${string}:${string}`;

/** A chat on a channel, with its thread or topic where the platform has them. */
export interface Place {
  channel: string;
  chatId: string;
  threadId?: string | undefined;
}

/** A file that came with a message or goes with an answer; `url` is the channel's own reference. */
export interface Media {
  kind: 'image' | 'audio' | 'video' | 'file';
  name?: string;
  mimeType?: string;
  bytes?: number;
  url: string;
}

/** One message on a platform; `id` is what `edit` needs, `metadata` is read only by the channel that wrote it. */
export interface SentMessage {
  id: string;
  metadata?: Record<string, string> | undefined;
}

/** A message from a person (or from `system`: subagent results, cron, heartbeat), parsed once by its channel. */
export interface InboundMessage extends Place {
  /** Unique for this message on this channel and account: the dedupe key (`<bot_id>:<update_id>`, message id, Idempotency-Key). */
  id: string;
  /** Immutable id of the sender, from the transport, never from text; `token:<id>` on HTTP. */
  senderId: string;
  /** For display only: no decision may depend on it. */
  senderName?: string | undefined;
  content: string;
  /** Epoch milliseconds, the platform's clock. */
  timestamp: number;
  media: Media[];
  replyTo?: string | undefined;
  /** `group` is every place where more than one person can write. */
  place: 'private' | 'group';
  /** Forwarded: the text is not the sender's own. */
  forwarded?: boolean | undefined;
  /** Value of a pressed button, as it was sent; then there is no text. */
  button?: string | undefined;
  /** In a group: the bot was mentioned, replied to, or called by a command for it. */
  mentioned: boolean;
  /** A message already on screen that becomes the answer (a deferred Discord reply). */
  placeholder?: SentMessage | undefined;
  /** A session other than the address's own; only for `system` messages and HTTP. */
  sessionKey?: SessionKey | undefined;
  /** Read only by the channel that wrote it. */
  metadata?: Record<string, string> | undefined;
}

/** A button under a message; `value` comes back unchanged when it is pressed. */
export interface Button {
  label: string;
  value: string;
  style?: 'normal' | 'confirm' | 'danger';
}

/** A message to deliver; `turnId` joins it to the live message already on screen. */
export interface OutboundMessage extends Place {
  content: string;
  turnId?: string | undefined;
  replyTo?: string | undefined;
  media: Media[];
  buttons: Button[];
  isError?: boolean;
}

/** What an `out:` message carries; `ref` names the parts for nonces and stored ids. */
export interface DeliveryPayload {
  ref: string;
  /** Key of this delivery when it rewrites the message that an earlier delivery of the same `ref` sent. */
  key?: string | undefined;
  message: OutboundMessage;
}

/** The address of a place: `telegram:42`, `telegram:-100:7`. */
export function addressOf(place: Place): Address {
  return place.threadId === undefined
    ? `${place.channel}:${place.chatId}`
    : `${place.channel}:${place.chatId}:${place.threadId}`;
}

/** User id of the sender, the same in every chat: `telegram:42`, `token:<id>`; `system` when no person wrote it. */
export function userIdOf({ channel, senderId }: Pick<InboundMessage, 'channel' | 'senderId'>): string {
  if (channel === 'system') return 'system';
  return channel === 'http' ? senderId : `${channel}:${senderId}`;
}

/** Source of a message's text when it is not the sender's own or others can write in the chat. */
export function sourceOf(message: InboundMessage): TextSource | undefined {
  if (message.channel === 'system' && message.senderId.startsWith('agent:')) return 'local';
  if (message.forwarded === true) return 'forwarded';
  if (message.place === 'group') return 'group';
  // The name of a file was chosen by whoever made the file, and the model reads it beside the text.
  return message.media.some(({ name }) => name !== undefined) ? 'local' : undefined;
}

/** Splits an address at its first colon, and the chat from its thread at the next. Throws `GatewayError('bad_address')`. */
export function parseAddress(address: string): Place {
  const first = address.indexOf(':');
  if (first <= 0 || first === address.length - 1) {
    throw new GatewayError(
      'bad_address',
      `"${address.slice(0, 80)}" is not an address: expected channel:chat_id.`,
    );
  }
  const channel = address.slice(0, first);
  const rest = address.slice(first + 1);
  const second = rest.indexOf(':');
  if (second <= 0) return { channel, chatId: rest };
  return { channel, chatId: rest.slice(0, second), threadId: rest.slice(second + 1) };
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
   * Moves the grant (also when it is `listed` in the configuration), the conversation and the schedules to the new id.
   * False when there is nothing to move, or it was moved before. A conversation that has begun under the new id stays as
   * it is.
   */
  moveChat(move: ChatMigration, listed: boolean): Promise<boolean>;
}

/** Moves everything of a chat to its new id; a repeated call changes nothing. Throws only `StoreError`. */
export type FollowChatMigration = (move: ChatMigration) => Promise<void>;
