/** `POST /v1/embeddings`: vectors of texts. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { MAX_EMBEDDED_TEXTS } from '../config.ts';
import { type Route, routeOf } from '../route.ts';
import { disconnectSignal } from './answer.ts';
import { EMBEDDING_FIELDS } from './fields.ts';

const text = z
  .string('must be a text or a list of texts; token ids are not supported')
  .min(1, 'must not be empty');

/** Vectors written before other work gets a turn: thousands of them are tens of megabytes of JSON. */
const PARTS_AT_ONCE = 16;

const route = routeOf('openai');

export const embeddingRoutes: readonly Route[] = [
  route('POST', '/v1/embeddings', 'chat', {
    summary: 'Vectors of texts',
    description: 'Of one text or many; a text that is too long for the model is an error, never cut.',
    fields: EMBEDDING_FIELDS,
    body: z.object({
      input: z.union([text, z.array(text).min(1).max(MAX_EMBEDDED_TEXTS)], {
        error: `must be a text or a list of 1 to ${MAX_EMBEDDED_TEXTS} texts, none of them empty; token ids are not supported`,
      }),
      model: z.string().min(1),
      dimensions: z.int().min(1).max(65_536).nullish(),
      encoding_format: z.enum(['float', 'base64']).nullish(),
    }),
    async handle(c, deps, read) {
      const { outgoing } = c.env;
      const body = await read();
      const signal = disconnectSignal(outgoing);
      const input = typeof body.input === 'string' ? [body.input] : body.input;
      const request = { model: body.model, input, dimensions: body.dimensions ?? undefined };
      const { vectors, promptTokens } = await deps.gateway.embed(c.get('caller'), request, signal);
      const encode = body.encoding_format === 'base64' ? toBase64 : toNumbers;
      const usage = JSON.stringify({ prompt_tokens: promptTokens, total_tokens: promptTokens });
      await writeParts(outgoing, 'application/json', [
        '{"object":"list","data":[',
        ...vectors.map((vector, index) => () => {
          const comma = index === 0 ? '' : ',';
          return `${comma}{"object":"embedding","index":${index},"embedding":${encode(vector)}}`;
        }),
        `],"model":${JSON.stringify(body.model)},"usage":${usage}}`,
      ]);
      return RESPONSE_ALREADY_SENT;
    },
  }),
];

/** Answers with a long JSON body, written in parts. Never throws. */
export async function writeParts(
  outgoing: ServerResponse,
  contentType: string,
  parts: readonly (string | (() => string))[],
): Promise<void> {
  outgoing.writeHead(200, { 'content-type': contentType, 'cache-control': 'no-store' });
  for (const [index, part] of parts.entries()) {
    if (outgoing.destroyed) return;
    const isTaken = outgoing.write(typeof part === 'string' ? part : part());
    if (!isTaken) await Promise.race([once(outgoing, 'drain'), once(outgoing, 'close')]);
    else if (index % PARTS_AT_ONCE === 0) await nextTurn();
  }
  outgoing.end();
}

function toNumbers(vector: readonly number[]): string {
  return JSON.stringify(vector);
}

/** 32-bit floats, little-endian, as OpenAI's clients decode them. */
function toBase64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4);
  return JSON.stringify(bytes.toString('base64'));
}
