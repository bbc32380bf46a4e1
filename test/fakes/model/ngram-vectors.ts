/**
 * Vectors of hashed character n-grams, as a stand-in for an embedding model: texts that share parts of words are near each
 * other, whatever their endings. It is deterministic and needs no weights; it knows no synonyms and no translations, so it
 * cannot show how well a real model finds those.
 */

const NGRAM_DIMENSIONS = 512;
/** Lengths of the n-grams, in characters. */
const LENGTHS = [3, 4, 5];

/** The vector of a text. */
export function ngramVector(text: string): number[] {
  const vector = Array<number>(NGRAM_DIMENSIONS).fill(0);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    const characters = Array.from(` ${word} `);
    for (const length of LENGTHS) {
      for (let at = 0; at + length <= characters.length; at += 1) {
        const hash = fnv1a(characters.slice(at, at + length).join(''));
        const place = hash % NGRAM_DIMENSIONS;
        vector[place] = (vector[place] ?? 0) + (hash >= 0x8000_0000 ? 1 : -1);
      }
    }
  }
  return vector;
}

/** FNV-1a with 32 bits. */
function fnv1a(text: string): number {
  let hash = 0x811c_9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x0100_0193) >>> 0;
  return hash;
}
