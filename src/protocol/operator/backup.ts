/** Backups: their settings, what one is made of, and what a gateway reports about those it writes by itself. */
import { z } from 'zod';
import type { SessionKey } from '../message.ts';

/** The field `backup`. */
export const backupRule = z.strictObject({
  daily: z
    .boolean()
    .optional()
    .describe(
      'write a [backup](operating.md#daily-backups) into the folder `backups` of `GATEWAY_HOME` once a day; unset = only with the embedded database',
    ),
  keep: z.int().min(1).max(365).default(7).describe('how many daily backups stay; older ones are deleted'),
});

/** What a gateway reports about its daily backups. */
export interface BackupState {
  /** When the newest one in its home was written (ISO 8601); undefined while there is none. */
  at?: string | undefined;
  /** Why the last attempt failed; undefined after one that succeeded. */
  error?: string | undefined;
}

/** What a backup is made of, in this order: one head, tables with their rows, files with their bytes, one end. */
export type BackupRecord =
  /** `migrations` are the migrations of its tables. */
  | { type: 'head'; version: string; migrations: number[]; madeAt: string }
  /** The rows that follow have the values of these columns. */
  | { type: 'table'; table: string; columns: string[] }
  /** Values as Postgres writes them as text. */
  | { type: 'rows'; rows: (string | null)[][] }
  /** A file of the home, by its path there; its bytes follow. */
  | { type: 'file'; path: string; mode: number }
  | { type: 'bytes'; base64: string }
  | { type: 'end'; sha256: string };

/** How much was stored. */
export interface BackupSize {
  rows: number;
  files: number;
}

/** Folder in the home that contains the folders of sessions. */
export const SESSIONS_FOLDER = 'workspace/sessions';

/** Folder in the home for backups, which is not part of one. */
export const BACKUPS_FOLDER = 'backups';

/** The field `retention`. */
export const retentionRule = z.strictObject({
  // Not below the week for which platforms may repeat a message, and dead letters may be queued again.
  messagesDays: z
    .int()
    .min(7)
    .max(36_500)
    .optional()
    .describe(
      'days after which messages are deleted, with everything their turns left behind, and sessions that no one has used in that time, with their files; pinned sessions stay; unset = never',
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
  /** Sessions unused for that many days, unless they are pinned, have a schedule left, or are running or waiting. */
  idleSessions(days: number, limit: number): Promise<SessionKey[]>;
  /** Deletes such a session with everything in it; false, without a change, if it has been used in the meantime. */
  deleteIdle(key: SessionKey, days: number): Promise<boolean>;
  /**
   * Deletes up to `limit` turns that ended before that many days, of sessions that are not pinned, with all that belongs to
   * them; returns their number. Turns with a plan stay as long as their session.
   */
  purgeTurns(days: number, limit: number): Promise<number>;
}
