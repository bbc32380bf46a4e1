/** Names the steps of a start that take longer than a second, on the terminal or in the log. */
import type { Log, StartProgress } from '../protocol/log.ts';

/** A step that lasts longer is named, in milliseconds. */
const NAMED_AFTER_MS = 1_000;

/** The progress of one start; nothing is named after `end`. */
export interface StartNotes extends StartProgress {
  end(): void;
}

/** Makes it; `show` receives one line. Lines in a row that say the same are shown once. */
export function createStartNotes(show: (text: string) => void, namedAfterMs = NAMED_AFTER_MS): StartNotes {
  let timer: NodeJS.Timeout | undefined;
  let last = '';
  const tell = (text: string): void => {
    clearTimeout(timer);
    if (text !== last) show(text);
    last = text;
  };
  return {
    tell,
    step(text) {
      clearTimeout(timer);
      timer = setTimeout(() => tell(text), namedAfterMs).unref();
    },
    end: () => clearTimeout(timer),
  };
}

/** The notes of a process: lines on a terminal, elsewhere the log's event `starting`. */
export function processNotes(log: Log): StartNotes {
  const { stdout } = process;
  return createStartNotes((text) => {
    if (stdout.isTTY) stdout.write(`${text}\n`);
    else log.info({ detail: text }, 'starting');
  });
}
