/** Inputs that are almost right: entries of a corpus, changed at a few places in ways that parsers get wrong. */
import { seeded } from '../crash/script.ts';

/** Bytes that begin, end or confuse something in one of the formats. */
const TOKENS = [
  '\r\n',
  '\r\n\r\n',
  '--',
  '\0',
  '"',
  '\\',
  '\\u0000',
  '\\ud800',
  '{',
  '}',
  '[',
  ']',
  ':',
  ',',
  'null',
  'true',
  '-1',
  '1e999',
  '9007199254740993',
  '__proto__',
  'constructor',
  '\u2028',
  '\ufeff',
  '%00',
  '\xff',
  '/*',
  '//',
  ';',
  '=',
];
/** Longest input, in bytes: what grows does so slowly, and long inputs have tests of their own. */
const MAX_BYTES = 64 * 1024;
/** Inputs that are kept because the parser answered them in a new way. */
const MAX_KEPT = 500;

/** Makes inputs from a corpus, the same ones for the same seed. */
export class Mutator {
  readonly #random: () => number;
  readonly #corpus: Buffer[];
  readonly #first: number;

  constructor(corpus: readonly Buffer[], seed: number) {
    this.#random = seeded(seed);
    this.#corpus = [...corpus];
    this.#first = corpus.length;
  }

  /** The next input; the first ones are the corpus as it is. */
  next(at: number): Buffer {
    if (at < this.#first) return this.#corpus[at] ?? Buffer.alloc(0);
    let bytes: Buffer = this.#entry();
    for (let changes = 1 + this.#below(4); changes > 0; changes -= 1) bytes = this.#change(bytes);
    return bytes.subarray(0, MAX_BYTES);
  }

  /** Builds on an input from now on. */
  keep(input: Buffer): void {
    if (this.#corpus.length < MAX_KEPT) this.#corpus.push(input);
    else this.#corpus[this.#first + this.#below(MAX_KEPT - this.#first)] = input;
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  #entry(): Buffer {
    return this.#corpus[this.#below(this.#corpus.length)] ?? Buffer.alloc(0);
  }

  #change(bytes: Buffer): Buffer<ArrayBuffer> {
    const from = this.#below(bytes.length + 1);
    const to = Math.min(bytes.length, from + 1 + this.#below(this.#below(4) === 0 ? 400 : 8));
    const [before, part, after] = [bytes.subarray(0, from), bytes.subarray(from, to), bytes.subarray(to)];
    const kind = this.#below(8);
    if (kind === 0) return Buffer.concat([before, after]);
    if (kind === 1) return Buffer.concat([before, part, part, after]);
    if (kind === 2)
      return Buffer.concat([before, ...Array.from({ length: this.#below(200) }, () => part), after]);
    if (kind === 3) return Buffer.from(before);
    if (kind === 4) return Buffer.concat([before, Buffer.from([this.#below(256)]), after]);
    if (kind === 5) {
      const other = this.#entry();
      const start = this.#below(other.length + 1);
      return Buffer.concat([before, other.subarray(start, start + this.#below(400)), after]);
    }
    if (kind === 6) {
      const flipped = Buffer.from(bytes);
      if (from < flipped.length) flipped[from] = (flipped[from] ?? 0) ^ (1 << this.#below(8));
      return flipped;
    }
    return Buffer.concat([
      before,
      Buffer.from(TOKENS[this.#below(TOKENS.length)] ?? '', 'latin1'),
      part,
      after,
    ]);
  }
}
