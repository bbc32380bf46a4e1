/** The beginning of a document that the model reads with the message. */
import type { DocumentStart } from '../contracts/media.ts';

/** Bytes of a document that come with the message: about 2,000 tokens, so that several fit a small window. */
const START_BYTES = 6_000;

/** The beginning, with no character cut in two. Never throws. */
export function startOf(text: string): DocumentStart {
  const whole = Buffer.from(text);
  if (whole.length <= START_BYTES) return { text, bytes: whole.length, totalBytes: whole.length };
  let end = START_BYTES;
  while ((whole[end]! & 0xc0) === 0x80) end -= 1;
  return { text: whole.toString('utf8', 0, end), bytes: end, totalBytes: whole.length };
}
