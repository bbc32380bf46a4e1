/** The routes of Ollama's API. */
import type { HandlerDeps, HttpContext, Route } from '../../route.ts';
import type { z } from 'zod';
import { timeOf } from '../../../../src/lib/ids.ts';
import { readAnyJson } from '../../body.ts';
import { MODELS_TIMEOUT_MS } from '../../config.ts';
import type { FieldNames } from '../../errors.ts';
import { LINES } from '../../event-stream.ts';
import { sessionIdOf } from '../../inbound.ts';
import { answerCall } from '../openai/answer-call.ts';
import { refuser, wantsGatewayTools } from '../openai/api-call.ts';
import { instructionsOf, sessionInput, toContext } from '../openai/completion-messages.ts';
import { completionOptions, logprobsOf } from '../openai/completion-request.ts';
import { chatPiece, generatedPiece, jsonAnswer, linesAnswer, type PieceShape } from './answer.ts';
import {
  chatCompletion,
  chatSchema,
  generatedChat,
  generateSchema,
  isOfLoading,
  modelOf,
} from './requests.ts';
import { embed, oldEmbed } from './embed.ts';
import { loaded, show, tags, version } from './models.ts';

/** Options in the bodies. */
const FIELD_NAMES: FieldNames = {
  tools: 'tools',
  topLogprobs: 'logprobs',
  reasoningEffort: 'think',
  format: 'format',
};

export const OLLAMA_ROUTES: readonly Route[] = [
  { method: 'GET', path: '/api/version', scope: 'chat', handle: version },
  { method: 'GET', path: '/api/tags', scope: 'chat', handle: tags },
  { method: 'GET', path: '/api/ps', scope: 'chat', handle: loaded },
  { method: 'POST', path: '/api/show', scope: 'chat', handle: show },
  { method: 'POST', path: '/api/chat', scope: 'chat', handle: chat },
  { method: 'POST', path: '/api/generate', scope: 'chat', handle: generate },
  { method: 'POST', path: '/api/embed', scope: 'chat', handle: embed },
  { method: 'POST', path: '/api/embeddings', scope: 'chat', handle: oldEmbed },
];

/** Answers the call. Throws `HttpError` for an invalid request. */
async function chat(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  return await answerChat(c, deps, await readAnyJson(c.env, chatSchema, deps.largeBodies), chatPiece);
}

/** Answers the prompt as the only message of a chat. Throws `HttpError` for an invalid request. */
async function generate(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const body = generatedChat(await readAnyJson(c.env, generateSchema, deps.largeBodies));
  return await answerChat(c, deps, body, generatedPiece);
}

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
  const { messages, ...asked } = chatCompletion(body);
  return await answerCall(c, deps, {
    sessionId: sessionIdOf(incoming),
    user: undefined,
    model: modelOf(body.model),
    stream: body.stream !== false,
    options: completionOptions({ messages, ...asked }, wantsGatewayTools(incoming)),
    topLogprobs: logprobsOf({ messages, ...asked }),
    context: () => toContext(messages),
    input: () => sessionInput(messages),
    instructions: () => instructionsOf(messages),
    open() {
      const refuse = refuser(outgoing, deps);
      const head = (id: string) => ({ model: name, created_at: new Date(timeOf(id)).toISOString() });
      if (body.stream === false) return (id) => jsonAnswer(outgoing, head(id), shape, refuse);
      const authorization = incoming.headers.authorization ?? '';
      const stream = deps.streams.add({ caller: c.get('caller'), authorization }, outgoing, LINES);
      return (id) => linesAnswer(stream, head(id), shape, refuse);
    },
    fieldNames: FIELD_NAMES,
  });
}
