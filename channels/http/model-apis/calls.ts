/** One call of a route that answers: in its session, where its turn is the answer, or as a call of the model without one. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { IncomingMessage } from 'node:http';
import type { StatelessMessage } from '../../../src/protocol/gateway-api.ts';
import type { InlineFile, Media } from '../../../src/protocol/media.ts';
import type { SessionKey } from '../../../src/protocol/message.ts';
import type { CallerOptions, FinishReason as ModelFinish } from '../../../src/protocol/agent/provider.ts';
import { readMode } from '../../../src/protocol/agent/plan.ts';
import type { Receipt } from '../../../src/protocol/receive.ts';
import { newId } from '../../../src/lib/ids.ts';
import { MAX_INLINE_FILES, MAX_INSTRUCTIONS, MODELS_TIMEOUT_MS } from '../config.ts';
import { callerReader, type FieldNames, HttpError, noSession, sendError, toHttpError } from '../errors.ts';
import type { EventStream, StreamFormat } from '../event-stream.ts';
import { checkRepeat, idempotencyKey, refusal, toInbound, wantedLanguages } from '../inbound.ts';
import { turnOfRetry } from '../repeats.ts';
import { type HandlerDeps, type HttpContext, requestId } from '../route.ts';
import { NO_USAGE, TurnFeed } from '../turn-feed.ts';
import { type AnswerWriter, disconnectSignal, type FinishReason, type Refuse } from './answer.ts';
import type { SessionInput, ToolOutput } from './completion-messages.ts';
import { unsupported } from './fields.ts';

/** One call of the API in the gateway's terms, whichever route it came by. */
export interface ApiCall {
  /** Without one, the call stores nothing but its usage. */
  sessionId: string | undefined;
  /** The end user, as a digest. */
  user?: string | undefined;
  model: string;
  options: CallerOptions;
  /** Alternatives to report with each token; undefined = likelihoods are not asked for. */
  topLogprobs?: number | undefined;
  mode?: string | null | undefined;
  /** The whole conversation, without a session. Throws `HttpError` 400. */
  context(): StatelessMessage[];
  /** What is new, in a session. Throws `HttpError` 400. */
  input(): SessionInput;
  /** The caller's system text, in a session. Throws `HttpError` 400. */
  instructions(): string | undefined;
  stream: boolean;
  /** How a stream is written; server-sent events by default. */
  format?: StreamFormat;
  /** Writes the answer with this id to an open stream. */
  streamed(id: string, stream: EventStream, refuse: Refuse): AnswerWriter;
  /** Sends the answer with this id as one body. */
  whole(id: string, refuse: Refuse): AnswerWriter;
  fieldNames: FieldNames;
}

type OpenAnswer = (id: string) => AnswerWriter;

/** A stream is open before a message is accepted, so that one too many is refused. Throws `HttpError` 429. */
function openAnswer(c: HttpContext, deps: HandlerDeps, call: ApiCall): OpenAnswer {
  const { incoming, outgoing } = c.env;
  // Errors of the gateway itself are logged.
  const refuse = (error: HttpError): void => {
    if (error.status >= 500 || error.code === 'insufficient_quota') {
      const fields = { err: error.cause ?? error, requestId: requestId(outgoing) };
      deps.log.error(fields, 'chat_completion_failed');
    }
    sendError(outgoing, error);
  };
  if (!call.stream) return (id) => call.whole(id, refuse);
  const authorization = incoming.headers.authorization ?? '';
  const stream = deps.streams.add({ caller: c.get('caller'), authorization }, outgoing, call.format);
  return (id) => call.streamed(id, stream, refuse);
}

