/** Settings that several channels have: each describes them in its own words. */
import { z } from 'zod';
import type { Capabilities } from './channel.ts';
import type { InboundMessage } from './message.ts';

/** Longest setting of an edit interval, in milliseconds: with a longer one a reply would not visibly grow. */
export const MAX_EDIT_INTERVAL_MS = 60_000;

/** Minimum time between two edits of a growing answer in one place, in milliseconds. */
export function editInterval(usualMs: number, description: string) {
  return z.int().min(1).max(MAX_EDIT_INTERVAL_MS).default(usualMs).describe(description);
}

/** Whether questions get reactions that show their state: usually only in groups. */
export function reactionSettings(descriptions: { private: string; group: string }) {
  return z
    .strictObject({
      private: z.boolean().default(false).describe(descriptions.private),
      group: z.boolean().default(true).describe(descriptions.group),
    })
    .prefault({});
}

/** In which chats questions get them. */
export type ReactionSettings = z.infer<ReturnType<typeof reactionSettings>>;

/** Whether the person who asked need not name the bot again; `where` is a thread as the network calls it. */
export function followUpSetting(where: string) {
  return z
    .boolean()
    .default(true)
    .describe(
      `in ${where} where the bot has answered, whoever asked need not name it again until someone else writes`,
    );
}

/** How many calls per second a whole bot makes: at first, and at most. Neither may be set below `least`. */
export function paceSettings(
  { least = 1, start, most }: { least?: number; start: number; most: number },
  descriptions: { start: string; most: string },
) {
  const perSecond = z.number().min(least).max(1_000);
  return z
    .strictObject({
      start: perSecond.default(start).describe(descriptions.start),
      most: perSecond.default(most).describe(descriptions.most),
    })
    .prefault({});
}

/** Calls per second of a whole bot: at first, and at most. */
export type PaceSettings = z.infer<ReturnType<typeof paceSettings>>;

/** The checked settings of how a channel shows answers and questions in its chats. */
export interface ShowingSettings {
  /** Minimum time between two edits in one chat, in milliseconds. */
  editIntervalMs: number;
  burst: number;
  reactions: ReactionSettings;
  /** In Telegram, whose bots cannot read back, absent. */
  followUps?: boolean;
}

/** Clocks and waits of a channel, in milliseconds. */
export interface ChannelTiming {
  epochNow: () => number;
  /** The clock that measures every wait: `epochNow` may be set back. */
  monotonicMs: () => number;
  /** Before the first new attempt after a failed connection. */
  retryBaseMs: number;
  /** A file that delivers nothing for this long is aborted. */
  silenceMs: number;
}

export const CHANNEL_TIMING: ChannelTiming = {
  epochNow: Date.now,
  monotonicMs: () => performance.now(),
  retryBaseMs: 1_000,
  silenceMs: 30_000,
};

/** What a channel states: its longest message and its rates always, anything else where it differs. */
type StatedCapabilities = Pick<Capabilities, 'maxLength' | 'rates'> &
  Partial<Omit<Capabilities, 'typing' | 'media' | 'reactions'>> & {
    /** The chats in which questions get reactions that show their state; default: none. */
    reactsIn?: Readonly<Record<InboundMessage['place'], boolean>>;
  };

/**
 * The capabilities of a channel. By default its messages can be edited and deleted and have buttons, its chats have
 * threads, answers grow by edits, and there are no drafts; it sends files and shows typing if it states `maxFileBytes`
 * and `typingMs`, with captions as long as a message.
 */
export function usualCapabilities({ reactsIn, ...stated }: StatedCapabilities): Capabilities {
  const { maxLength, maxFileBytes = 0, typingMs = 0 } = stated;
  return {
    edit: true,
    delete: true,
    draft: undefined,
    stream: 'edit',
    typing: typingMs > 0,
    reactions: (['private', 'group'] as const).filter((place) => reactsIn?.[place] === true),
    buttons: true,
    media: maxFileBytes > 0,
    maxCaption: maxFileBytes > 0 ? maxLength : 0,
    threads: true,
    ...stated,
    maxFileBytes,
    typingMs,
  };
}
