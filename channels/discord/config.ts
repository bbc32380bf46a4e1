/** The settings of Discord. */
import type { ThreadSettings } from './threads/question-threads.ts';

/** Settings of the channel, checked by its manifest. */
export interface DiscordConfig {
  /** Secret. */
  token: string;
  /** Another server that implements Discord's API, without a version; Discord's own by default. */
  apiRoot?: string | undefined;
  /** Minimum time between two edits in one channel or thread, in milliseconds. */
  editIntervalMs: number;
  /** Maximum burst of calls there. */
  burst: number;
  /** Maximum number of calls there in any five seconds. */
  callsPer5Seconds: number;
  /** How much of both is reserved for finals. */
  reservedForFinals: number;
  /** Calls per second of the whole bot: at first, and at most. */
  callsPerSecond: { start: number; most: number };
  /** Answers have the buttons Stop and Regenerate. */
  answerButtons: boolean;
  /** Where the bot reacts to questions. */
  reactions: { private: boolean; group: boolean };
  /** Where each question gets its own thread. */
  threads: ThreadSettings;
}
