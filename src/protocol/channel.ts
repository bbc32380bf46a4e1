/** Channels: adapters to one network each, and the manifests that describe them. */
import type { Root } from 'mdast';
import type { z } from 'zod';
import type { ChannelAccess, ChannelIds } from './access.ts';

import type {
  AnswerPlatform,
  ConnectionStore,
  PlatformInteractions,
  PlatformWebhook,
  Receive,
  UpdateStore,
} from './receive.ts';
import type { ChannelHealth, GatewayApi } from './gateway-api.ts';
import type { Log, SecretShape } from './log.ts';
import type { Media, MediaKind } from './media.ts';
import type { Button, InboundMessage, OutboundMessage, Place, SentMessage } from './message.ts';
import type { ReadSignIn } from './operator/sign-in.ts';
import type { AskedQuestion, DraftRules, RateLimits, StreamMode } from './delivery.ts';

import type { PageLanguages } from './texts/languages.ts';

/** What a channel can do. Declared, never guessed; the contract suite checks that it is implemented. */
export interface Capabilities {
  edit: boolean;
  delete: boolean;
  /** Undefined for a network without drafts. */
  draft: DraftRules | undefined;
  stream: StreamMode;
  typing: boolean;
  /** The chats in which questions get reactions that show their state. */
  reactions: readonly InboundMessage['place'][];
  buttons: boolean;
  /** A button can copy a text for the person who presses it. Absent = it cannot. */
  copyButtons?: boolean | undefined;
  /** Whoever presses a button can be shown a form. Absent = they cannot. */
  forms?: boolean | undefined;
  /** In a thread where the bot has answered, the person who asked need not name it again while no one else writes there. Absent = they must. */
  followUps?: boolean | undefined;
  /** Answers have their own buttons: Stop while they are written, Regenerate once they are complete. Absent = none. */
  answerButtons?: boolean | undefined;
  media: boolean;
  /** Largest file that `sendFile` accepts, in bytes; 0 without media. */
  maxFileBytes: number;
  /** Longest caption of a file, in the units of `Rendered.length`; 0 without media. */
  maxCaption: number;
  threads: boolean;
  /** Answers appear there only once they are complete, without thoughts: they are sent in a person's name. Absent = nowhere. */
  wholeOnly?: ((place: Place) => boolean) | undefined;
  /** Longest message, in the units of `Rendered.length`. */
  maxLength: number;
  rates: RateLimits;
  /** How long one `typing` call lasts, in milliseconds; 0 without typing. */
  typingMs: number;
}

/** A document in a channel's own markup. */
export interface Rendered {
  /** In the channel's markup, ready to send. */
  text: string;
  /** The same text without markup, for when the platform cannot parse `text`. */
  plain: string;
  /** What the platform counts against `maxLength` for `text` (Telegram: UTF-16 units after entity parsing, or the share of its marks in 100). */
  length: number;
  /** `text` is a message of the network's richer kind, from `renderWhole`. */
  rich?: true;
}

/** A whole answer. */
export interface WholeText {
  markdown: string;
  /** Parses Markdown in slices, so that a long text does not block anything else. */
  documentOf(markdown: string): Promise<Root>;
  /** It is still being written: the result is shown by `draft`. */
  grows?: true;
}

/** One message to put on screen: a piece of an answer that fits. */
export interface OutboundPart extends Place, Pick<OutboundMessage, 'onlyFor' | 'repliesHidden'> {
  body: Rendered;
  plain?: boolean;
  replyTo?: string | undefined;
  /** The message of the same answer before this one, if any. */
  after?: SentMessage | undefined;
  /** It is an agent's answer to a person, not a text of the gateway. */
  isAnswer?: boolean | undefined;
  buttons: Button[];
  /** The same for every attempt to send this part: platforms that support it use it to send only once. */
  nonce: string;
}

