/** The contract of plug-ins for channels: what a channel implements, and what goes in and out. Published with `plugin.ts`. */
/**
 * Throw this shape (any `Error` with these fields) where a platform refuses or fails. Any other error of a call counts
 * as `unavailable`. The message must contain no secret.
 * @public
 */
export interface PluginFailure extends Error {
  /**
   * `rate_limited` (with `retryAfterMs`); `blocked`: the person blocked the bot, or it was removed; `message_gone`: the
   * message to edit; `place_gone`: the thread, or the message replied to; `bad_markup`: send it plain; `chat_moved`
   * (with `movedTo`); `unauthorized`: the token; `conflict`: another process holds the connection; `unavailable`: not
   * applied, try again; `outcome_unknown`: it may be visible; `rejected`: for good, with the reason for people.
   */
  code:
    | 'rate_limited'
    | 'blocked'
    | 'message_gone'
    | 'place_gone'
    | 'bad_markup'
    | 'chat_moved'
    | 'unauthorized'
    | 'conflict'
    | 'unavailable'
    | 'outcome_unknown'
    | 'rejected';
  retryAfterMs?: number | undefined;
  /** The new id of the chat. */
  movedTo?: string | undefined;
}

/** A chat, and its thread. */
export interface PluginPlace {
  chatId: string;
  threadId?: string | undefined;
}

/** A message from a person. Ids are the platform's, of the transport and never from text. */
export interface PluginMessage extends PluginPlace {
  /** Unique for this message on this account, and the same when it is delivered again. */
  id: string;
  senderId: string;
  senderName?: string | undefined;
  /** Another bot wrote it. Leave out what this bot itself wrote. */
  fromBot?: boolean | undefined;
  content: string;
  /** Epoch milliseconds. */
  timestamp: number;
  /** `group` is every place where more than one person can write. */
  place: 'private' | 'group';
  /** In a group: the bot was named, replied to, or called. */
  mentioned: boolean;
  media?: readonly PluginMedia[] | undefined;
  /** What answers reply to, if they can. */
  messageId?: string | undefined;
  /** The message `messageId` has this text now. */
  isEdit?: true | undefined;
  quoted?: { by: 'bot' | 'sender' | 'other'; name?: string | undefined; text: string } | undefined;
  forwarded?: boolean | undefined;
  /** As the platform reports it: `de`. */
  language?: string | undefined;
  chatName?: string | undefined;
  /** The value of a pressed button; then there is no text. */
  button?: string | undefined;
  /** The message under which it was pressed. */
  buttonUnder?: PluginSent | undefined;
}

/** A file that came with a message: claims of its sender. */
export interface PluginMedia {
  /** `voice` was recorded for this chat. */
  kind: 'image' | 'audio' | 'voice' | 'video' | 'file';
  /** The plug-in's own reference, for `download`. */
  url: string;
  name?: string | undefined;
  mimeType?: string | undefined;
  bytes?: number | undefined;
  seconds?: number | undefined;
}

/** What became of a message. `reply` is for the person who pressed a button; nothing else needs to be shown. */
export interface PluginReceipt {
  kind: 'accepted' | 'duplicate' | 'handled' | 'refused';
  reply?: string | undefined;
}

/** A message of the bot on its platform; `metadata` is for the plug-in alone. */
export interface PluginSent {
  id: string;
  metadata?: Readonly<Record<string, string>> | undefined;
}

/** A text in the markup of `render`, and the same without markup. */
export interface PluginText {
  text: string;
  plain: string;
}

/** What `send` and `edit` put on screen. */
export interface PluginPart extends PluginPlace {
  body: PluginText;
  /** Send `body.plain` instead: the platform could not read the markup. */
  plain: boolean;
  replyTo?: string | undefined;
  buttons: readonly { label: string; value: string; style?: 'normal' | 'confirm' | 'danger' | undefined }[];
  /** The same for every attempt: a platform that supports it sends only once. */
  nonce: string;
}

