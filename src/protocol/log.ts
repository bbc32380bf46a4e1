/** The log that a module is given: a pino logger whose lines are redacted before a byte is written. */
import type { Logger } from 'pino';

export type Log = Logger;

/** The shape of a secret that no configuration announced, and the text that replaces it (`$1` is the first group). */
export interface SecretShape {
  /** Matched everywhere in a line; the flags may be any. */
  pattern: RegExp;
  replacement: string;
}

/** Never throws. */
export interface StartProgress {
  /** A step starts: it is shown once it has lasted a second. */
  step(text: string): void;
  /** Shown at once: the step takes longer, or waits for something. */
  tell(text: string): void;
}
