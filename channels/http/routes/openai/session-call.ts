/** A call of the API in a session: its message is accepted like that of any channel, and its turn is the answer. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { TurnEndReason } from '../../../../src/protocol/event.ts';
import type { InlineFile, Media } from '../../../../src/protocol/media.ts';
import type { SessionKey } from '../../../../src/protocol/message.ts';
import { readMode } from '../../../../src/protocol/agent/plan.ts';
import type { CallerOptions, Usage } from '../../../../src/protocol/agent/provider.ts';
import type { Receipt } from '../../../../src/protocol/receive.ts';
import { newId } from '../../../../src/lib/ids.ts';
import { turnOfRetry } from '../../client-retries.ts';
import { MAX_INSTRUCTIONS, MODELS_TIMEOUT_MS } from '../../config.ts';
import { callerReader, endedTurn, HttpError, noSession, toHttpError } from '../../errors.ts';
import { checkRepeat, refusal, idempotencyKey, toInbound, wantedLanguages } from '../../inbound.ts';
import type { HandlerDeps, HttpContext } from '../../route.ts';
import { TurnFeed } from '../../turn-feed.ts';
import type { ApiCall } from './api-call.ts';
import type { CompletionAnswer, FinishReason } from './completion-answer.ts';
import type { ToolOutput } from './completion-messages.ts';
import { unsupported } from './fields.ts';
import type { TurnEnd, TurnReader } from '../turn-reader.ts';

const NO_USAGE: Usage = { promptTokens: 0, completionTokens: 0, modelMs: 0 };

/**
 * Passes the message, or the results of the caller's tools, to the session's lane and forwards the turn. Throws
 * `HttpError` for what is refused before the answer is open; anything later is reported in the answer.
 */
export async function answerInSession(
  c: HttpContext,
  deps: HandlerDeps,
  call: ApiCall,
  sessionId: string,
): Promise<Response> {
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
  await checkOptions(c, deps, call, { key, choice, options });
  const openAnswer = call.open();
  const feed = new TurnFeed(deps.gateway, key);
  outgoing.once('close', () => feed.close());
  try {
    if (input.kind === 'results') {
      await followResults(c, deps, { key, feed, openAnswer, options, results: input.results });
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
      (await turnOfRetry(incoming, caller, message, deps)) ?? (await deps.receive(message, ask));
    checkRepeat(receipt);
    if ('turnId' in receipt) outgoing.once('finish', () => deps.answered.add(receipt.turnId));
    follow(receipt, key, feed, openAnswer);
  } catch (error) {
    feed.close();
    openAnswer(newId()).fail(toHttpError(error, callerReader(caller), call.fieldNames));
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
      const stored = await gateway.files.upload(caller, key, { name, chunks: bytesOf(base64) });
      if (stored === undefined) throw noSession(key);
      const { kind, mimeType, bytes, file } = stored;
      media.push({ kind, name: stored.name, mimeType, bytes, url: `session:${file}` });
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
  { fieldNames }: ApiCall,
  asked: {
    key: SessionKey;
    choice: { profileId?: string; model?: string };
    options: CallerOptions | undefined;
  },
): Promise<void> {
  const { options } = asked;
  const isRare = options?.tools ?? options?.logitBias ?? options?.reasoningEffort;
  if (options === undefined || isRare === undefined) return;
  const signal = AbortSignal.timeout(MODELS_TIMEOUT_MS);
  try {
    await deps.gateway.checkOptions(c.get('caller'), { ...asked, options }, signal);
  } catch (error) {
    throw toHttpError(error, callerReader(c.get('caller')), fieldNames);
  }
}

/** Hands over the results of the caller's tools, and forwards the rest of the turn that waited for them. */
async function followResults(
  c: HttpContext,
  deps: HandlerDeps,
  call: {
    key: SessionKey;
    feed: TurnFeed;
    openAnswer: (id: string) => CompletionAnswer;
    options: CallerOptions | undefined;
    results: ToolOutput[];
  },
): Promise<void> {
  const { key, feed, openAnswer, options, results } = call;
  const continued = await deps.gateway.answerTools(c.get('caller'), key, { results, options });
  if (continued === undefined) throw noSession(key);
  const { turnId, before, part, repeated } = continued;
  const answered = new Set(results.map(({ toolCallId }) => toolCallId));
  const reader = readerOf(openAnswer(`${turnId}.${part}`));
  feed.follow(turnId, withoutLeadingBreak(reader), { replay: repeated, before: { ...before, answered } });
}

/** The paragraph that separates the rest of the turn from its beginning is not part of this answer. */
function withoutLeadingBreak(reader: TurnReader): TurnReader {
  let begun = false;
  return {
    ...reader,
    text(delta) {
      reader.text(begun ? delta : delta.replace(/^\n\n/, ''));
      begun = true;
    },
  };
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
  feed.follow(receipt.turnId, readerOf(answer), { replay: receipt.kind === 'duplicate' });
}

function readerOf(answer: CompletionAnswer): TurnReader {
  return {
    whole: answer.whole,
    text: answer.text,
    thinking: answer.thinking,
    waiting: answer.waiting,
    failed: answer.fail,
    toolCalls(calls, usage) {
      for (const call of calls) answer.toolCall(call);
      answer.finish('tool_calls', usage);
    },
    ended: (end) => finish(answer, end),
  };
}

/** OpenAI's reasons for the ends of turns that have an answer; any other is `stop`. */
const FINISH_REASONS: Partial<Record<TurnEndReason, FinishReason>> = {
  cut_off: 'length',
  max_iterations: 'length',
  filtered: 'content_filter',
};

function finish(answer: CompletionAnswer, end: TurnEnd): void {
  if (end.reason === 'failed' || end.reason === 'interrupted') {
    answer.fail(endedTurn(end));
  } else answer.finish(FINISH_REASONS[end.reason] ?? 'stop', end.usage);
}