/** A file to send as a message of its own. */
export interface PluginFile extends PluginPlace {
  kind: PluginMedia['kind'];
  name: string;
  mimeType: string;
  bytes: number;
  /** Absolute; the plug-in may read it until the call ends. */
  path: string;
  caption?: PluginText | undefined;
  replyTo?: string | undefined;
  nonce: string;
}

/** A request of the platform; header names are lower-case. */
export interface PluginWebhookRequest {
  method: string;
  /** With its leading `?`, or empty. */
  query: string;
  headers: Readonly<Record<string, string | readonly string[]>>;
  /** Exactly as it came, at most 1 MiB. */
  body: Uint8Array;
}

/** The answer to the platform. */
export interface PluginWebhookAnswer {
  /** 401 for a request that the platform did not sign: it counts like a wrong token. */
  status: number;
  headers?: Readonly<Record<string, string>> | undefined;
  body?: string | undefined;
}

/** The channel. Calls may come before `start` and on nodes that never start it; each ends within its limit or fails. */
export interface PluginChannel {
  /**
   * Whom the token belongs to; `id` is immutable and not secret: the channel receives on one node at a time. Present
   * unless the manifest has `webhook`: such a channel is started on every node.
   */
  identify?(signal: AbortSignal): Promise<{ id: string; name: string; readsAll?: boolean | undefined }>;
  /** Starts receiving and resolves once it receives; reconnects by itself until `stop`. */
  start(): Promise<void>;
  /** Stops receiving; may be called again. */
  stop(): Promise<void>;
  send(part: PluginPart): Promise<PluginSent>;
  /** Present iff `capabilities.edit`. The same text again is no error. */
  edit?(sent: PluginSent, part: PluginPart): Promise<PluginSent>;
  /** Present iff `capabilities.delete`. */
  delete?(sent: PluginSent, place: PluginPlace): Promise<void>;
  /** Present iff `capabilities.answerButtons`. */
  removeButtons?(sent: PluginSent, place: PluginPlace): Promise<void>;
  /** Present iff `capabilities.maxFileBytes`. */
  sendFile?(file: PluginFile): Promise<PluginSent>;
  /** Present if messages come with files. */
  download?(media: PluginMedia, signal: AbortSignal): Promise<Uint8Array | AsyncIterable<Uint8Array>>;
  /** Present iff `capabilities.typingMs`. */
  typing?(place: PluginPlace): Promise<void>;
  /** Shows a state on a question in place of the previous one; `none` removes it. Present iff `capabilities.reactions`. */
  react?(
    question: PluginPlace & { messageId: string },
    state: 'waiting' | 'working' | 'done' | 'failed' | 'none',
  ): Promise<void>;
  /** Whether the platform gives this person the rights of an administrator in a group. */
  isAdmin?(place: PluginPlace, senderId: string): Promise<boolean>;
  /** The newest `limit` messages of a thread before a message, or until now, oldest first. */
  before?(
    place: PluginPlace,
    messageId: string | undefined,
    limit: number,
  ): Promise<readonly PluginEarlier[]>;
  /** Present iff `webhook` in the manifest. Checks the signature first. */
  webhook?(request: PluginWebhookRequest): Promise<PluginWebhookAnswer>;
  /** For `parley doctor`: whether the token works and how the platform's switches are set. Changes nothing. */
  check?(signal: AbortSignal): Promise<readonly PluginFinding[]>;
}

/** A message of a thread. */
export interface PluginEarlier {
  id: string;
  senderId: string;
  senderName?: string | undefined;
  content: string;
  /** This bot wrote it. */
  isOwn: boolean;
}

/** One thing that was checked. No text contains a secret. */
export interface PluginFinding {
  subject: string;
  level: 'ok' | 'warning' | 'error';
  text: string;
  remedy?: string | undefined;
}
