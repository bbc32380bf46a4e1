/** Vectors of the fake model servers, and what they accept for creating them. */
import { z } from 'zod';
import { ngramVector } from './ngram-vectors.ts';

const body = z.object({
  model: z.string().min(1),
  input: z.union([z.string(), z.array(z.string())]),
  dimensions: z.int().positive().optional(),
});

/** How the name of a model begins whose vectors are made of the parts of words. */
const NGRAM_MODEL = 'ngrams';

/** Default length of the vectors. */
const DIMENSIONS = 3;
/** Maximum length of a text in characters: a longer one is refused, as it would not be cut. */
const MAX_TEXT = 4_000;

/** A vector per text: its length, a fraction that needs all bits of a float, zeros. An `error` is the text of a 400. */
export function readVectors(text: string): { vectors: number[][]; tokens: number } | { error: string } {
  const parsed = body.safeParse(JSON.parse(text));
  if (!parsed.success) return { error: `invalid request: ${z.prettifyError(parsed.error)}` };
  const { model, input, dimensions = DIMENSIONS } = parsed.data;
  const texts = typeof input === 'string' ? [input] : input;
  if (texts.some((one) => one.length > MAX_TEXT))
    return { error: 'the input length exceeds the context length' };
  const vectors = texts.map((one) =>
    model.startsWith(NGRAM_MODEL)
      ? ngramVector(one)
      : [one.length, 0.1, ...Array<number>(dimensions).fill(0)].slice(0, dimensions),
  );
  return { vectors, tokens: texts.reduce((sum, one) => sum + Math.ceil(one.length / 4), 0) };
}
