/** The routes of Ollama's API. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { timeOf } from '../../../src/lib/ids.ts';
import { MAX_EMBEDDED_TEXTS, MODELS_TIMEOUT_MS } from '../config.ts';
import type { FieldNames } from '../errors.ts';
import { LINES } from '../event-stream.ts';
import { sessionIdOf } from '../inbound.ts';
import { type HandlerDeps, type HttpContext, JSON_LINES, type Route, routeOf } from '../route.ts';
import { disconnectSignal } from './answer.ts';
import { answerCall, wantsGatewayTools } from './calls.ts';
import { instructionsOf, sessionInput, toContext } from './completion-messages.ts';
import { completionOptions, logprobsOf } from './completions.ts';
import { writeParts } from './embeddings.ts';
import { chatPiece, generatedPiece, jsonAnswer, linesAnswer, type PieceShape } from './ollama-answer.ts';
import {
  chatCompletion,
  chatSchema,
  generatedChat,
  generateSchema,
  isOfLoading,
  modelOf,
} from './ollama-requests.ts';

const FIELD_NAMES: FieldNames = {
  tools: 'tools',
  topLogprobs: 'logprobs',
  reasoningEffort: 'think',
  format: 'format',
};

/** The version of Ollama whose API this is: some clients ask for a recent one. */
const OLLAMA_VERSION = '0.13.0';

/** The gateway has no dates of models: when it started. */
const STARTED_AT = new Date(performance.timeOrigin).toISOString();

const DETAILS = {
  parent_model: '',
  format: '',
  family: 'parley',
  families: ['parley'],
  parameter_size: '',
  quantization_level: '',
};

const route = routeOf('ollama');

export const ollamaRoutes: readonly Route[] = [
  route('GET', '/api/version', 'chat', {
    summary: 'The version of Ollama whose API this is',
    description: 'A constant, for clients that ask whether an API is recent enough.',
    handle(c) {
      return c.json({ version: OLLAMA_VERSION });
    },
  }),
  route('GET', '/api/tags', 'chat', {
    summary: '`default`, the profiles and the models',
    description: 'Each name has a tag, `latest` without another one; the name without it works, too.',
    async handle(c, deps) {
      const ids = await deps.gateway.models(c.get('caller'), AbortSignal.timeout(MODELS_TIMEOUT_MS));
      return c.json({ models: ids.map(listed) });
    },
  }),
  route('GET', '/api/ps', 'chat', {
    summary: 'Models in memory: none that the gateway knows',
    description: 'Which models are in memory is up to the server.',
    handle(c) {
      return c.json({ models: [] });
    },
  }),
  route('POST', '/api/show', 'chat', {
    anyType: true,
    summary: 'What a model can do',
    description: 'Its capabilities, and in `model_info` how many tokens it reads.',
    body: z.object({ model: z.string().nullish(), name: z.string().nullish() }),
    async handle(c, deps, read) {
      const body = await read();
      const model = modelOf(body.model ?? body.name);
      const signal = AbortSignal.timeout(MODELS_TIMEOUT_MS);
      const { name, capabilities: can } = await deps.gateway.describeModel(c.get('caller'), model, signal);
      return c.json({
        modelfile: '',
        parameters: '',
        template: '',
        details: DETAILS,
        model_info: {
          'general.architecture': DETAILS.family,
          'general.basename': name,
          [`${DETAILS.family}.context_length`]: can.contextWindow,
        },
        capabilities: [
          ...(can.chat === false ? ['embedding'] : ['completion']),
          ...(can.tools ? ['tools'] : []),
          ...(can.thinking ? ['thinking'] : []),
          ...(can.vision ? ['vision'] : []),
        ],
        modified_at: STARTED_AT,
      });
    },
  }),
  route('POST', '/api/chat', 'chat', {
    summary: 'A chat; with X-Session-Id in a session',
    description:
      "Ollama's API over the same sessions, tokens and rights as chat completions: a line of JSON for each piece unless `stream` is false. Without messages it only checks the model.",
    body: chatSchema,
    anyType: true,
    carriesFiles: true,
    others: [JSON_LINES],
    async handle(c, deps, read) {
      return await answerChat(c, deps, await read(), chatPiece);
    },
  }),
  route('POST', '/api/generate', 'chat', {
    summary: 'An answer to a prompt',
    description:
      'The prompt is asked as the only message of a chat, after `system`. `suffix`, `template`, `context` and `raw` are refused by name.',
    body: generateSchema,
    anyType: true,
    carriesFiles: true,
    others: [JSON_LINES],
    async handle(c, deps, read) {
      const body = generatedChat(await read());
      return await answerChat(c, deps, body, generatedPiece);
    },
  }),
  route('POST', '/api/embed', 'chat', {
    anyType: true,
    summary: 'Vectors of texts',
    description: 'Of one text or many; a text that is too long for the model is an error, never cut.',
    body: z.object({
      model: z.string().min(1),
      input: z.union([z.string(), z.array(z.string()).max(MAX_EMBEDDED_TEXTS)], {
        error: `must be a text or a list of at most ${MAX_EMBEDDED_TEXTS} texts`,
      }),
      dimensions: z.int().min(1).max(65_536).nullish(),
    }),
    async handle(c, deps, read) {
      const { model, input, dimensions } = await read();
      const startedAt = performance.now();
      const texts = typeof input === 'string' ? [input].filter((text) => text !== '') : input;
      const { vectors, promptTokens } = await vectorsOf(c, deps, { model, texts, dimensions });
      const duration = Math.round((performance.now() - startedAt) * 1_000_000);
      await writeParts(c.env.outgoing, 'application/json; charset=utf-8', [
        `{"model":${JSON.stringify(model)},"embeddings":[`,
        ...vectors.map((vector, index) => () => `${index === 0 ? '' : ','}${JSON.stringify(vector)}`),
        `],"total_duration":${duration},"load_duration":0,"prompt_eval_count":${promptTokens}}`,
      ]);
      return RESPONSE_ALREADY_SENT;
    },
  }),
  route('POST', '/api/embeddings', 'chat', {
    anyType: true,
    summary: 'The vector of a text',
    description: "The older of Ollama's two routes for vectors.",
    body: z.object({ model: z.string().min(1), prompt: z.string() }),
    async handle(c, deps, read) {
      const { model, prompt } = await read();
      const texts = prompt === '' ? [] : [prompt];
      const { vectors } = await vectorsOf(c, deps, { model, texts, dimensions: undefined });
      return c.json({ embedding: vectors[0] ?? [] });
    },
  }),
];

