/**
 * An embedding model that knows classes of synonyms: the words of a class share a direction, every other word has its
 * own, made from its trigrams, so that "nurse" and "nurses" are near each other. It shows that questions in other
 * words reach their facts when a model puts such words near each other; it cannot show how well a real model does
 * that.
 */
import { createHash } from 'node:crypto';
import type { EmbedRequest, LLMProvider } from '../../../src/protocol/agent/provider.ts';

const FAKE_DIMENSIONS = 256;

const STOP = new Set(
  'a an the is are of in at for to my me i do does did what which who where when how and with'.split(' '),
);

/** Creates the model; the words of each class mean the same. */
export function fakeMeanings(classes: readonly (readonly string[])[]) {
  const meaning = new Map(
    classes.flatMap((words) => words.map((word) => [word, `class ${words[0]}`] as const)),
  );
  const requests: EmbedRequest[] = [];
  const state = { dimensions: FAKE_DIMENSIONS, fails: undefined as Error | undefined, silent: false };
  const vectorOf = (text: string): number[] => {
    const vector = Array<number>(state.dimensions).fill(0);
    for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
      if (STOP.has(word)) continue;
      const known = meaning.get(word);
      const parts = known === undefined ? threes(word) : [known];
      for (const part of parts) add(vector, part, 1 / Math.sqrt(parts.length));
    }
    return vector;
  };
  const provider: Pick<LLMProvider, 'embed'> = {
    async embed(request, signal) {
      requests.push(request);
      if (state.fails !== undefined) throw state.fails;
      if (state.silent) {
        const gone = Promise.withResolvers<never>();
        signal.addEventListener('abort', () => gone.reject(signal.reason));
        return await gone.promise;
      }
      return { vectors: request.input.map(vectorOf), promptTokens: 0 };
    },
  };
  return { provider, requests, state };
}

function threes(word: string): string[] {
  const padded = ` ${word} `;
  return Array.from({ length: Math.max(1, padded.length - 2) }, (_, at) => padded.slice(at, at + 3));
}

/** Adds the direction of a part: eight dimensions, chosen by its hash, each with a sign. */
function add(vector: number[], part: string, weight: number): void {
  const hash = createHash('sha256').update(part).digest();
  for (let n = 0; n < 8; n += 1) {
    const at = hash.readUInt16LE(n * 2) % vector.length;
    vector[at] = (vector[at] ?? 0) + (hash[16 + n]! % 2 === 0 ? weight : -weight);
  }
}
