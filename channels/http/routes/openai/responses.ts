/** `POST /v1/responses`: the newer of OpenAI's two routes for answers. */
import { timeOf } from '../../../../src/lib/ids.ts';
import type { SessionKey } from '../../../../src/protocol/message.ts';
import { readFields } from '../../body.ts';
import type { FieldNames } from '../../errors.ts';
import { RESPONSE_FIELDS, unsupported } from './fields.ts';
import { sessionIdOf } from '../../inbound.ts';
import type { HandlerDeps, HttpContext } from '../../route.ts';
import { answerCall } from './answer-call.ts';
import { refuser, wantsGatewayTools } from './api-call.ts';
import { offeredTools } from './response-tools.ts';
import { itemsOf, keepResponse, wholeInput } from './stored-responses.ts';
import { type ResponseHead, streamedResponse, wholeResponse } from './response-answer.ts';
import { inputContext, inputForSession, inputInstructions } from './response-input.ts';
import { type ResponseBody, responseOptions, responseSchema } from './response-request.ts';

/** Options in the body of a response. */
const FIELD_NAMES: FieldNames = {
  tools: 'tools',
  toolChoice: 'tool_choice',
  reasoningEffort: 'reasoning.effort',
  format: 'text.format',
};

const ID_PREFIX = 'resp_';

/** Names the tools of a request that are not offered to the model. */
const OMITTED_TOOLS = 'x-omitted-tools';

/** Answers the call. Throws `HttpError` for an invalid request. */
export async function responses(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const { largeBodies } = deps;
  const rules = { table: RESPONSE_FIELDS, schema: responseSchema, largeBodies };
  const body = await readFields(incoming, outgoing, rules);
  const tools = offeredTools(body.tools ?? []);
  const options = responseOptions(body, tools, wantsGatewayTools(incoming));
  const sessionId = sessionIdOf(incoming);
  const { instructions, previous_response_id: previousId } = body;
  if (sessionId !== undefined) await checkPrevious(c, deps, sessionId, previousId);
  const { before, own } =
    sessionId === undefined
      ? await wholeInput(deps, c.get('caller'), body.input, previousId)
      : { before: [], own: itemsOf(body.input) };
  const input = [...before, ...own];
  if (tools.omitted.length > 0) outgoing.setHeader(OMITTED_TOOLS, tools.omitted.join(', '));
  const head = (id: string): ResponseHead => ({
    ...headOf(id, body),
    names: tools.names,
    async keep(response) {
      if (body.store === false) return false;
      return await keepResponse(c, deps, body.user, {
        id: String(response['id']),
        previousId: sessionId === undefined ? (previousId ?? undefined) : undefined,
        session: sessionId === undefined ? undefined : `http:${sessionId}`,
        input: own,
        body: response,
      });
    },
  });
  return await answerCall(c, deps, {
    sessionId,
    user: body.user,
    model: body.model ?? 'default',
    stream: body.stream === true,
    options,
    context: () => inputContext(input, instructions),
    input: () => inputForSession(input),
    instructions: () => inputInstructions(input, instructions),
    open() {
      const refuse = refuser(outgoing, deps);
      if (body.stream !== true) return (id) => wholeResponse(outgoing, head(id), refuse);
      const authorization = incoming.headers.authorization ?? '';
      const stream = deps.streams.add({ caller: c.get('caller'), authorization }, outgoing);
      return (id) => streamedResponse(stream, head(id), refuse);
    },
    fieldNames: FIELD_NAMES,
  });
}

/** In a session, a response continues its newest one. Throws `HttpError` 400. */
async function checkPrevious(
  c: HttpContext,
  deps: HandlerDeps,
  sessionId: string,
  previous: string | null | undefined,
): Promise<void> {
  if (previous == null) return;
  const key: SessionKey = `http:${sessionId}`;
  const [newest] = (await deps.gateway.messages(c.get('caller'), key, { limit: 1 })) ?? [];
  const turnId = newest?.turnId;
  if (turnId !== undefined && turnIdOf(previous) === turnId) return;
  throw unsupported('previous_response_id', 'it is not the newest response of this session');
}

/** A turn that was continued after its caller's tools has several responses: `resp_<turn>`, `resp_<turn>.1`, … */
function turnIdOf(responseId: string): string {
  return responseId.slice(ID_PREFIX.length).replace(/\.\d{1,9}$/, '');
}

function headOf(id: string, body: ResponseBody): Omit<ResponseHead, 'names' | 'keep'> {
  const { instructions, tools, tool_choice, temperature, top_p, max_output_tokens, text, reasoning } = body;
  return {
    id: `${ID_PREFIX}${id}`,
    created_at: Math.floor(timeOf(id) / 1_000),
    model: body.model ?? 'default',
    asked: {
      instructions: instructions ?? null,
      max_output_tokens: max_output_tokens ?? null,
      metadata: body.metadata ?? {},
      parallel_tool_calls: body.parallel_tool_calls ?? true,
      previous_response_id: body.previous_response_id ?? null,
      reasoning: reasoning ?? { effort: null, summary: null },
      store: body.store !== false,
      temperature: temperature ?? null,
      text: text ?? { format: { type: 'text' } },
      tool_choice: tool_choice ?? 'auto',
      tools: tools ?? [],
      top_p: top_p ?? null,
      truncation: 'disabled',
    },
  };
}
