/** How the packets of an answer become texts of bounded length: lines of a stream, or one whole document. */
import { ProviderError } from '../../protocol/errors.ts';
import { textRef } from '../../protocol/texts/say.ts';

/** The longest line accepted from a model server, in bytes. */
export const MAX_LINE_BYTES = 1024 * 1024;
/** The longest answer that is not a stream (a list of models, say), in bytes. */
export const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;

/**
 * Turns packets into texts, wherever the packets are cut. Both methods throw `ProviderError('bad_response')` when a
 * text is too long.
 */
export interface TextSplitter {
  push(packet: Buffer): string[];
  /** What was still held back when the packets ended. */
  end(): string[];
}

const NEWLINE = 10;

/** Lines without their newline. A character is never cut: a newline's byte occurs in no other character. */
export function createLineSplitter(): TextSplitter {
  let held: Buffer[] = [];
  let heldBytes = 0;
  return {
    push(packet) {
      const end = packet.lastIndexOf(NEWLINE) + 1;
      if (end === 0) {
        held.push(packet);
        heldBytes += packet.length;
        if (heldBytes > MAX_LINE_BYTES) throw tooLong('provider.long_line', MAX_LINE_BYTES);
        return [];
      }
      // Without the newline, which would start an empty last line.
      const whole = packet.subarray(0, end - 1);
      const text = (held.length === 0 ? whole : Buffer.concat([...held, whole])).toString('utf8');
      heldBytes = packet.length - end;
      held = heldBytes === 0 ? [] : [packet.subarray(end)];
      return text.split('\n');
    },
    end: () => (heldBytes === 0 ? [] : [Buffer.concat(held).toString('utf8')]),
  };
}

/** Throws `ProviderError` for a line over the limit. A UTF-16 unit is at most three bytes: short lines need no count. */
export function checkLineLength(line: string): void {
  if (line.length * 3 > MAX_LINE_BYTES && Buffer.byteLength(line) > MAX_LINE_BYTES)
    throw tooLong('provider.long_line', MAX_LINE_BYTES);
}

/** All packets as one text, at the end. */
export function createDocumentCollector(): TextSplitter {
  const packets: Buffer[] = [];
  let bytes = 0;
  return {
    push(packet) {
      bytes += packet.length;
      if (bytes > MAX_DOCUMENT_BYTES) throw tooLong('provider.too_much', MAX_DOCUMENT_BYTES);
      packets.push(packet);
      return [];
    },
    end: () => [Buffer.concat(packets).toString('utf8')],
  };
}

function tooLong(key: 'provider.long_line' | 'provider.too_much', bytes: number): ProviderError {
  return new ProviderError('bad_response', textRef(key, { bytes }));
}