/** A file to put on screen, as a separate message. */
export interface OutboundFile extends Place {
  kind: MediaKind;
  name: string;
  mimeType: string;
  bytes: number;
  /** Absolute, on this node. */
  path: string;
  /** At most `capabilities.maxCaption` long. */
  caption?: Rendered | undefined;
  replyTo?: string | undefined;
  /** The message of the same answer before this one, if any. */
  after?: SentMessage | undefined;
  /** As in `OutboundPart`. */
  isAnswer?: boolean | undefined;
  nonce: string;
}

/** Who a bot token belongs to; `id` is immutable and not secret. */
export interface ChannelIdentity {
  id: string;
  name: string;
  /** False if the platform shows the bot only those group messages that are meant for it. */
  readsAll?: boolean | undefined;
  /** Private chats have threads, one for each conversation. */
  privateThreads?: boolean | undefined;
  /** Connections that the platform asks the bot to split its chats across; absent = one. */
  shards?: number | undefined;
}

/**
 * A refused bot token may be accepted again, so it is retried: as after any failure until it has been refused for
 * `DEAD_AFTER_MS`, when the channel becomes `dead`, and every `DEAD_INTERVAL_MS` from then on.
 */
export const DEAD_AFTER_MS = 600_000;
export const DEAD_INTERVAL_MS = 3_600_000;

/** The state of a question, as a reaction to it; `none` removes the reaction. */
export type QuestionState = 'waiting' | 'working' | 'done' | 'failed' | 'none';

/** A message of a thread; `isOwn`: this bot wrote it. */
export interface EarlierMessage extends Pick<
  InboundMessage,
  'senderId' | 'senderName' | 'content' | 'media' | 'forwarded'
> {
  /** As in `InboundMessage.messageId`. */
  id: string;
  isOwn: boolean;
}

