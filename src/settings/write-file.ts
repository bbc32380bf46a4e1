/** Changes a settings file: readers see the old content or the new, never a part, and no writer undoes another's change. */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ConfigError, errorCode, GatewayError, toGatewayError } from '../protocol/errors.ts';

/** Only its owner may read it. */
const PRIVATE = 0o600;

/** How long a writer waits for another one that holds the file, in milliseconds. */
const CHANGE_WAIT_MS = 5_000;
/** How often a change is made anew because an editor, which takes no lock, has written the file meanwhile. */
const CHANGE_ATTEMPTS = 5;

/**
 * Replaces the file's content (`before` is undefined if there is none) with what `change` makes of it, one process at a
 * time. Others wait up to `waitMs`; an `after` that is undefined or equal to `before` writes nothing. Throws what `change`
 * throws, `ConfigError` if the file cannot be read, or `GatewayError('unwritable')` that names it.
 */
export function changeWhole<Result>(
  file: string,
  change: (before: string | undefined) => { after: string | undefined; result: Result },
  { waitMs = CHANGE_WAIT_MS } = {},
): Result {
  const unlock = lockFile(file, waitMs);
  try {
    for (let attempt = 1; ; attempt += 1) {
      const oldText = textOfFile(file);
      const { after: newText, result } = change(oldText);
      if (newText === undefined || newText === oldText) return result;
      if (textOfFile(file) === oldText || attempt === CHANGE_ATTEMPTS) {
        writeWhole(file, newText);
        return result;
      }
    }
  } finally {
    unlock();
  }
}

/**
 * Takes the lock beside the file, and returns what releases it. SQLite holds it as a lock of the operating system, so a
 * writer that is killed blocks nobody.
 */
function lockFile(file: string, waitMs: number): () => void {
  const target = linkedFile(file);
  try {
    mkdirSync(path.dirname(target), { recursive: true, mode: 0o700 });
    const lockPath = `${target}.lock`;
    closeSync(openSync(lockPath, 'a', PRIVATE));
    const lock = new DatabaseSync(lockPath, { timeout: waitMs });
    try {
      lock.exec('BEGIN EXCLUSIVE');
    } catch (error) {
      lock.close();
      throw error;
    }
    return () => lock.close();
  } catch (error) {
    const { message } = toGatewayError(error);
    const busy = errorCode(error) === 'ERR_SQLITE_ERROR' && /locked/.test(message);
    const reason = busy ? 'another process is changing it; try again' : message;
    throw new GatewayError('unwritable', `${file} cannot be written: ${reason}`, { cause: error });
  }
}

/** Replaces or creates a file; a link stays a link. Throws `GatewayError('unwritable')` that names the file. */
export function writeWhole(file: string, text: string): void {
  const target = linkedFile(file);
  const newFile = `${target}.${process.pid}.new`;
  try {
    mkdirSync(path.dirname(target), { recursive: true, mode: 0o700 });
    const handle = openSync(newFile, 'w', PRIVATE);
    try {
      writeSync(handle, text);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(newFile, target);
  } catch (error) {
    rmSync(newFile, { force: true });
    const { message } = toGatewayError(error);
    throw new GatewayError('unwritable', `${file} cannot be written: ${message}`, { cause: error });
  }
}

/** The file that a link points to, else the path itself. */
function linkedFile(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    // The file does not exist yet.
    return file;
  }
}

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

const HEAD = `# Variables of Parley, read at the start and by every command of parley. What the environment itself sets comes first.
# Keep this file secret: it holds tokens. docs/configuration.md lists all variables.
`;

/** The text with these variables set, or removed if undefined. Throws `GatewayError` for a value that no line can hold. */
export function withVariables(
  text: string | undefined,
  values: Readonly<Record<string, string | undefined>>,
): string {
  let result = text ?? HEAD;
  for (const [name, value] of Object.entries(values)) {
    const line = new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=.*(?:\\r?\\n|$)`, 'm');
    if (value === undefined) result = result.replace(line, '');
    else if (line.test(result)) result = result.replace(line, () => lineOf(name, value));
    else result = `${result}${result === '' || result.endsWith('\n') ? '' : '\n'}${lineOf(name, value)}`;
  }
  return result;
}

function lineOf(name: string, value: string): string {
  if (/^[\w.:/@%+,=~-]+$/.test(value)) return `${name}=${value}\n`;
  const quote = ["'", '"', '`'].find((mark) => !value.includes(mark));
  if (quote === undefined || /[\r\n]/.test(value))
    throw new GatewayError(
      'usage',
      `The value of ${name} cannot be in a file .env: set it in the environment.`,
    );
  return `${name}=${quote}${value}${quote}\n`;
}
