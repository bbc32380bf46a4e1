/** What a plug-in logs and prints: at a bounded rate, so that a flood hides nothing and fills no disk. */
import type { Readable } from 'node:stream';
import type { Log } from '../protocol/log.ts';
import { clipEnd } from '../lib/text.ts';

/** Lines of one plug-in per second, and at once after a quiet time. */
const LINES_PER_SECOND = 10;
export const LINES_AT_ONCE = 50;
/** Longest line, in UTF-16 units. */
const MAX_LINE_CHARS = 2_000;
/** A printed line without an end is cut here, in bytes. */
const MAX_PRINTED_BYTES = 16 * 1024;

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/** The log of one plug-in. */
export interface PluginLog {
  write(level: string, event: string, fields: unknown): void;
  /** Reads what it prints to its end. */
  follow(output: Readable, onLine: (line: string) => void): void;
}

/** Makes it; `log` is the gateway's, whose lines are redacted. */
export function createPluginLog(log: Log, monotonicNow: () => number): PluginLog {
  let room = LINES_AT_ONCE;
  let at = monotonicNow();
  let losses = 0;
  const hasRoom = (): boolean => {
    const now = monotonicNow();
    room = Math.min(LINES_AT_ONCE, room + ((now - at) / 1_000) * LINES_PER_SECOND);
    at = now;
    if (room < 1) {
      losses += 1;
      return false;
    }
    room -= 1;
    if (losses > 0) log.warn({ dropped: losses }, 'plugin_log_dropped');
    losses = 0;
    return true;
  };
  return {
    write(level, event, fields) {
      if (!hasRoom()) return;
      const name = LEVELS.find((one) => one === level) ?? 'info';
      log[name]({ event: clipEnd(event, 100), fields }, 'plugin_log');
    },
    follow(output, onLine) {
      let text = '';
      const print = (line: string): void => {
        if (line.trim() === '') return;
        onLine(line);
        if (hasRoom()) log.info({ line: clipEnd(line, MAX_LINE_CHARS) }, 'plugin_output');
      };
      output.setEncoding('utf8');
      output.on('data', (data: string) => {
        const lines = (text + data).split('\n');
        text = (lines.pop() ?? '').slice(0, MAX_PRINTED_BYTES);
        for (const line of lines) print(line);
      });
      output.on('end', () => print(text));
    },
  };
}
