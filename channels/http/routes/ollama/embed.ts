/** `POST /api/embed` and the older `POST /api/embeddings`: vectors of texts. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { z } from 'zod';
import { readAnyJson } from '../../body.ts';
import { MAX_EMBEDDED_TEXTS } from '../../config.ts';
import type { HandlerDeps, HttpContext } from '../../route.ts';
import { writeParts } from '../openai/embeddings.ts';
import { modelOf } from './requests.ts';

/** The body of `/api/embed`. */
export const embedSchema = z.object({
  model: z.string().min(1),
  input: z.union([z.string(), z.array(z.string()).max(MAX_EMBEDDED_TEXTS)], {
    error: `must be a text or a list of at most ${MAX_EMBEDDED_TEXTS} texts`,
  }),
  dimensions: z.int().min(1).max(65_536).nullish(),
});

/** The body of `/api/embeddings`. */
export const oldEmbedSchema = z.object({ model: z.string().min(1), prompt: z.string() });

/** Answers with a vector for each text. Throws `ProviderError`, `GatewayError('unknown_model')`. */
export async function embed(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { model, input, dimensions } = await readAnyJson(c.env, embedSchema);
  const begun = performance.now();
  const texts = typeof input === 'string' ? [input].filter((text) => text !== '') : input;
  const { vectors, promptTokens } = await vectorsOf(c, deps, { model, texts, dimensions });
  const duration = Math.round((performance.now() - begun) * 1_000_000);
  const { outgoing } = c.env;
  outgoing.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' });
  await writeParts(outgoing, [
    `{"model":${JSON.stringify(model)},"embeddings":[`,
    ...vectors.map((vector, index) => () => `${index === 0 ? '' : ','}${JSON.stringify(vector)}`),
    `],"total_duration":${duration},"load_duration":0,"prompt_eval_count":${promptTokens}}`,
  ]);
  return RESPONSE_ALREADY_SENT;
}

/** Answers with the vector of one text. Throws `ProviderError`, `GatewayError('unknown_model')`. */
export async function oldEmbed(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { model, prompt } = await readAnyJson(c.env, oldEmbedSchema);
  const texts = prompt === '' ? [] : [prompt];
  const { vectors } = await vectorsOf(c, deps, { model, texts, dimensions: undefined });
  return c.json({ embedding: vectors[0] ?? [] });
}

async function vectorsOf(
  c: HttpContext,
  { gateway }: HandlerDeps,
  asked: { model: string; texts: string[]; dimensions: number | null | undefined },
): Promise<{ vectors: number[][]; promptTokens: number }> {
  const { model, texts: input, dimensions } = asked;
  if (input.length === 0) return { vectors: [], promptTokens: 0 };
  const gone = new AbortController();
  c.env.outgoing.once('close', () => gone.abort());
  const request = { model: modelOf(model), input, dimensions: dimensions ?? undefined };
  return await gateway.embed(c.get('caller'), request, gone.signal);
}
