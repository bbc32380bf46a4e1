/** The routes of OpenAI's API that make and read answers. */
import type { HandlerDeps, HttpContext, Route } from '../../route.ts';
import { speech, transcriptions } from './audio.ts';
import { timeOf } from '../../../../src/lib/ids.ts';
import { readFields } from '../../body.ts';
import type { FieldNames } from '../../errors.ts';
import { sessionIdOf } from '../../inbound.ts';
import { answerCall } from './answer-call.ts';
import { refuser, wantsGatewayTools } from './api-call.ts';
import { streamedAnswer, wholeAnswer } from './completion-answer.ts';
import { instructionsOf, sessionInput, toContext } from './completion-messages.ts';
import { completionOptions, completionSchema, logprobsOf } from './completion-request.ts';
import { COMPLETION_FIELDS } from './fields.ts';
import { embeddings } from './embeddings.ts';
import { responses } from './responses.ts';
import { textCompletions } from './text-completions.ts';
import { deleteResponse, listInputItems, readResponse } from './stored-responses.ts';

/** Options in the body of a chat completion. */
const FIELD_NAMES: FieldNames = {
  tools: 'tools',
  toolChoice: 'tool_choice',
  logitBias: 'logit_bias',
  topLogprobs: 'logprobs',
  reasoningEffort: 'reasoning_effort',
  format: 'response_format',
};

export const OPENAI_ROUTES: readonly Route[] = [
  { method: 'POST', path: '/v1/chat/completions', scope: 'chat', handle: completions },
  { method: 'POST', path: '/v1/responses', scope: 'chat', handle: responses },
  { method: 'GET', path: '/v1/responses/:id', scope: 'chat', handle: readResponse },
  { method: 'DELETE', path: '/v1/responses/:id', scope: 'chat', handle: deleteResponse },
  { method: 'GET', path: '/v1/responses/:id/input_items', scope: 'chat', handle: listInputItems },
  { method: 'POST', path: '/v1/completions', scope: 'chat', handle: textCompletions },
  { method: 'POST', path: '/v1/audio/transcriptions', scope: 'chat', handle: transcriptions },
  { method: 'POST', path: '/v1/audio/speech', scope: 'chat', handle: speech },
  { method: 'POST', path: '/v1/embeddings', scope: 'chat', handle: embeddings },
];

/** Answers the call. Throws `HttpError` for an invalid request. */
async function completions(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const { largeBodies } = deps;
  const rules = { table: COMPLETION_FIELDS, schema: completionSchema, largeBodies };
  const body = await readFields(incoming, outgoing, rules);
  const { model, messages, mode } = body;
  const name = (id: string) => ({
    id: `chatcmpl-${id}`,
    model: model ?? 'default',
    created: Math.floor(timeOf(id) / 1_000),
  });
  return await answerCall(c, deps, {
    sessionId: sessionIdOf(incoming),
    user: body.user,
    model: model ?? 'default',
    stream: body.stream === true,
    options: completionOptions(body, wantsGatewayTools(incoming)),
    topLogprobs: logprobsOf(body),
    mode,
    context: () => toContext(messages),
    input: () => sessionInput(messages),
    instructions: () => instructionsOf(messages),
    open() {
      const refuse = refuser(outgoing, deps);
      if (body.stream !== true) return (id) => wholeAnswer(outgoing, name(id), refuse);
      const authorization = incoming.headers.authorization ?? '';
      const stream = deps.streams.add({ caller: c.get('caller'), authorization }, outgoing);
      const includeUsage = body.stream_options?.include_usage === true;
      return (id) => streamedAnswer(stream, name(id), includeUsage, refuse);
    },
    fieldNames: FIELD_NAMES,
  });
}
