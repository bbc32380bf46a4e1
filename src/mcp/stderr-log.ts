/** What a server writes to its standard error, as lines of the log with limited length and number. */
import type { Log } from '../contracts/log.ts';
import { oneLine } from '../lib/text.ts';

/** Longest line, in UTF-16 units. */
export const MAX_LINE_CHARS = 500;
/** Maximum number of lines logged per time span; the others are only counted. */
export const MAX_LINES = 50;
export const SPAN_MS = 60_000;

/** Collects lines from pieces of text. */
export interface StderrLog {
  write(text: string): void;
  /** The last line that was not empty; '' before the first one. */
  last(): string;
}

/** Creates one for a process; `monotonicNow` is a clock in milliseconds. */
export function createStderrLog(log: Log, monotonicNow = (): number => performance.now()): StderrLog {
  let open = '';
  let last = '';
  let spanStart = monotonicNow();
  let lines = 0;
  const say = (line: string): void => {
    if (line === '') return;
    last = line;
    if (monotonicNow() - spanStart >= SPAN_MS) {
      if (lines > MAX_LINES) log.info({ lines: lines - MAX_LINES }, 'mcp_stderr_left_out');
      spanStart = monotonicNow();
      lines = 0;
    }
    lines += 1;
    if (lines <= MAX_LINES) log.info({ line }, 'mcp_stderr');
  };
  return {
    write(text) {
      const pieces = (open + text).split('\n');
      open = (pieces.pop() ?? '').slice(0, MAX_LINE_CHARS);
      for (const piece of pieces) say(oneLine(piece.slice(0, MAX_LINE_CHARS)).trim());
    },
    last: () => oneLine(open).trim() || last,
  };
}
