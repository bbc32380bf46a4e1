/** What stands between a model server and its client: whole lines of bounded length, each judged before it may pass. */
import { ProviderError } from '../contracts/errors.ts';
import type { BodyFilter } from './exchange.ts';

/** The longest line taken from a model server, in bytes. */
export const MAX_LINE_BYTES = 1024 * 1024;
/** The longest answer that is not a stream (a list of models, say), in bytes. */
export const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;

/** Judges the lines of one answer. */
export interface LineReader {
  /** True once the closing record was seen. */
  readonly complete: boolean;
  /** True when the line (without its newline) belongs to the answer. Throws `ProviderError`, which ends the answer. */
  takes(line: string): boolean;
}

const NEWLINE = 10;

/** Passes the lines the reader takes, each whole; a line too long and an end before the closing record are `bad_response`. */
export function createLineFilter(reader: LineReader): BodyFilter {
  let held: Buffer[] = [];
  let heldBytes = 0;

  const takes = (line: string): boolean => {
    // A UTF-16 unit is at most three bytes: short lines need no count.
    if (line.length * 3 > MAX_LINE_BYTES && Buffer.byteLength(line) > MAX_LINE_BYTES) throw tooLong();
    return reader.takes(line);
  };

  /** Hands on the bytes themselves when every line may pass, which is nearly always; what stands before an error passes, too. */
  const passLines = (bytes: Buffer, pass: (bytes: Buffer) => void): void => {
    const lines = bytes.toString('utf8').split('\n');
    if (lines.at(-1) === '') lines.pop();
    const passed: string[] = [];
    try {
      for (const line of lines) {
        if (takes(line)) passed.push(line);
      }
    } finally {
      if (passed.length === lines.length) pass(bytes);
      else if (passed.length > 0) pass(Buffer.from(`${passed.join('\n')}\n`));
    }
  };

  return {
    get complete() {
      return reader.complete;
    },
    write(packet, pass) {
      const end = packet.lastIndexOf(NEWLINE) + 1;
      if (end === 0) {
        held.push(packet);
        heldBytes += packet.length;
        if (heldBytes > MAX_LINE_BYTES) throw tooLong();
        return;
      }
      const whole =
        held.length === 0 ? packet.subarray(0, end) : Buffer.concat([...held, packet.subarray(0, end)]);
      held = end === packet.length ? [] : [packet.subarray(end)];
      heldBytes = packet.length - end;
      passLines(whole, pass);
    },
    end(pass) {
      if (heldBytes > 0) passLines(Buffer.concat(held), pass);
      if (reader.complete) return;
      throw new ProviderError('bad_response', 'The model server ended its answer before it was complete.', {
        retryable: true,
      });
    },
  };
}

/** Passes a plain JSON document on, up to its size limit. */
export function createDocumentFilter(): BodyFilter {
  let bytes = 0;
  return {
    complete: false,
    write(packet, pass) {
      bytes += packet.length;
      if (bytes > MAX_DOCUMENT_BYTES) {
        throw new ProviderError(
          'bad_response',
          `The model server sent more than ${MAX_DOCUMENT_BYTES} bytes.`,
        );
      }
      pass(packet);
    },
    end: () => undefined,
  };
}

function tooLong(): ProviderError {
  return new ProviderError(
    'bad_response',
    `The model server sent a line longer than ${MAX_LINE_BYTES} bytes.`,
  );
}
