/** The settings of Discord, and the channel's clocks and waits. */
import { z } from 'zod';
import {
  CHANNEL_TIMING,
  type ChannelTiming,
  editInterval,
  followUpSetting,
  paceSettings,
  reactionSettings,
} from '../../src/protocol/channel-settings.ts';
import { pause } from '../../src/lib/async/sleep.ts';

/** An id on Discord. */
export const SNOWFLAKE = /^\d{1,20}$/;

/** `channels.discord` of config.json. */
export const settings = z.strictObject({
  editIntervalMs: editInterval(
    1_200,
    'minimum milliseconds between two edits of a growing answer in one channel or thread',
  ),
  burst: z
    .int()
    .min(1)
    .max(100)
    .default(3)
    .describe('first messages and final texts that may go out at once in a channel or thread'),
  /** Discord allows about five sends and five edits in five seconds. */
  callsPer5Seconds: z
    .int()
    .min(1)
    .max(100)
    .default(5)
    .describe('maximum messages and edits in one channel or thread in any five seconds'),
  reservedForFinals: z.int().min(0).max(100).default(1).describe('how many of both only final texts may use'),
  /** Discord allows a bot fifty calls a second; some of them do not come from answers. */
  callsPerSecond: paceSettings(
    { start: 45, most: 48 },
    {
      start: 'calls a second of the whole bot at first',
      most: 'what it may rise to while calls wait and Discord refuses none',
    },
  ),
  answerButtons: z
    .boolean()
    .default(true)
    .describe('a Stop button under a growing answer, and Regenerate under a finished one'),
  reactions: reactionSettings({
    private:
      'show at a question in a direct message that it waits ⏳, is worked on 👀, was answered ✅ or failed ❌',
    group: 'the same in a channel of a server',
  }),
  followUps: followUpSetting('a thread'),
  threads: z
    .strictObject({
      all: z.boolean().default(false).describe('open a thread for each question in a channel of a server'),
      channels: z
        .record(z.string().regex(SNOWFLAKE), z.boolean())
        .default({})
        .describe('the same for single channels, by their ids; takes precedence'),
    })
    .prefault({}),
});

/** The settings with what comes from the environment. */
export interface DiscordConfig extends z.output<typeof settings> {
  /** Secret. */
  token: string;
  /** Another server that implements Discord's API, without a version; Discord's own by default. */
  apiRoot?: string | undefined;
}

/** The channel's clocks and waits, in milliseconds. */
export interface DiscordTiming extends ChannelTiming {
  /** Waits this many milliseconds, or until the signal aborts. Never rejects. */
  pause: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Between two identifies. Discord accepts one per 5 seconds. */
  identifySpacingMs: number;
  /** Between two writes of how far the events of the gateway are stored. */
  saveEveryMs: number;
  /** Between two calls that read missed messages: sending shares Discord's limit of 50 calls a second. */
  historySpacingMs: number;
  /** Longest wait for a gateway connection to close. */
  closeMs: number;
  /** How long a commit may take before a slash command is deferred without waiting for it; Discord waits 3 seconds. */
  deferAfterMs: number;
}

export const TIMING: DiscordTiming = {
  ...CHANNEL_TIMING,
  pause,
  // A second and a half more than Discord asks for: a busy machine may send the frame late after it was counted.
  identifySpacingMs: 6_500,
  saveEveryMs: 2_000,
  historySpacingMs: 100,
  closeMs: 2_000,
  deferAfterMs: 1_500,
};
