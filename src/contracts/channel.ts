/** Channels: adapters to one network each, and the manifests that describe them. */
import type { Root } from 'mdast';
import type { z } from 'zod';
import type { ChannelAccess, ChannelIds } from './access.ts';
import type { Shard } from './platform/shard.ts';
import type { ConnectionStore, PlatformInteractions, PlatformWebhook, Receive } from './receive.ts';
import type { ChannelHealth, GatewayApi } from './gateway-api.ts';
import type { Log, SecretShape } from './log.ts';
import type { Media, MediaKind } from './media.ts';
import type { Button, InboundMessage, OutboundMessage, Place, SentMessage } from './message.ts';
import type { AskedQuestion, DraftRules, RateLimits, StreamMode } from './delivery.ts';
import type { CheckContext, Finding } from './operator/findings.ts';
import type { ChatSettingStore } from './store/chat-settings.ts';
import type { UpdateStore } from './store/updates.ts';
import type { PageLanguages } from './texts/languages.ts';

/** What a channel can do. Declared, never guessed; the contract suite checks that it is implemented. */
export interface Capabilities {
  edit: boolean;
  /** Own messages can be taken away. */
  delete: boolean;
  /** Undefined for a network without drafts. */
  draft: DraftRules | undefined;
  /** How answers appear in chats that have chosen nothing. */
  stream: StreamMode;
  typing: boolean;
  /** The chats in which questions get signs of what becomes of them. */
  reactions: readonly InboundMessage['place'][];
  buttons: boolean;
  /** A button can copy a text for whoever presses it. Absent = it cannot. */
  copyButtons?: boolean | undefined;
  /** Answers have buttons of their own: Stop while they grow, Regenerate once they are there. Absent = none. */
  answerButtons?: boolean | undefined;
  /** Files can be sent. */
  media: boolean;
  /** Largest file that `sendFile` takes, in bytes; 0 without media. */
  maxFileBytes: number;
  /** Longest caption of a file, in the units of `Rendered.length`; 0 without media. */
  maxCaption: number;
  threads: boolean;
  /** Longest message, in the units of `Rendered.length`. */
  maxLength: number;
  /** How often the network takes calls. */
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
  /** What the platform counts against `maxLength` for `text` (Telegram: UTF-16 units after entity parsing). */
  length: number;
  /** `text` is a message of the network's richer kind, from `renderWhole`. */
  rich?: true;
}

/** A whole answer. */
export interface WholeText {
  markdown: string;
  /** Parses Markdown in slices, so that a long text holds nothing else up. */
  documentOf(markdown: string): Promise<Root>;
}

/** One message to put on screen: a piece of an answer that fits. */
export interface OutboundPart extends Place, Pick<OutboundMessage, 'onlyFor' | 'repliesHidden'> {
  body: Rendered;
  /** Send `body.plain` without markup. */
  plain?: boolean;
  replyTo?: string | undefined;
  /** The message of the same answer before this one, if any. */
  after?: SentMessage | undefined;
  buttons: Button[];
  /** The same for every attempt to send this part: platforms that support it use it to send only once. */
  nonce: string;
}

/** A file to put on screen, as a message of its own. */
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
  nonce: string;
}

/** Who a bot token belongs to; `id` is immutable and not secret. */
export interface ChannelIdentity {
  id: string;
  name: string;
  /** False where the platform shows the bot only those messages of groups that are meant for it. */
  readsAll?: boolean | undefined;
  /** Private chats have threads, one for each conversation. */
  privateThreads?: boolean | undefined;
  /** Connections that the platform asks the bot to divide its chats among; absent = one. */
  shards?: number | undefined;
}

/**
 * A platform that refuses the bot token may accept it again, so a channel goes on asking: like after any failure until the
 * token was refused for `DEAD_AFTER_MS`, when the channel is `dead`, and every `DEAD_INTERVAL_MS` from then on.
 */
