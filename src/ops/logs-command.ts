/** `parley logs`: the last lines of the log's files, and new ones as they arrive. */
import { createReadStream } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { GatewayError, errorCode, toGatewayError } from '../protocol/errors.ts';
import { pause } from '../lib/async/sleep.ts';
import { logFiles } from './log-file.ts';
import { createLogText, LEVELS, readRecord } from './log-text.ts';
import { PARLEY } from '../protocol/texts/parley.ts';

/** Lines shown by default, and the maximum. */
const LINES = 100;
export const MAX_LINES = 10_000;
/** How often a file is checked for new lines, in milliseconds. */
const FOLLOW_MS = 250;
/** Bytes of new lines read at a time. */
const CHUNK_BYTES = 65_536;

const USAGE = `Expected: logs [-f] [--turn ID] [--level ${Object.keys(LEVELS).join('|')}] [--lines 1-${MAX_LINES}] [--json]. See: ${PARLEY} logs --help`;

interface LogsOptions {
  follow: boolean;
  turn: string | undefined;
  /** By pino's numbers. */
  level: number;
  lines: number;
  json: boolean;
}

/** Where the lines go, and what ends following. */
export interface LogsOutput {
  write: (text: string) => void;
  colours: boolean;
  signal: AbortSignal;
}

/** Reads the arguments after `logs`. Throws `GatewayError('usage')`; the returned function throws `no_log`. */
export function logsCommand(args: readonly string[]): (file: string, output: LogsOutput) => Promise<void> {
  const options = readOptions(args);
  return async (file, output) => {
    const show = printer(options, output);
    const { lines, position } = await lastLines(file, options);
    if (position === undefined && !options.follow) {
      throw new GatewayError(
        'no_log',
        `There is no log in ${file} yet; a gateway with this GATEWAY_HOME writes it.`,
      );
    }
    for (const line of lines) show.line(line);
    if (options.follow) await follow(file, position ?? 0, options, show, output.signal);
    show.rest();
  };
}

function readOptions(args: readonly string[]): LogsOptions {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        follow: { type: 'boolean', short: 'f', default: false },
        turn: { type: 'string' },
        level: { type: 'string', default: 'trace' },
        lines: { type: 'string', short: 'n', default: String(LINES) },
        json: { type: 'boolean', default: false },
      },
    });
    const level = Object.hasOwn(LEVELS, values.level) ? LEVELS[values.level] : undefined;
    const lines = /^\d{1,5}$/.test(values.lines) ? Number(values.lines) : 0;
    if (level === undefined || lines < 1 || lines > MAX_LINES) throw new GatewayError('usage', USAGE);
    return { follow: values.follow, turn: values.turn, level, lines, json: values.json };
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    throw new GatewayError('usage', USAGE, { cause });
  }
}

function printer({ json }: LogsOptions, { write, colours }: LogsOutput) {
  const text = createLogText({ colours });
  if (json) return { line: (line: string) => write(`${line}\n`), rest: () => undefined };
  return { line: (line: string) => write(text(line)), rest: () => write(text.rest()) };
}

function isWanted(line: string, { turn, level }: LogsOptions): boolean {
  const record = readRecord(line);
  // What is not a log line, such as one cut off by a crash, belongs to no turn and has no level.
  if (record === undefined) return turn === undefined && level <= (LEVELS['trace'] ?? 0);
  return record.level >= level && (turn === undefined || record.turnId === turn);
}

/** The newest matching lines, and where the last file ended; `position` is undefined if there is no file. */
async function lastLines(
  file: string,
  options: LogsOptions,
): Promise<{ lines: string[]; position: number | undefined }> {
  const newest: string[] = [];
  let position: number | undefined;
  for (const one of logFiles(file)) {
    const size = (await stat(one).catch(absent))?.size;
    if (size === undefined) continue;
    position = one === file ? size : (position ?? 0);
    if (size === 0) continue;
    const content = createReadStream(one, { end: size - 1 });
    for await (const line of createInterface({ input: content, crlfDelay: Infinity })) {
      if (!isWanted(line, options)) continue;
      newest.push(line);
      if (newest.length >= 2 * options.lines) newest.splice(0, options.lines);
    }
  }
  return { lines: newest.slice(-options.lines), position };
}

/** Shows what is appended until the signal aborts, including in the files that follow the current one. */
async function follow(
  file: string,
  from: number,
  options: LogsOptions,
  show: ReturnType<typeof printer>,
  signal: AbortSignal,
): Promise<void> {
  let handle: FileHandle | undefined;
  let position = from;
  let partial = '';
  const readOn = async (current: FileHandle): Promise<void> => {
    const buffer = Buffer.alloc(CHUNK_BYTES);
    for (;;) {
      const { bytesRead } = await current.read(buffer, 0, CHUNK_BYTES, position);
      if (bytesRead === 0) return;
      // A truncated character is read again with the next lines.
      const end = buffer.subarray(0, bytesRead).lastIndexOf(10) + 1;
      const length = end === 0 ? bytesRead : end;
      position += length;
      const lines = (partial + buffer.toString('utf8', 0, length)).split('\n');
      partial = lines.pop() ?? '';
      for (const line of lines) if (isWanted(line, options)) show.line(line);
    }
  };
  try {
    while (!signal.aborted) {
      handle ??= await open(file).catch(absent);
      if (handle !== undefined) {
        const isNext = (await stat(file).catch(absent))?.ino !== (await handle.stat()).ino;
        await readOn(handle);
        if (isNext) {
          await handle.close();
          handle = undefined;
          position = 0;
          continue;
        }
      }
      await pause(FOLLOW_MS, signal);
    }
  } finally {
    await handle?.close();
  }
}

/** For a missing file, which is not an error here. */
function absent(error: unknown): undefined {
  if (errorCode(error) === 'ENOENT') return undefined;
  throw new GatewayError('unreadable', `The log cannot be read: ${toGatewayError(error).message}`, {
    cause: error,
  });
}
