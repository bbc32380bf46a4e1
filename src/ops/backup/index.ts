/** Backups: their file, and the files of the home in it. */
export { readBackup, writeBackup } from './file.ts';
export { homeFiles } from './home-files.ts';
export { createStaging } from './staging.ts';
export type { Staging } from './staging.ts';
