/** Where everything of a gateway is. In plain JavaScript: the launcher needs it before anything else is loaded. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';

/**
 * The absolute path of the folder with all data: `GATEWAY_HOME`, else `.parley` in the working folder where that exists,
 * else in the user's home directory, away from the program and its files.
 * @param {Readonly<Record<string, string | undefined>>} environment
 * @param {{ workingFolder?: string, userFolder?: string }} [folders]
 * @returns {string}
 */
export function homeOf(environment, { workingFolder = process.cwd(), userFolder = homedir() } = {}) {
  if (environment['GATEWAY_HOME']) return path.resolve(workingFolder, environment['GATEWAY_HOME']);
  const local = path.join(workingFolder, '.parley');
  return existsSync(local) ? local : path.join(userFolder, '.parley');
}