async function answerChat(
  c: HttpContext,
  deps: HandlerDeps,
  body: z.infer<typeof chatSchema>,
  shape: PieceShape,
): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const name = body.model || 'default';
  if (isOfLoading(body)) {
    await deps.gateway.resolveModel(modelOf(body.model), AbortSignal.timeout(MODELS_TIMEOUT_MS));
    const reason = Number.parseFloat(String(body.keep_alive ?? 1)) === 0 ? 'unload' : 'load';
    const created_at = new Date().toISOString();
    return c.json({ model: name, created_at, ...shape({}), done: true, done_reason: reason });
  }
  const { messages, ...fields } = chatCompletion(body);
  const head = (id: string) => ({ model: name, created_at: new Date(timeOf(id)).toISOString() });
  return await answerCall(c, deps, {
    sessionId: sessionIdOf(incoming),
    model: modelOf(body.model),
    stream: body.stream !== false,
    options: completionOptions({ messages, ...fields }, wantsGatewayTools(incoming)),
    topLogprobs: logprobsOf({ messages, ...fields }),
    context: () => toContext(messages),
    input: () => sessionInput(messages),
    instructions: () => instructionsOf(messages),
    format: LINES,
    streamed: (id, stream, refuse) => linesAnswer(stream, head(id), shape, refuse),
    whole: (id, refuse) => jsonAnswer(outgoing, head(id), shape, refuse),
    fieldNames: FIELD_NAMES,
  });
}

async function vectorsOf(
  c: HttpContext,
  { gateway }: HandlerDeps,
  embedding: { model: string; texts: string[]; dimensions: number | null | undefined },
): Promise<{ vectors: number[][]; promptTokens: number }> {
  const { model, texts: input, dimensions } = embedding;
  if (input.length === 0) return { vectors: [], promptTokens: 0 };
  const signal = disconnectSignal(c.env.outgoing);
  const request = { model: modelOf(model), input, dimensions: dimensions ?? undefined };
  return await gateway.embed(c.get('caller'), request, signal);
}

function listed(id: string) {
  const name = id.includes(':') ? id : `${id}:latest`;
  const digest = createHash('sha256').update(name).digest('hex');
  return { name, model: name, modified_at: STARTED_AT, size: 0, digest, details: DETAILS };
}
