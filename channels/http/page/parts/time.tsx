/** The element that shows a moment: in few words, with the whole date and time for whoever points at it. */
import type { JSX } from 'preact';
import { exactly, shortTime } from '../texts.ts';

interface TimeProps {
  /** ISO, or epoch milliseconds. */
  at: string | number;
  /** How it is worded; by default in its shortest form. */
  format?: (at: string | number) => string;
}

/** A moment. */
export function Time({ at, format = shortTime }: TimeProps): JSX.Element {
  return (
    <time dateTime={new Date(at).toISOString()} title={exactly(at)}>
      {format(at)}
    </time>
  );
}
