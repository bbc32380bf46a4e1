/** The text of `config.json`. */
import { existsSync, readFileSync } from 'node:fs';
import { ConfigError, toGatewayError } from '../contracts/errors.ts';

/** The content of the file, or of an empty one if there is none. Throws `ConfigError` when it cannot be read. */
export function configText(file: string): string {
  try {
    return existsSync(file) ? readFileSync(file, 'utf8') : '{}\n';
  } catch (error) {
    const { message } = toGatewayError(error);
    throw new ConfigError('bad_config', `${file} cannot be read: ${message}`, { cause: error });
  }
}
