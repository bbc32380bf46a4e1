/** `POST /v1/chat/completions`: with a session, a message for its lane; without one, a stateless model call. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { ServerResponse } from 'node:http';
import { newId } from '../../../src/lib/ids.ts';
import type { SessionKey } from '../../../src/contracts/message.ts';
import { readMode } from '../../../src/contracts/plan.ts';
import type { Usage } from '../../../src/contracts/provider.ts';
import type { Receipt } from '../../../src/contracts/receive.ts';
import { readJson } from '../body.ts';
import { MODELS_TIMEOUT_MS } from '../config.ts';
import { streamedAnswer, wholeAnswer } from './completion-answer.ts';
import type { CompletionAnswer } from './completion-answer.ts';
import { completionSchema, lastUserText, toContext } from './completion-request.ts';
import type { CompletionBody } from './completion-request.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';
import { HttpError, sendError, toHttpError } from '../errors.ts';
import { refusal, sessionIdOf, toInbound } from '../inbound.ts';
import { TurnFeed } from '../turn-feed.ts';
import type { TurnEnd } from '../turn-feed.ts';

const NO_USAGE: Usage = { promptTokens: 0, completionTokens: 0, modelMs: 0 };

/** Answers the call. Throws `HttpError` for an invalid request. */
export async function completions(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const body = await readJson(incoming, outgoing, completionSchema);
  if ((body.n ?? 1) !== 1) {
    throw new HttpError(400, 'unsupported_value', '"n" must be 1.', { param: 'n' });
  }
  const sessionId = sessionIdOf(incoming, body.user);
  if (sessionId === undefined) return await answerStateless(c, deps, body);
  return await answerInSession(c, deps, body, sessionId);
}

async function answerInSession(
  c: HttpContext,
  deps: HandlerDeps,
  body: CompletionBody,
  sessionId: string,
): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const caller = c.get('caller');
  const message = toInbound(incoming, caller, sessionId, { content: lastUserText(body.messages), media: [] });
  const model = body.model ?? 'default';
  const choice = await deps.gateway.resolveModel(model, AbortSignal.timeout(MODELS_TIMEOUT_MS));
  const mode = body.mode == null ? undefined : readMode(body.mode);
  const openAnswer = answerMaker(c, deps, body);
  const key: SessionKey = `http:${sessionId}`;
  const feed = new TurnFeed(deps.gateway, key);
  outgoing.once('close', () => feed.close());
  try {
    const entry = body.stream === true ? 'runStream' : 'run';
    const receipt = await deps.receive(message, { entry, caller, mode, ...choice });
    follow(receipt, key, feed, openAnswer);
  } catch (error) {
    feed.close();
    openAnswer(newId()).fail(toHttpError(error));
  }
  return RESPONSE_ALREADY_SENT;
}

/** Forwards the turn's events to the client, or answers at once. */
function follow(
  receipt: Receipt,
  key: SessionKey,
  feed: TurnFeed,
  openAnswer: (id: string) => CompletionAnswer,
): void {
  if (receipt.kind === 'refused') throw refusal(receipt, key);
  if (receipt.kind === 'handled') {
    feed.close();
    const answer = openAnswer(newId());
    answer.text(receipt.reply ?? '');
    answer.finish('stop', NO_USAGE);
    return;
  }
  const answer = openAnswer(receipt.turnId);
  if (receipt.kind === 'accepted' && receipt.position > 0) answer.waiting();
  const reader = {
    text: answer.text,
    thinking: answer.thinking,
    waiting: answer.waiting,
    failed: answer.fail,
    ended: (end: TurnEnd) => finish(answer, end),
  };
  feed.follow(receipt.turnId, reader, receipt.kind === 'duplicate');
}

function finish(answer: CompletionAnswer, end: TurnEnd): void {
  if (end.reason === 'failed' || end.reason === 'interrupted') {
    const message = end.lastText || 'The turn ended without an answer; its session has the details.';
    answer.fail(new HttpError(502, `turn_${end.reason}`, message));
  } else answer.finish(end.reason === 'max_iterations' ? 'length' : 'stop', end.usage);
}

async function answerStateless(c: HttpContext, deps: HandlerDeps, body: CompletionBody): Promise<Response> {
  const { outgoing } = c.env;
  const gone = new AbortController();
  outgoing.once('close', () => gone.abort());
  const request = {
    messages: toContext(body.messages),
    model: body.model ?? 'default',
    temperature: body.temperature ?? undefined,
    maxTokens: body.max_completion_tokens ?? body.max_tokens ?? undefined,
  };
  const answer = answerMaker(c, deps, body)(newId());
  try {
    for await (const chunk of deps.gateway.complete(c.get('caller'), request, gone.signal)) {
      if (chunk.type === 'text') answer.text(chunk.delta);
      else if (chunk.type === 'thinking') answer.thinking(chunk.delta);
      else if (chunk.type === 'done') {
        answer.finish(chunk.finishReason === 'length' ? 'length' : 'stop', chunk.usage);
      }
    }
  } catch (error) {
    if (!gone.signal.aborted) answer.fail(toHttpError(error));
  }
  return RESPONSE_ALREADY_SENT;
}

/** Opens the stream at once, so that one too many is refused before a message is accepted; the answer gets its id later. */
function answerMaker(
  c: HttpContext,
  deps: HandlerDeps,
  body: CompletionBody,
): (id: string) => CompletionAnswer {
  const { incoming, outgoing } = c.env;
  const refuse = refuser(outgoing, deps);
  const name = (id: string) => ({
    id: `chatcmpl-${id}`,
    model: body.model ?? 'default',
    created: Math.floor(Date.now() / 1_000),
  });
  if (body.stream !== true) return (id) => wholeAnswer(outgoing, name(id), refuse);
  const authorization = incoming.headers.authorization ?? '';
  const stream = deps.streams.add({ caller: c.get('caller'), authorization }, outgoing);
  const includeUsage = body.stream_options?.include_usage === true;
  return (id) => streamedAnswer(stream, name(id), includeUsage, refuse);
}

function refuser(outgoing: ServerResponse, deps: HandlerDeps): (error: HttpError) => void {
  return (error) => {
    if (error.status >= 500) deps.log.error({ err: error.cause ?? error }, 'chat_completion_failed');
    sendError(outgoing, error);
  };
}
