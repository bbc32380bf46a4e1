/** Public API of the settings module: reading and changing files that people write, and the current settings. */
export { administerConfig } from './config-form.ts';
export {
  byPlace,
  configError,
  elsewhere,
  lineOf,
  problemLines,
  problemOf,
  syntaxProblems,
  sentenceRef,
} from './config-problems.ts';
export type { ConfigProblem } from './config-problems.ts';
export { configCommand, editedText } from './config-command.ts';
export { withVariables } from './write-file.ts';
export { textOfFile } from './write-file.ts';
export { changeWhole, writeWhole } from './write-file.ts';
export type { ConfigFile } from './config-command.ts';
export { describedIn, descriptionsOf } from './schema-file.ts';
export { differences } from './config-form.ts';
export { createLanguages } from './languages.ts';
export { readJson } from './read-json.ts';
export { jsonSchema, writeSchemaFiles } from './schema-file.ts';
export { createLiveSettings } from './live-settings.ts';
export type { LiveSettings } from './live-settings.ts';
export { watchFolders } from './live-settings.ts';
