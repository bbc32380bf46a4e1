/** What a channel is: a door to one network that can receive, send and perhaps edit. */
import type { Root } from 'mdast';
import type { GatewayApi } from './gateway-api.ts';
import type { ChannelHealth } from './gateway-api.ts';
import type { Log } from './log.ts';
import type { Button, Place, SentMessage } from './message.ts';
import type { Receive } from './receive.ts';

/** Declared, never guessed; what is declared true is implemented (the contract suite compares). */
export interface Capabilities {
  edit: boolean;
  draft: boolean;
  typing: boolean;
  reactions: boolean;
  buttons: boolean;
  media: boolean;
  threads: boolean;
  /** Longest message, in the units of `Rendered.length`. */
  maxLength: number;
  /** Least time between two edits in one chat, in milliseconds: a number the network owns. */
  editIntervalMs(chatId: string): number;
  /** How long one `typing` call lasts, in milliseconds; 0 without typing. */
  typingMs: number;
}

/** A document in a channel's own markup. */
export interface Rendered {
  /** In the channel's markup, ready to send. */
  text: string;
  /** The same words without markup, for when the platform cannot parse `text`. */
  plain: string;
  /** What the platform counts against `maxLength` for `text` (Telegram: UTF-16 units after entity parsing). */
  length: number;
}

/** One message to put on screen: a piece of an answer that fits. */
export interface OutboundPart extends Place {
  body: Rendered;
  /** Send `body.plain` without markup. */
  plain?: boolean;
  replyTo?: string | undefined;
  buttons: Button[];
  /** The same for every attempt to send this part: a platform that can uses it to send only once. */
  nonce: string;
}

/** Who a bot token belongs to; `id` is immutable and not secret. */
export interface ChannelIdentity {
  id: string;
  name: string;
}

/** A door to one network. Methods throw only `ChannelError`. */
export interface Channel {
  readonly name: string;
  readonly capabilities: Capabilities;
  /** Who the token belongs to. A channel that has it is led through the lane `poll:<name>:<id>`: one node at a time receives. */
  identify?(signal: AbortSignal): Promise<ChannelIdentity>;
  /** Begins to receive; resolves once receiving has begun. Supervises its own reconnects until `stop`. */
  start(receive: Receive): Promise<void>;
  /** Ends receiving and closes what `start` opened; twice is fine. Never throws. */
  stop(): Promise<void>;
  /** Puts a new message on screen. Works without `start`: any node may send. */
  send(part: OutboundPart): Promise<SentMessage>;
  /** Replaces a message's text; the same text twice is no error. Present iff `capabilities.edit`. */
  edit?(sent: SentMessage, part: OutboundPart): Promise<void>;
  /** Pure: the document in this channel's markup. */
  render(doc: Root): Rendered;
  /** Shows "typing…" for `capabilities.typingMs`. Present iff `capabilities.typing`. */
  typing?(place: Place): Promise<void>;
  health(): ChannelHealth;
}

/** What every channel is made with. */
export interface ChannelDeps {
  log: Log;
  gateway: GatewayApi;
}
