/** The arithmetic of a search by meaning. */
import { ProviderError } from '../protocol/errors.ts';
import type { MemoryRecord, Vector } from '../protocol/store/notes.ts';

/** Maximum number of dimensions of a vector. */
const MAX_DIMENSIONS = 8_192;
/** Softens the difference between adjacent places in a list, as is usual in reciprocal rank fusion. */
const RANK_OFFSET = 60;

/** The direction of a model's vector. Throws `ProviderError('bad_response')` for an invalid one. */
export function toVector(numbers: readonly number[]): Vector {
  const largest = numbers.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
  if (numbers.length === 0 || numbers.length > MAX_DIMENSIONS || !Number.isFinite(largest)) {
    throw new ProviderError(
      'bad_response',
      `The embedding model gave a vector of ${numbers.length} dimensions; 1 to ${MAX_DIMENSIONS} finite numbers are read.`,
    );
  }
  return Int8Array.from(numbers, (one) => (largest === 0 ? 0 : Math.round((one / largest) * 127)));
}

/** The cosine of the angle between two vectors of the same length; 0 if one of them has no direction. */
export function similarity(a: Vector, b: Vector): number {
  let dot = 0;
  let ofA = 0;
  let ofB = 0;
  for (let at = 0; at < a.length; at += 1) {
    const x = a[at]!;
    const y = b[at]!;
    dot += x * y;
    ofA += x * x;
    ofB += y * y;
  }
  return ofA === 0 || ofB === 0 ? 0 : dot / Math.sqrt(ofA * ofB);
}

/** Merges several lists, each best first, by the places of their entries; each list counts according to its weight. */
export function fuse(lists: readonly { found: readonly MemoryRecord[]; weight: number }[]): MemoryRecord[] {
  const scores = new Map<number, { memory: MemoryRecord; score: number }>();
  for (const { found, weight } of lists) {
    for (const [place, memory] of found.entries()) {
      const score = (scores.get(memory.id)?.score ?? 0) + weight / (RANK_OFFSET + place);
      scores.set(memory.id, { memory, score });
    }
  }
  return [...scores.values()].toSorted((a, b) => b.score - a.score).map(({ memory }) => memory);
}
