/** The newest lines of the log's file, for the page: read from its end, within a limit. */
import { open } from 'node:fs/promises';
import { LOG_TAIL_BYTES, type LogLine } from '../protocol/operator/administration.ts';
import { LEVELS, readRecord } from './log-text.ts';
import { errorCode } from '../protocol/errors.ts';

/** Longest text of a line's fields, in UTF-16 units. */
const MAX_FIELDS_CHARS = 2_000;

/**
 * The newest lines at or above a level, oldest first; empty without a file. They were redacted when written. Throws
 * other errors of the file system.
 */
export async function tailLog(
  file: string,
  { lines, level }: { lines: number; level: string },
): Promise<LogLine[]> {
  const least = LEVELS[level] ?? 0;
  const found = (await endOf(file)).split('\n').flatMap((line) => toLine(line, least));
  return found.slice(-lines);
}

/** The end of the file, from the first whole line on. */
async function endOf(file: string): Promise<string> {
  const handle = await open(file, 'r').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (handle === undefined) return '';
  try {
    const { size } = await handle.stat();
    const from = Math.max(0, size - LOG_TAIL_BYTES);
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(size - from), position: from });
    const text = buffer.toString('utf8', 0, bytesRead);
    return from === 0 ? text : text.slice(text.indexOf('\n') + 1);
  } finally {
    await handle.close();
  }
}

function toLine(line: string, least: number): LogLine[] {
  const record = readRecord(line);
  if (record === undefined || record.level < least) return [];
  const { level, time, msg = '', ...rest } = record;
  const name = Object.entries(LEVELS).findLast(([, value]) => level >= value)?.[0] ?? 'trace';
  const fields = Object.keys(rest).length === 0 ? '' : JSON.stringify(rest);
  const short = fields.length > MAX_FIELDS_CHARS ? `${fields.slice(0, MAX_FIELDS_CHARS)}…` : fields;
  return [{ time, level: name, message: msg, fields: short.toWellFormed() }];
}
