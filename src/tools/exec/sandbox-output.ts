/** Keeps the head and tail of what a program prints, no matter how much that is. */

/** Most bytes kept of a program's output: half from its beginning, half from its end. */
export const MAX_KEPT_BYTES = 64 * 1024;
/** A program that prints more bytes than this is ended. */
export const MAX_PRINTED_BYTES = 10 * 1024 * 1024;

export interface KeptOutput {
  /** Takes the next bytes; false once more than `MAX_PRINTED_BYTES` have arrived. */
  add(chunk: Buffer): boolean;
  /** What was kept, with a marker that says how much is missing in between. */
  text(): string;
}

export function keepOutput(): KeptOutput {
  const half = MAX_KEPT_BYTES / 2;
  let head = Buffer.alloc(0);
  let tail = Buffer.alloc(0);
  let printed = 0;
  return {
    add(chunk) {
      printed += chunk.length;
      const room = half - head.length;
      if (room > 0) head = Buffer.concat([head, chunk.subarray(0, room)]);
      const rest = chunk.subarray(Math.max(room, 0));
      if (rest.length > 0) tail = Buffer.from(Buffer.concat([tail, rest]).subarray(-half));
      return printed <= MAX_PRINTED_BYTES;
    },
    text() {
      const missing = printed - head.length - tail.length;
      if (missing === 0) return Buffer.concat([head, tail]).toString('utf8');
      return `${head.toString('utf8')}\n[… ${missing} bytes left out …]\n${tail.toString('utf8')}`;
    },
  };
}
