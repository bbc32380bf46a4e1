/** Backups: their file, the files of the home in it, and those that a gateway writes by itself. */
export { createDailyBackups, newestBackup } from './daily.ts';
export type { DailyBackups } from './daily.ts';
export { readBackup, writeBackup } from './file.ts';
export { homeFiles } from './home-files.ts';
export { createStaging } from './staging.ts';
export type { Staging } from './staging.ts';