/** The header that offers the gateway's own tools besides those of the caller. Throws `HttpError` 400. */
export function wantsGatewayTools(incoming: IncomingMessage): boolean {
  const header = incoming.headers['x-gateway-tools'];
  if (header === undefined) return false;
  if (header === 'include') return true;
  throw new HttpError(400, 'unsupported_value', 'X-Gateway-Tools must be "include".', {
    param: 'x-gateway-tools',
  });
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
  const signal = disconnectSignal(outgoing);
  const messages = withinBound(call.context());
  const request = { messages, model, options, topLogprobs, ...(!call.stream && { whole: true }) };
  const endCall = await deps.limits.beginCall(caller);
  outgoing.once('close', endCall);
  const { id, chunks } = deps.completions.complete(caller, key, request, signal);
  const answer = openAnswer(c, deps, call)(id);
  try {
    for await (const chunk of chunks) {
      if (chunk.type === 'text') answer.text(chunk.delta, chunk.logprobs);
      else if (chunk.type === 'thinking') answer.thinking(chunk.delta);
      else if (chunk.type === 'tool_call') answer.toolCall(chunk.call);
      else if (chunk.type === 'text_was_thinking') answer.textWasThinking();
      else answer.finish(finishOf(chunk.finishReason), chunk.usage, chunk.echo?.fields);
    }
  } catch (error) {
    if (!signal.aborted) answer.fail(toHttpError(error, callerReader(caller), call.fieldNames));
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

/**
 * Answers in the session that the call names, else without one: the message, or the results of the caller's tools, go to the
 * session's lane, and its turn is the answer. Throws `HttpError` for what is refused before the answer is open; anything
 * later is reported in the answer.
 */
export async function answerCall(c: HttpContext, deps: HandlerDeps, call: ApiCall): Promise<Response> {
  const { sessionId } = call;
  if (sessionId === undefined) return await answerStateless(c, deps, call);
  const { incoming, outgoing } = c.env;
  const caller = c.get('caller');
  if (call.topLogprobs !== undefined) {
    throw unsupported(call.fieldNames.topLogprobs ?? 'logprobs', 'a session does not report them');
  }
  const input = call.input();
  const options = sessionOptions(call);
  const choice = await deps.gateway.resolveModel(call.model, AbortSignal.timeout(MODELS_TIMEOUT_MS));
  const mode = call.mode == null ? undefined : readMode(call.mode);
  const key: SessionKey = `http:${sessionId}`;
  await checkOptions(c, deps, call.fieldNames, { key, choice, options });
  const open = openAnswer(c, deps, call);
  const feed = new TurnFeed(deps.gateway, key);
  outgoing.once('close', () => feed.close());
  try {
    if (input.kind === 'results') {
      await followResults(c, deps, key, feed, open, options, input.results);
      return RESPONSE_ALREADY_SENT;
    }
    const { content, files } = input;
    const media = await storeFiles(c, deps, key, files);
    const message = toInbound(idempotencyKey(incoming), caller, sessionId, {
      content,
      media,
      user: call.user,
      language: wantedLanguages(incoming),
    });
    // A plan would call tools and write its own texts: an answer of a given form, or with given tools, has
    // none.
    const isPlain = options?.tools === undefined && options?.format === undefined;
    const entry = call.stream && isPlain ? 'runStream' : 'run';
    const ask = { entry, caller, mode, options, awaitsAnswer: true, ...choice } as const;
    const receipt =
      (await turnOfRetry(incoming, caller, message, deps.gateway, deps.answered)) ??
      (await deps.receive(message, ask));
    checkRepeat(receipt);
    if ('turnId' in receipt) outgoing.once('finish', () => deps.answered.add(receipt.turnId));
    follow(receipt, key, feed, open);
  } catch (error) {
    feed.close();
    open(newId()).fail(toHttpError(error, callerReader(caller), call.fieldNames));
  }
  return RESPONSE_ALREADY_SENT;
}

/** Puts the files of a request into the session's folder, as an upload does: a repeat stores nothing twice. */
async function storeFiles(
  c: HttpContext,
  { gateway, limits }: HandlerDeps,
  key: SessionKey,
  files: readonly InlineFile[],
): Promise<Media[]> {
  const caller = c.get('caller');
  const { maxFilesPerMessage } = gateway.files.limits;
  if (files.length > maxFilesPerMessage) {
    const text = `A message brings at most ${maxFilesPerMessage} files.`;
    throw new HttpError(400, 'too_many_files', text, { param: 'messages' });
  }
  const media: Media[] = [];
  for (const { name, base64 } of files) {
    const end = await limits.beginUpload(caller, key);
    try {
      const attachment = await gateway.files.upload(caller, key, { name, chunks: bytesOf(base64) });
      if (attachment === undefined) throw noSession(key);
      const { kind, mimeType, bytes, file } = attachment;
      media.push({ kind, name: attachment.name, mimeType, bytes, url: `session:${file}` });
    } finally {
      end();
    }
  }
  return media;
}

async function* bytesOf(base64: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(base64, 'base64');
}

/** The options of a call in a session, with its system text; undefined when it has none. Throws `HttpError`. */
function sessionOptions(call: ApiCall): CallerOptions | undefined {
  const instructions = call.instructions();
  if ((instructions?.length ?? 0) > MAX_INSTRUCTIONS) {
    const text = `The system messages are longer than ${MAX_INSTRUCTIONS} characters.`;
    throw new HttpError(413, 'too_large', text, { param: 'messages' });
  }
  const options = { ...call.options, ...(instructions !== undefined && { instructions }) };
  return Object.keys(options).length === 0 ? undefined : options;
}

/** Refuses what the session's model cannot do before the message is accepted. Only rare options need to ask. */
async function checkOptions(
  c: HttpContext,
  deps: HandlerDeps,
  fieldNames: FieldNames,
  request: {
    key: SessionKey;
    choice: { profileId?: string; model?: string };
    options: CallerOptions | undefined;
  },
): Promise<void> {
  const { options } = request;
  const isRare = options?.tools ?? options?.logitBias ?? options?.reasoningEffort;
  if (options === undefined || isRare === undefined) return;
  const signal = AbortSignal.timeout(MODELS_TIMEOUT_MS);
  try {
    await deps.gateway.checkOptions(c.get('caller'), { ...request, options }, signal);
  } catch (error) {
    throw toHttpError(error, callerReader(c.get('caller')), fieldNames);
  }
}

/** Hands over the results of the caller's tools, and forwards the rest of the turn that waited for them. */
async function followResults(
  c: HttpContext,
  deps: HandlerDeps,
  key: SessionKey,
  feed: TurnFeed,
  open: OpenAnswer,
  options: CallerOptions | undefined,
  results: ToolOutput[],
): Promise<void> {
  const continued = await deps.gateway.answerTools(c.get('caller'), key, { results, options });
  if (continued === undefined) throw noSession(key);
  const { turnId, before, part, repeated } = continued;
  const answeredIds = new Set(results.map(({ toolCallId }) => toolCallId));
  const writer = withoutLeadingBreak(open(`${turnId}.${part}`));
  feed.follow(turnId, writer, { replay: repeated, before: { ...before, answered: answeredIds } });
}

/** The paragraph that separates the rest of the turn from its beginning is not part of this answer. */
function withoutLeadingBreak(writer: AnswerWriter): AnswerWriter {
  let hasText = false;
  return {
    ...writer,
    text(delta) {
      writer.text(hasText ? delta : delta.replace(/^\n\n/, ''));
      hasText = true;
    },
  };
}

/** Forwards the turn's events to the client, or answers at once. */
function follow(receipt: Receipt, key: SessionKey, feed: TurnFeed, open: OpenAnswer): void {
  if (receipt.kind === 'refused') throw refusal(receipt, key);
  if (receipt.kind === 'handled') {
    feed.close();
    const answer = open(newId());
    answer.text(receipt.reply ?? '');
    answer.finish('stop', NO_USAGE);
    return;
  }
  const answer = open(receipt.turnId);
  if (receipt.kind === 'accepted' && receipt.position > 0) answer.waiting();
  feed.follow(receipt.turnId, answer, { replay: receipt.kind === 'duplicate' });
}
