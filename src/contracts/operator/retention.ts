/** What is deleted because of its age, according to `retention` in `config.json`. */
import { z } from 'zod';
import type { SessionKey } from '../message.ts';

/** The field `retention`. */
export const retentionRule = z.strictObject({
  // Not below the week for which platforms may repeat a message, and dead letters may be queued again.
  messagesDays: z
    .int()
    .min(7)
    .max(36_500)
    .optional()
    .describe(
      'days after which messages are deleted, with all that turns left behind, and sessions that nobody has used meanwhile, with their files; pinned sessions stay; unset = never',
    ),
  tracesDays: z
    .int()
    .min(1)
    .max(90)
    .default(7)
    .describe('days for which the command `trace` and `/why` know what happened in a turn'),
});
export type Retention = z.infer<typeof retentionRule>;

/** Throws only `StoreError`. */
export interface RetentionStore {
  /**
   * Sessions that were last used more than that many days ago, are not pinned, have no schedule left, and are neither
   * running nor waiting.
   */
  idleSessions(days: number, limit: number): Promise<SessionKey[]>;
  /**
   * Deletes such a session with everything that belongs to it; false for one that has been used in the meantime, which
   * stays.
   */
  deleteIdle(key: SessionKey, days: number): Promise<boolean>;
  /**
   * Deletes up to `limit` turns that ended more than that many days ago, of sessions that are not pinned, with their
   * messages and what the model knows of them; returns their number. Turns with a plan stay as long as their session.
   */
  purgeTurns(days: number, limit: number): Promise<number>;
}
