/** Writes a settings file atomically: readers see the old content or the new, never a part. */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { GatewayError, toGatewayError } from '../contracts/errors.ts';

/** Only its owner may read it. */
const PRIVATE = 0o600;

/**
 * Replaces the content of a file, or creates it; a link stays a link. Throws `GatewayError('unwritable')` that names
 * the file.
 */
export function writeWhole(file: string, text: string): void {
  const target = linkedFile(file);
  const beside = `${target}.${process.pid}.new`;
  try {
    mkdirSync(path.dirname(target), { recursive: true, mode: 0o700 });
    const handle = openSync(beside, 'w', PRIVATE);
    try {
      writeSync(handle, text);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(beside, target);
  } catch (error) {
    rmSync(beside, { force: true });
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
