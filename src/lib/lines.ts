/** The lines of a stream of bytes, held one at a time. */

/** What ends a line; nothing else does. */
const LINE_FEED = 0x0a;

export interface Line {
  /** Without its line feed; undefined for a line that is longer than allowed, whose rest is skipped. */
  bytes: Buffer | undefined;
  /** False for what no line feed ends. */
  isEnded: boolean;
}

/**
 * Yields every line; one of more than `maxBytes` as soon as that is certain, so that a caller can give up. Throws what
 * `chunks` throws.
 */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Line, undefined> {
  let pieces: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    for (let from = 0; from < chunk.length;) {
      const end = chunk.indexOf(LINE_FEED, from);
      const piece = chunk.subarray(from, end === -1 ? chunk.length : end);
      const isKnown = length > maxBytes;
      length += piece.length;
      const isTooLong = length > maxBytes;
      if (isTooLong) pieces = [];
      else pieces.push(piece);
      if (isTooLong && !isKnown) yield { bytes: undefined, isEnded: false };
      if (end === -1) break;
      if (!isTooLong) yield { bytes: Buffer.concat(pieces), isEnded: true };
      [pieces, length, from] = [[], 0, end + 1];
    }
  }
  if (length > 0 && length <= maxBytes) yield { bytes: Buffer.concat(pieces), isEnded: false };
  return undefined;
}
