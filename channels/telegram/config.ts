/** The settings of Telegram. */
import type { StreamMode } from '../../src/protocol/delivery.ts';
import type { ReactionSettings } from '../../src/protocol/channel-settings.ts';
import type { WebhookConfig } from './receiving/webhook.ts';

/** Settings of the channel, checked by its manifest. */
export interface TelegramConfig {
  /** Secret. */
  token: string;
  /** Address of a self-hosted Bot API server; Telegram's by default. */
  apiRoot?: string | undefined;
  /** If set, Telegram posts updates, and the channel does not poll. */
  webhook?: WebhookConfig | undefined;
  /** Minimum time between two edits in one chat, in milliseconds. */
  editIntervalMs: PerKind;
  /** Whether answers that benefit from it are sent as rich messages. */
  richMessages: 'auto' | 'off';
  /** How answers appear in chats that have not chosen a mode. */
  stream: StreamMode;
  /** Minimum time between two drafts in one chat, in milliseconds. */
  draftIntervalMs: number;
  /** Maximum burst of calls in a chat. */
  burst: PerKind;
  /** How many of these calls are reserved for finals. */
  reservedForFinals: PerKind;
  /** Where the bot reacts to questions. */
  reactions: ReactionSettings;
  /** Maximum number of calls in one group in any minute. */
  groupCallsPerMinute: number;
  /** Calls per second of the whole bot: at first, and at most. */
  callsPerSecond: { start: number; usual: number; most: number };
}

/** A setting for private chats, and for groups and channels. */
interface PerKind {
  private: number;
  group: number;
}
