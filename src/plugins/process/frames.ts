/** What the gateway and a plug-in's process send each other: one JSON object a line. Imports nothing at run time. */
import type { Duplex } from 'node:stream';

/** Longest line that a plug-in may send, and that it is sent, in bytes. */
export const MAX_FRAME_BYTES = 4 * 1024 * 1024;

/** An error as it travels; fields that the other side does not know are ignored. */
export interface WireError {
  code: string;
  message: string;
  retryable?: boolean | undefined;
  retryAfterMs?: number | undefined;
  movedTo?: string | undefined;
}

/** Of both sides: `call` is answered by one `answer` or `error` with its id, after any number of `chunk`s. */
export type Frame =
  | { type: 'call'; id: number; method: string; args: unknown[] }
  | { type: 'answer'; id: number; value?: unknown }
  | { type: 'error'; id: number; error: WireError }
  | { type: 'chunk'; id: number; value: unknown }
  /** The caller no longer waits. */
  | { type: 'cancel'; id: number }
  /** Without an answer. */
  | { type: 'note'; method: string; args: unknown[] };

/**
 * Hands whole lines to `take`, which may pause the stream; `onTooLong` is called once for a line beyond `maxBytes`, after
 * which nothing is read any more.
 */
export function readLines(
  stream: Duplex,
  maxBytes: number,
  take: (line: string) => void,
  onTooLong: () => void,
): void {
  let parts: Buffer[] = [];
  let bytes = 0;
  let isOver = false;
  const add = (part: Buffer): void => {
    bytes += part.length;
    if (part.length > 0) parts.push(part);
  };
  stream.on('data', (data: Buffer) => {
    let from = 0;
    while (!isOver) {
      const end = data.indexOf(10, from);
      add(data.subarray(from, end === -1 ? undefined : end));
      if (bytes > maxBytes) {
        isOver = true;
        onTooLong();
        return;
      }
      if (end === -1) return;
      const line = Buffer.concat(parts).toString('utf8');
      parts = [];
      bytes = 0;
      from = end + 1;
      if (line !== '') take(line);
    }
  });
}