export const DEAD_AFTER_MS = 600_000;
export const DEAD_INTERVAL_MS = 3_600_000;

/** What becomes of a question, as a sign at it; `none` takes the sign away. */
export type QuestionState = 'waiting' | 'working' | 'done' | 'failed' | 'none';

/** An adapter to one network. Methods throw only `ChannelError`. */
export interface Channel {
  readonly name: string;
  /** Where it listens, once it does; absent for a channel that opens no port. */
  readonly url?: string | undefined;
  readonly capabilities: Capabilities;
  /** Where its platform posts updates; absent where it does not. Works without `start`: any node may take them. */
  readonly webhook?: PlatformWebhook | undefined;
  /** Where its platform posts what people do with commands and buttons; absent where it does not. */
  readonly interactions?: PlatformInteractions | undefined;
  /** Who the token belongs to. A channel that has it receives on one node at a time, the owner of the lane `poll:<name>:<id>`, or of one for each shard. */
  identify?(signal: AbortSignal): Promise<ChannelIdentity>;
  /** Begins to receive, over one shard where there are several; resolves once receiving has begun. Supervises its own reconnects until `stop`. */
  start(receive: Receive, shard?: Shard): Promise<void>;
  /** Ends receiving, over one shard or altogether, and closes what `start` opened; twice is fine. Never throws. */
  stop(shard?: Shard): Promise<void>;
  /**
   * Puts a new message on screen. Works without `start`: any node may send. Where the platform knows the nonce from an
   * earlier attempt, that message is the answer and shows this text now.
   */
  send(part: OutboundPart): Promise<SentMessage>;
  /**
   * Puts a file on screen as a message of its own, as its kind asks or, where the platform refuses it so, as a plain file.
   * Works without `start`. Throws `ChannelError('rejected')` for a file that the platform refuses in every form.
   * Present iff `capabilities.media`.
   */
  sendFile?(file: OutboundFile): Promise<SentMessage>;
  /**
   * The bytes of a file that came with a message. Present where messages bring files. Throws `ChannelError`, or
   * `GatewayError('too_large')`.
   */
  download?(media: Media, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Replaces a message's text; the same text twice is no error. Gives `sent` itself, or another object with the same id
   * and what the platform tells only now (the real id of a deferred reply). Present iff `capabilities.edit`.
   */
  edit?(sent: SentMessage, part: OutboundPart): Promise<SentMessage>;
  /**
   * Takes an own message away; one that is gone already is no error. Throws `ChannelError('rejected')` for one that the
   * platform keeps (Telegram's are deleted for 48 hours). Present iff `capabilities.delete`.
   */
  delete?(sent: SentMessage, place: Place): Promise<void>;
  /** Present where a send may be made twice. */
  readonly lostSends?: LostSends | undefined;
  /** Takes the buttons under an own message away and leaves its text. Present iff `capabilities.answerButtons`. */
  removeButtons?(sent: SentMessage, place: Place): Promise<void>;
  /** Pure: the document in this channel's markup. */
  render(doc: Root): Rendered;
  /**
   * The whole answer as one message of a richer kind, where the network has one, the chat takes it, and the answer gains by it;
   * undefined otherwise. A refusal (`rejected`, `bad_markup`) of what it gives means that `render` must do. Never throws.
   */
  renderWhole?(place: Place, whole: WholeText): Promise<Rendered | undefined>;
  /**
   * Shows the text of a turn in place of the message to come, until that comes or `draft.keepMs` are over; an empty one
   * shows that the bot thinks. Throws `ChannelError('rejected')` where there are no drafts after all. Present iff `capabilities.draft`.
   */
  draft?(place: Place, turnId: string, body: Rendered, plain: boolean): Promise<void>;
  /** Shows "typing…" for `capabilities.typingMs`. Present iff `capabilities.typing`. */
  typing?(place: Place): Promise<void>;
  /** Shows a state at a question, in place of the one before. Present where `capabilities.reactions` names any chats. */
  react?(question: AskedQuestion, state: QuestionState): Promise<void>;
  /** Opens a thread for a new conversation of a chat; undefined where it has none, `no_right` where the bot may open none. Throws `ChannelError`. */
  openThread?(chat: Place, name: string): Promise<Place | 'no_right' | undefined>;
  /** Whether the platform gives this person the rights of an administrator in a group. Throws `ChannelError`. */
  isAdmin?(place: Place, senderId: string): Promise<boolean>;
  health(): ChannelHealth;
}

/** What sends may have left on screen whose answers were lost, on a network that knows no nonces. In memory only. */
export interface LostSends {
  /**
   * Messages that may be what a lost send with this nonce has left: they came after it and before `sent`, which was sent in its place,
   * and nothing else is known of them. Few; oldest first.
   */
  copiesOf(nonce: string, sent: SentMessage): SentMessage[];
  /** There is nothing left to find. */
  forget(nonce: string): void;
}

/** Dependencies of every channel. */
export interface ChannelDeps {
  log: Log;
  gateway: GatewayApi;
  connections: ConnectionStore;
  updates: UpdateStore;
  chatSettings: ChatSettingStore;
  /** The channel's access rules as they are now; undefined for one without user ids of its own. */
  access: () => ChannelAccess | undefined;
  /** The languages of the gateway's texts, and which of them people read. */
  languages: PageLanguages;
  /** Ids of the channel's owners as they are now. Throws `StoreError`. */
  owners: () => Promise<readonly string[]>;
}

/** Longest setting of an edit interval, in milliseconds: with a longer one a reply would not visibly grow. */
export const MAX_EDIT_INTERVAL_MS = 60_000;

/**
 * A network as the gateway knows it before any of its code is loaded. `channels/<name>/manifest.ts` exports one as
 * `manifest` and imports no vendor's package. Only `create` throws.
 */
export interface ChannelManifest<
  Env extends z.ZodObject = z.ZodObject,
  Settings extends z.ZodObject = z.ZodObject,
> {
  /** First part of the channel's addresses: a lower-case letter, then letters and digits. */
  readonly name: string;
  /** The network's name as people write it. */
  readonly label: string;
  /** The variable that switches the channel on, or `nothing`. */
  readonly needs: string;
  /** A command as people write it there, such as `!stop` where clients keep what begins with `/` to themselves. Pure. */
  readonly writeCommand: (name: string, place: Pick<Place, 'threadId'>) => string;
  /** Variables without which `needs` is of no use, each with the question of `parley init`. */
  readonly alsoNeeds?: Readonly<Record<string, string>>;
  /** Its environment variables, all optional or with a default: the channel may be off. */
  readonly env: Env;
  /** `channels.<name>` in `config.json`; every field has a default. */
  readonly settings: Settings;
  /** What these settings mean in German, by their paths: `{ 'limits.perUser': '…' }`. In English they describe themselves. */
  readonly german?: Readonly<Record<string, string>>;
  /** Absent for a network without user ids of its own, whose callers use the gateway's tokens. */
  readonly ids?: ChannelIds;
  /** Shapes of this network's secrets, for the log's redactor: it also finds those that are not configured. */
  readonly secretShapes: readonly SecretShape[];
  isOn(env: z.output<Env>): boolean;
  /** The values in the environment that must not appear in the log. */
  secrets(env: z.output<Env>): readonly (string | undefined)[];
  /**
   * For `parley doctor` and `parley init`, of a channel that is on: whether the platform takes the token and what its switches
   * are. Changes nothing; never throws. Absent where there is nothing to look at.
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

/** Gives the manifest back unchanged; it infers the types of `env` and `settings` for the manifest's methods. */
export function defineChannel<Env extends z.ZodObject, Settings extends z.ZodObject>(
  manifest: ChannelManifest<Env, Settings>,
): ChannelManifest<Env, Settings> {
  return manifest;
}
