/** Log lines for people: on a terminal one line per event, repeats counted; on the page the newest lines of the file. */
import { styleText } from 'node:util';
import { z } from 'zod';
import { escapeControls, oneLine, visibleText } from '../lib/text.ts';
import { parseJson } from '../lib/json/json.ts';
import { open } from 'node:fs/promises';
import { LOG_TAIL_BYTES, type LogLine } from '../protocol/operator/administration.ts';
import { unless } from '../protocol/errors.ts';

/** Levels by pino's numbers. */
export const LEVELS: Readonly<Record<string, number>> = {
  trace: 10,
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  fatal: 60,
};

/** A line that repeats is counted; the count is reported at least this often, in milliseconds of the log's time. */
export const REPEATS_REPORTED_MS = 10_000;
/** Longest value of a field, in UTF-16 units. */
const MAX_FIELD = 200;

const recordSchema = z.looseObject({
  level: z.number(),
  time: z.number(),
  msg: z.string().optional(),
  turnId: z.string().optional(),
});
export type LogRecord = z.infer<typeof recordSchema>;

const errorSchema = z.looseObject({
  name: z.string().optional(),
  code: z.string().optional(),
  message: z.string().optional(),
  stack: z.string().optional(),
});
type LoggedError = z.infer<typeof errorSchema> & { cause?: unknown };

const COLOURS = { warn: 'yellow', error: 'red', fatal: 'red', debug: 'dim', trace: 'dim' } as const;

/** The record of a line; undefined for what is not a log line. Never throws. */
export function readRecord(line: string): LogRecord | undefined {
  // A line that a crash cut off, or that something else wrote, is not JSON.
  return recordSchema.safeParse(parseJson(line)).data;
}

export interface LogTextOptions {
  colours: boolean;
  /** IANA name; default: this machine's. */
  timeZone?: string;
}

/** Words lines. A line is '' if it only repeats the previous one; `rest` reports repeats that were not reported yet. */
export interface LogText {
  (line: string): string;
  rest: () => string;
}

/** Words lines, each with its line end. Never throws: what is not a record stays unchanged. */
export function createLogText(options: LogTextOptions): LogText {
  let last = '';
  let repeats = 0;
  let reportedAt = 0;
  const rest = (): string => {
    const text = repeats === 0 ? '' : `              … ${repeats} more like this\n`;
    repeats = 0;
    return text;
  };
  const word = (line: string): string => {
    const record = readRecord(line);
    if (record === undefined) return `${rest()}${escapeControls(line.trimEnd())}\n`;
    const kind = kindOf(record);
    if (kind === last) {
      repeats += 1;
      if (record.time - reportedAt < REPEATS_REPORTED_MS) return '';
      reportedAt = record.time;
      return rest();
    }
    last = kind;
    reportedAt = record.time;
    return rest() + wordRecord(record, options);
  };
  return Object.assign(word, { rest });
}

/** Equal for records that differ only in time and numbers, such as attempts. */
function kindOf(record: LogRecord): string {
  const { time: _, ...fields } = record;
  return JSON.stringify(fields, (key, value: unknown) =>
    typeof value === 'number' && key !== 'level' ? 0 : value,
  );
}

function wordRecord(record: LogRecord, { colours, timeZone }: LogTextOptions): string {
  const { level, time, msg = '', err, ...fields } = record;
  const name = Object.keys(LEVELS).findLast((one) => (LEVELS[one] ?? 0) <= level) ?? 'trace';
  const clock = new Date(time).toLocaleTimeString('en-GB', { ...(timeZone && { timeZone }) });
  const rest = Object.entries(fields).map(([field, value]) => `${escapeControls(field)}=${valueText(value)}`);
  const { sentence, stack } = errorText(err, level);
  const head = `${clock} ${name.toUpperCase().padEnd(5)} ${escapeControls(oneLine(msg))}`;
  const colour = Object.hasOwn(COLOURS, name) ? COLOURS[name as keyof typeof COLOURS] : undefined;
  const headText =
    colours && colour !== undefined ? styleText(colour, head, { validateStream: false }) : head;
  const details = rest.length === 0 ? '' : `  ${rest.join(' ')}`;
  const tail = colours && details !== '' ? styleText('dim', details, { validateStream: false }) : details;
  return `${headText}${sentence}${tail}\n${stack}`;
}

function valueText(value: unknown): string {
  const text = typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
  const line = escapeControls(oneLine(text));
  return line.length > MAX_FIELD ? `${line.slice(0, MAX_FIELD).toWellFormed()}…` : line;
}

/** What happened; the stack only for unexpected errors: those have none of our codes. */
function errorText(err: unknown, level: number): { sentence: string; stack: string } {
  const error: LoggedError | undefined = errorSchema.safeParse(err).data;
  if (error === undefined) return { sentence: err === undefined ? '' : `: ${valueText(err)}`, stack: '' };
  const { name = 'Error', code, message = '', stack } = error;
  const cause = errorSchema.safeParse(error.cause).data?.message;
  const because = cause === undefined || message.includes(cause) ? '' : ` (${oneLine(cause)})`;
  const sentence = `: ${escapeControls(oneLine(message))}${escapeControls(because)}`;
  const isExpected = /^(Gateway|Field|Config|Channel|Provider|Tool|Store|Fenced)Error$/.test(name);
  const isBrief = (isExpected && code !== 'internal') || level < (LEVELS['error'] ?? 0);
  if (isBrief || stack === undefined) return { sentence, stack: '' };
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  return { sentence, stack: frames.map((frame) => `${escapeControls(frame)}\n`).join('') };
}

/** Longest text of a line's fields, in UTF-16 units. */
const MAX_FIELDS_CHARS = 2_000;

/** The newest lines at or above a level, oldest first. Throws errors of the file system, but not for a missing file. */
export async function tailLog(
  file: string,
  { lines, level }: { lines: number; level: string },
): Promise<LogLine[]> {
  const least = LEVELS[level] ?? 0;
  const entries = (await endOf(file)).split('\n').flatMap((line) => toLine(line, least));
  return entries.slice(-lines);
}

/** The end of the file, from the first whole line on. */
async function endOf(file: string): Promise<string> {
  const handle = await unless(['ENOENT'], open(file, 'r'), undefined);
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
  const fields =
    Object.keys(rest).length === 0
      ? ''
      : JSON.stringify(rest, (_, value: unknown) => (typeof value === 'string' ? visibleText(value) : value));
  const short = fields.length > MAX_FIELDS_CHARS ? `${fields.slice(0, MAX_FIELDS_CHARS)}…` : fields;
  return [{ time, level: name, message: visibleText(msg), fields: short.toWellFormed() }];
}
