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
