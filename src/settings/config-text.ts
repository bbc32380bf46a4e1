/** The text of a settings file. */
import { readFileSync } from 'node:fs';
import { ConfigError, errorCode, toGatewayError } from '../protocol/errors.ts';

/** What `config.json` says if there is none. */
export const EMPTY_CONFIG = '{}\n';

/** The content of the file, or of an empty one if there is none. Throws `ConfigError` when it cannot be read. */
export function configText(file: string): string {
  return textOfFile(file) ?? EMPTY_CONFIG;
}

/** The content of the file; undefined if there is none. Throws `ConfigError` when it cannot be read. */
export function textOfFile(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    const { message } = toGatewayError(error);
    throw new ConfigError('bad_config', `${file} cannot be read: ${message}`, { cause: error });
  }
}
