/** The settings of Discord. */
import type { PaceSettings, ShowingSettings } from '../../src/protocol/channel-settings.ts';
import type { ThreadSettings } from './threads/question-threads.ts';

/** Settings of the channel, checked by its manifest. */
export interface DiscordConfig extends ShowingSettings {
  /** Secret. */
  token: string;
  /** Another server that implements Discord's API, without a version; Discord's own by default. */
  apiRoot?: string | undefined;
  /** Maximum number of calls in one channel or thread in any five seconds. */
  callsPer5Seconds: number;
  /** How much of the burst and of these calls is reserved for finals. */
  reservedForFinals: number;
  /** Calls of the whole bot. */
  callsPerSecond: PaceSettings;
  /** Answers have the buttons Stop and Regenerate. */
  answerButtons: boolean;
  /** Where each question gets its own thread. */
  threads: ThreadSettings;
}
