/** The log as a file in the home, rotated at a certain size, with a few old ones kept. */
import { closeSync, fstatSync, mkdirSync, openSync, renameSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';
import { toGatewayError } from '../protocol/errors.ts';

/** Size at which a new file starts, in bytes, and the number of old ones kept: together at most 50 MiB. */
export const MAX_LOG_FILE_BYTES = 10 * 1024 * 1024;
export const OLD_LOG_FILES = 4;
/** Pause after a line that could not be written, in milliseconds. */
const RETRY_MS = 10_000;

/** Where the log of a home is. */
export function logFileOf(home: string): string {
  return path.join(home, 'logs', 'parley.log');
}

/** The files of a log, oldest first; some may not exist. */
export function logFiles(file: string): string[] {
  const old = Array.from({ length: OLD_LOG_FILES }, (_, index) => `${file}.${OLD_LOG_FILES - index}`);
  return [...old, file];
}

export interface LogFileOptions {
  /** Called with the first of consecutive failures: the disk is full, or the folder is not writable. */
  onFailure: (error: Error) => void;
  /** Default: `MAX_LOG_FILE_BYTES`. */
  maxBytes?: number;
  /** Milliseconds of a monotonic clock. */
  monotonicNow?: () => number;
}

/**
 * Appends whole lines to a file that only its owner may read. Several processes may write to it: the first to find it
 * full starts the next. Never throws: lines that cannot be written are missing only from the file.
 */
export function appendToLogFile(file: string, options: LogFileOptions): (line: string) => void {
  const { onFailure, maxBytes = MAX_LOG_FILE_BYTES, monotonicNow = () => performance.now() } = options;
  let handle: number | undefined;
  let retryAt = 0;
  let isFailing = false;
  const append = (line: string): void => {
    handle ??= open(file);
    if (fstatSync(handle).size >= maxBytes) {
      beginNext(file, handle);
      closeSync(handle);
      handle = undefined;
      handle = open(file);
    }
    writeSync(handle, line);
  };
  return (line) => {
    if (monotonicNow() < retryAt) return;
    try {
      append(line);
      isFailing = false;
      retryAt = 0;
    } catch (error) {
      retryAt = monotonicNow() + RETRY_MS;
      if (!isFailing) onFailure(toGatewayError(error));
      isFailing = true;
    }
  };
}

function open(file: string): number {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  return openSync(file, 'a', 0o600);
}

/** Renames the full file and the older ones, unless another process has already started the next one. */
function beginNext(file: string, handle: number): void {
  if (statSync(file, { throwIfNoEntry: false })?.ino !== fstatSync(handle).ino) return;
  const files = logFiles(file);
  for (const [index, older] of files.slice(0, -1).entries()) {
    const newer = files[index + 1];
    if (newer !== undefined && statSync(newer, { throwIfNoEntry: false }) !== undefined)
      renameSync(newer, older);
  }
}
