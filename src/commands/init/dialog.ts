/** Questions on a terminal, or over standard input: one answer per line, defaults once the input has ended. */
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/** Asks a person. */
export interface Dialog {
  say(text: string): void;
  /** Overwrites the previous line; only on a terminal. */
  progress(text: string): void;
  /** The answer, without white space around it; `fallback` for an empty one and when there is no one to ask. */
  ask(question: string, fallback: string): Promise<string>;
  close(): void;
}

/** `input` undefined = no one answers: every question gets its default. */
export function openDialog(input: Readable | undefined, output: Writable & { isTTY?: boolean }): Dialog {
  const say = (text: string): void => void output.write(`${text}\n`);
  const isTerminal = output.isTTY === true;
  const reader =
    input && createInterface({ input, output: isTerminal ? output : undefined, terminal: isTerminal });
  const lines = reader?.[Symbol.asyncIterator]();
  return {
    say,
    progress: (text) => void (isTerminal && output.write(`\r\u001B[K${text}`)),
    async ask(question, fallback) {
      if (lines === undefined) return fallback;
      const hint = fallback === '' ? '' : ` [${fallback}]`;
      output.write(`${question}${hint}: `);
      const { value, done: isOver } = await lines.next();
      if (!isTerminal) output.write('\n');
      const answer = isOver === true ? '' : value.trim();
      return answer === '' ? fallback : answer;
    },
    close: () => reader?.close(),
  };
}
