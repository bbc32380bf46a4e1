/** Cuts a node's stream of records into batches that fit a notification, and joins another node's batches again. */

/** Most bytes of one batch, header included (a Postgres notification is limited to less than 8,000). */
export const BATCH_BYTES = 7_500;
/** Longest record that is sent, in about 35 batches. A longer one is dropped, and readers on other nodes get a snapshot. */
export const RECORD_BYTES = 256 * 1024;

/** Room for the header: node id, number, mark and newline. */
const HEADER_BYTES = 64;

/**
 * A batch is `<node> <number> <mark>\n` and a piece of the stream, each of whose records ends in a newline. Mark `+`
 * says that the piece begins inside a record. Numbers make losses visible, and keep equal pieces from collapsing into
 * one (Postgres drops repeated notifications of a transaction).
 */
export class BatchCutter {
  readonly #node: string;
  #number = 0;

  constructor(node: string) {
    this.#node = node;
  }

  /** The batches that contain these records (JSON without newlines), in order. */
  cut(records: readonly string[]): string[] {
    const stream = Buffer.from(records.map((record) => `${record}\n`).join(''));
    const batches: string[] = [];
    for (let start = 0; start < stream.length;) {
      let end = Math.min(stream.length, start + BATCH_BYTES - HEADER_BYTES);
      // A piece ends between characters: continuation bytes of UTF-8 are 10xxxxxx.
      while (end < stream.length && (stream[end]! & 0xc0) === 0x80) end -= 1;
      const inside = start > 0 && stream[start - 1] !== 0x0a;
      this.#number += 1;
      batches.push(
        `${this.#node} ${this.#number} ${inside ? '+' : '-'}\n${stream.toString('utf8', start, end)}`,
      );
      start = end;
    }
    return batches;
  }
}

/** Joins the batches of one other node. */
export class BatchJoiner {
  #number: number | undefined;
  /** The beginning of a record whose rest has not arrived yet. */
  #open = '';

  /** The records that this batch completes; a record with a lost piece is dropped. */
  join(number: number, inside: boolean, piece: string): string[] {
    const follows = this.#number === undefined ? !inside : number === this.#number + 1;
    if (!follows || !inside) this.#open = '';
    let text = this.#open + piece;
    if (inside && !(follows && this.#open !== '')) {
      const next = piece.indexOf('\n');
      text = next < 0 ? '' : piece.slice(next + 1);
    }
    this.#number = number;
    const lines = text.split('\n');
    this.#open = lines.pop() ?? '';
    if (this.#open.length > RECORD_BYTES) this.#open = '';
    return lines;
  }
}

/** Parses a batch; undefined when it is malformed. Never throws. */
export function parseBatch(
  batch: string,
): { node: string; number: number; inside: boolean; piece: string } | undefined {
  const match = /^(\S{1,40}) (\d{1,15}) ([+-])\n/.exec(batch);
  if (match === null) return undefined;
  const [header, node = '', number, mark] = match;
  return { node, number: Number(number), inside: mark === '+', piece: batch.slice(header.length) };
}
