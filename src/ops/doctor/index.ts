/** The checks of `parley doctor` that belong to no other module. */
export { backupFinding } from './backups.ts';
export { databaseFindings } from './database.ts';
export { brokenFinding, diskFinding, homeFinding, nodeFinding, timeZoneFinding } from './machine.ts';
export { modelFindings, omissionFindings } from './model.ts';
export { mcpFindings } from './programs.ts';
export { applyFixes, findingLines, findingsJson, summary } from './report.ts';
