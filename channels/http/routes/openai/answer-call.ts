/** Answers a call of the API: in its session, or as a stateless model call. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { StatelessMessage } from '../../../../src/protocol/gateway-api.ts';
import type { FinishReason as ModelFinish } from '../../../../src/protocol/agent/provider.ts';
import { MAX_INLINE_FILES } from '../../config.ts';
import { callerReader, HttpError, toHttpError } from '../../errors.ts';
import { idempotencyKey } from '../../inbound.ts';
import type { HandlerDeps, HttpContext } from '../../route.ts';
import type { ApiCall } from './api-call.ts';
import type { FinishReason } from './completion-answer.ts';
import { unsupported } from './fields.ts';
import { answerInSession } from './session-call.ts';

/** Answers in the session or without one. Throws `HttpError`, or what cannot be reported otherwise. */
export async function answerCall(c: HttpContext, deps: HandlerDeps, call: ApiCall): Promise<Response> {
  if (call.sessionId === undefined) return await answerStateless(c, deps, call);
  return await answerInSession(c, deps, call, call.sessionId);
}

async function answerStateless(c: HttpContext, deps: HandlerDeps, call: ApiCall): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const caller = c.get('caller');
  const { model, options, topLogprobs } = call;
  if (call.mode != null) throw unsupported('mode', 'it needs a session (X-Session-Id)');
  if (options.gatewayTools === true) {
    const text =
      'X-Gateway-Tools needs a session (X-Session-Id): without one a call has the tools of its caller only.';
    throw new HttpError(400, 'unsupported_value', text, { param: 'x-gateway-tools' });
  }
  const key = idempotencyKey(incoming);
  const gone = new AbortController();
  outgoing.once('close', () => gone.abort());
  const messages = withinBound(call.context());
  const request = { messages, model, options, topLogprobs, ...(!call.stream && { whole: true }) };
  const endCall = await deps.limits.beginCall(caller);
  outgoing.once('close', endCall);
  const { id, chunks } = deps.completions.complete({ caller, key, request }, gone.signal);
  const answer = call.open()(id);
  try {
    for await (const chunk of chunks) {
      if (chunk.type === 'text') answer.text(chunk.delta, chunk.logprobs);
      else if (chunk.type === 'thinking') answer.thinking(chunk.delta);
      else if (chunk.type === 'tool_call') answer.toolCall(chunk.call);
      else if (chunk.type === 'text_was_thinking') answer.textWasThinking();
      else answer.finish(finishOf(chunk.finishReason), chunk.usage, chunk.echo?.fields);
    }
  } catch (error) {
    if (!gone.signal.aborted) answer.fail(toHttpError(error, callerReader(caller), call.fieldNames));
  }
  return RESPONSE_ALREADY_SENT;
}

/** Each file is read before the model is asked. Throws `HttpError` 400 for too many of them. */
function withinBound(messages: StatelessMessage[]): StatelessMessage[] {
  const count = messages.reduce((sum, { files = [] }) => sum + files.length, 0);
  if (count <= MAX_INLINE_FILES) return messages;
  const text = `A request carries at most ${MAX_INLINE_FILES} files; this has ${count}.`;
  throw new HttpError(400, 'too_many_files', text, { param: 'messages' });
}

/** OpenAI's reason for the end of a model's answer. */
function finishOf(reason: ModelFinish): FinishReason {
  if (reason === 'length' || reason === 'tool_calls') return reason;
  return reason === 'content_filter' || reason === 'refusal' ? 'content_filter' : 'stop';
}