/** An adapter to one network. Methods throw only `ChannelError`. */
export interface Channel {
  readonly name: string;
  /** The address it listens on, once it does; absent for a channel that does not open a port. */
  readonly url?: string | undefined;
  readonly capabilities: Capabilities;
  /** Where its platform posts updates; absent if it does not. Works without `start`: any node may receive them. */
  readonly webhook?: PlatformWebhook | undefined;
  /** Where its platform posts what people do with commands and buttons; absent if it does not. */
  readonly interactions?: PlatformInteractions | undefined;
  /** Who the token belongs to. A channel that has it receives on one node at a time, the owner of the lane `poll:<name>:<id>`, or of one for each shard. */
  identify?(signal: AbortSignal): Promise<ChannelIdentity>;
  /** Starts receiving, over one shard of several, and resolves once it receives. Reconnects until `stop`. */
  start(receive: Receive, shard?: Shard): Promise<void>;
  /** Stops receiving, over one shard or all, and closes what `start` opened; may be called again. Never throws. */
  stop(shard?: Shard): Promise<void>;
  /**
   * Sends a message, also without `start`, because any node may send. If the platform knows the nonce from an earlier
   * attempt, that message is returned and now shows this text.
   */
  send(part: OutboundPart): Promise<SentMessage>;
  /**
   * Sends a file as a message of its own, in the form of its kind or else as a plain file; works without `start`.
   * Throws `ChannelError('rejected')` if every form is refused. Present iff `capabilities.media`.
   */
  sendFile?(file: OutboundFile): Promise<SentMessage>;
  /** The bytes of a message's file, where there are any. Throws `ChannelError`, or `GatewayError('too_large')`. */
  download?(media: Media, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Replaces a message's text; the same text again is no error. Returns `sent`, or an object with the same id and what
   * the platform reveals only now (the real id of a deferred reply). Present iff `capabilities.edit`.
   */
  edit?(sent: SentMessage, part: OutboundPart): Promise<SentMessage>;
  /**
   * Deletes an own message, if it still exists. Throws `ChannelError('rejected')` if the platform keeps it (Telegram
   * after 48 hours). Present iff `capabilities.delete`.
   */
  delete?(sent: SentMessage, place: Place): Promise<void>;
  /** Present if a send may happen twice. */
  readonly lostSends?: LostSends | undefined;
  /** Removes the buttons under an own message and keeps its text. Present iff `capabilities.answerButtons`. */
  removeButtons?(sent: SentMessage, place: Place): Promise<void>;
  render(doc: Root): Rendered;
  /**
   * The whole answer as one richer message, if the network has them, the chat accepts them, and the answer benefits. If
   * the result is refused (`rejected`, `bad_markup`), use `render`. Never throws.
   */
  renderWhole?(place: Place, whole: WholeText): Promise<Rendered | undefined>;
  /**
   * Shows the text of a turn until its message arrives or `draft.keepMs` have passed; empty text shows that the bot is
   * thinking, text from `renderWhole` keeps its kind. Throws `ChannelError('rejected')` if there are no such drafts.
   * Present iff `capabilities.draft`.
   */
  draft?(place: Place, turnId: string, body: Rendered, plain: boolean): Promise<void>;
  /** Shows "typing…" for `capabilities.typingMs`. Present iff `capabilities.typing`. */
  typing?(place: Place): Promise<void>;
  /** Shows a state on a question, in place of the previous one. Present if `capabilities.reactions` names any chats. */
  react?(question: AskedQuestion, state: QuestionState): Promise<void>;
  /** A new thread of a chat; undefined if it has none, `no_right` if the bot may not. Throws `ChannelError`. */
  openThread?(chat: Place, name: string): Promise<Place | 'no_right' | undefined>;
  /**
   * What was written in a thread of a group before a message, or until now: the newest `limit` messages, oldest first,
   * the bot's own among them. Throws `ChannelError`.
   */
  before?(thread: Place, messageId: string | undefined, limit: number): Promise<EarlierMessage[]>;
  /** Whether the platform gives this person the rights of an administrator in a group. Throws `ChannelError`. */
  isAdmin?(place: Place, senderId: string): Promise<boolean>;
  /** Absent if its platform posts nothing, or to `webhook`. */
  readonly answerRequest?: AnswerPlatform | undefined;
  /** Who opens the page inside the network's app. Present if the settings offer it there. */
  readonly readSignIn?: ReadSignIn | undefined;
  /** Origins of the network's own web pages that show the page in a frame. Present if the settings offer it there. */
  readonly framedBy?: readonly string[] | undefined;
  health(): ChannelHealth;
}

/** What sends with lost responses may have left on screen, on a network without nonces. In memory only. */
export interface LostSends {
  /**
   * Messages that a lost send with this nonce may have left: unexplained ones after it and before its replacement
   * `sent`. Few; oldest first.
   */
  copiesOf(nonce: string, sent: SentMessage): SentMessage[];
  forgetNonce(nonce: string): void;
}

/** Dependencies of every channel. */
export interface ChannelDeps {
  log: Log;
  gateway: GatewayApi;
  connections: ConnectionStore;
  updates: UpdateStore;
  chatSettings: ChatSettingStore;
  keys: KeyStore;
  /** The channel's current access rules; undefined for one without its own user ids. */
  access: () => ChannelAccess | undefined;
  /** The languages of the gateway's texts, and which of them each person reads. */
  languages: PageLanguages;
  owners: () => Promise<readonly string[]>;
  /** Opens the channel of an installed plug-in; absent where there can be none. Throws `GatewayError`. */
  openPlugin?: ((name: string, deps: ChannelDeps) => Promise<Channel>) | undefined;
}

/**
 * A network before its code is loaded. `channels/<name>/manifest.ts` exports it as `manifest` and imports no vendor's
 * package. Only `create` throws.
 */
export interface ChannelManifest<
  Env extends z.ZodObject = z.ZodObject,
  Settings extends z.ZodObject = z.ZodObject,
> {
  /** First part of the channel's addresses: a lower-case letter, then letters and digits. */
  readonly name: string;
  readonly label: string;
  /** The variable that switches the channel on, or `nothing`. */
  readonly needs: string;
  /** The page where its token is made; absent where each server has its own. */
  readonly tokenPage?: string;
  /** A command as people write it there, such as `!stop` where clients intercept text starting with `/`. Pure. */
  readonly writeCommand: (name: string, place: Pick<Place, 'threadId'>) => string;
  /** Variables without which `needs` is useless, each with the question of `parley init`. */
  readonly alsoNeeds?: Readonly<Record<string, string>>;
  /** Its environment variables, all optional or with a default: the channel may be off. */
  readonly env: Env;
  /** `channels.<name>` in `config.json`; every field has a default. */
  readonly settings: Settings;
  /** Absent for a network without its own user ids, whose callers use the gateway's tokens. */
  readonly ids?: ChannelIds;
  /** Shapes of this network's secrets, for the log's redactor: it also finds those that are not configured. */
  readonly secretShapes: readonly SecretShape[];
  isOn(env: z.output<Env>): boolean;
  /** The values in the environment that must not appear in the log. */
  secrets(env: z.output<Env>): readonly (string | undefined)[];
  /**
   * For `parley doctor` and `parley init`: whether the platform accepts the token and how its switches are set. Changes
   * nothing; never throws. Absent if there is nothing to check.
   */
  check?(
    configured: { env: z.output<Env>; settings: z.output<Settings>; access: ChannelAccess | undefined },
    context: CheckContext,
  ): Promise<Finding[]>;
  /** Loads the channel's code and makes it; nothing is opened before its `start`. Throws `GatewayError`. */
  create(
    configured: { env: z.output<Env>; settings: z.output<Settings> },
    deps: ChannelDeps,
  ): Promise<Channel>;
}

/** Returns the manifest unchanged; it infers the types of `env` and `settings` for the manifest's methods. */
export function defineChannel<Env extends z.ZodObject, Settings extends z.ZodObject>(
  manifest: ChannelManifest<Env, Settings>,
): ChannelManifest<Env, Settings> {
  return manifest;
}

/** One of the connections that a bot's chats are split across: `id` counts from 0. */
export interface Shard {
  id: number;
  count: number;
}

/** A change that `parley doctor --fix` may make: it loses nothing that anyone wrote. */
interface Fix {
  /** What is done, such as "Removed the webhook". */
  done: string;
  /** Throws `GatewayError` or an error of the file system. */
  apply: () => Promise<void>;
}

/** One thing that was checked. No text contains a secret. */
export interface Finding {
  /** What was checked, in a word or two. */
  subject: string;
  /** `error`: something does not work; `warning`: it works, but should be changed. */
  level: 'ok' | 'warning' | 'error';
  text: string;
  /** The command or setting that fixes it. */
  remedy?: string | undefined;
  fix?: Fix | undefined;
}

/** What a check of a channel gets. */
export interface CheckContext {
  signal: AbortSignal;
  /** A gateway is currently running with this home. */
  running: boolean;
}

/** Rows by the address of a chat, for some with its topic, or by a person's user id. Throws only `StoreError`. */
export interface ChatSettingStore {
  /** Undefined if nothing is stored, and once it has expired. */
  chatSetting(chat: string, name: string): Promise<string | undefined>;
  /** Undefined removes it; with `forMs` it expires after that many milliseconds. */
  setChatSetting(chat: string, name: string, value: string | undefined, forMs?: number): Promise<void>;
}

/**
 * The keys of a device that encrypts: records under its name, which any node may change. Values arrive sealed. Throws only
 * `StoreError`.
 */
export interface KeyStore {
  /** 0 without records. */
  version(device: string): Promise<number>;
  records(device: string): Promise<{ version: number; records: ReadonlyMap<string, Uint8Array> }>;
  /** Stores all changes or none; undefined removes a record. False if the version is no longer this one; else it is one higher. */
  changeKeys(
    device: string,
    version: number,
    changes: ReadonlyMap<string, Uint8Array | undefined>,
  ): Promise<boolean>;
}
