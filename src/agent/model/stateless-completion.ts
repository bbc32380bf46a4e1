/** A completion without a session: the given messages are the whole context, and only the usage is stored. */
import type { Caller } from '../../protocol/access.ts';
import type {
  CallerOptions,
  ChatChunk,
  ChatMessage,
  ChatRequest,
  Echo,
  FinishReason,
  ModelCapabilities,
  ToolCall,
  Usage,
} from '../../protocol/agent/provider.ts';
import { FieldError } from '../../protocol/errors.ts';
import type { StatelessMessage, StatelessRequest } from '../../protocol/gateway-api.ts';
import { newId } from '../../lib/ids.ts';
import type { Source } from '../../protocol/agent/risk.ts';
import { contextRow } from '../prompt/history.ts';
import { inputBudget, modelWindow, profileWindow } from '../prompt/context-window.ts';
import { NO_TOOLS, selectTools, TOOL_SHARE, type ToolSelection } from '../prompt/tool-selection.ts';
import { type AgentShared, MAX_ANSWER_CHARS, MAX_CALLS_KEPT, MAX_CALLS_RUN } from '../deps.ts';
import { estimateMessages } from './model-budget.ts';
import { RESERVED_ANSWER } from '../../protocol/agent/budgets.ts';
import type { ReadInline } from '../../protocol/media.ts';
import { markUntrusted } from '../prompt/marks.ts';
import { StreamWatchdog } from './stream-watchdog.ts';
import { Taint } from '../turn/turn-rows.ts';
import { addUsage } from '../turn/turn-state.ts';
import { type CallMeter, meterCall } from './model-call.ts';
import {
  callFields,
  callsOf,
  checkCalls,
  formatProblem,
  refuseUnsupported,
  withCallerOptions,
  wrongForm,
} from './caller-options.ts';
import { type Completion, runPure, sessionOf, userOf } from './stateless-tools.ts';

/**
 * Yields text and thinking as they arrive, and one `done` with the usage of all calls; `length` when the iterations ran
 * out. The gateway's tools run here and yield no `tool_call`; calls of the caller's tools are yielded, and end the answer.
 * The connection to the model is closed when the caller stops reading or `signal` aborts. Throws `ProviderError`,
 * `FieldError`, `GatewayError('unknown_model' | 'invalid_answer')`, `StoreError`.
 */
export async function* completeStateless(
  shared: AgentShared,
  caller: Caller,
  request: StatelessRequest,
  signal: AbortSignal,
): AsyncGenerator<ChatChunk, void> {
  const resolved = await shared.models.resolve(request.model, signal);
  const profile = shared.models.profile(resolved.profileId);
  const prepared = withCallerOptions(shared.prompts.prepare(profile), request.options);
  const isOfOthers = request.messages.some(({ role, files }) => role === 'tool' || files);
  const ofClient: Source[] = isOfOthers ? ['local'] : [];
  const completion: Completion = {
    id: newId(),
    sessionKey: sessionOf(caller),
    askedModel: resolved.model,
    log: shared.log,
    caller,
    profile,
    prepared,
    model: resolved.model ?? profile.model ?? (await shared.models.fallback(signal)),
    signal,
    rows: request.messages.flatMap(({ role, content }) =>
      role === 'user' ? [contextRow(0, { kind: 'user', content, author: userOf(caller) })] : [],
    ),
    // What the client's own tools returned, and what files say, is text of others.
    taint: new Taint([...ofClient, ...prepared.sources]),
  };
  try {
    yield* converse(shared, completion, request);
  } finally {
    const { id: holder, model, usage } = completion;
    if (usage !== undefined) {
      const { tokenId } = caller;
      const userId = userOf(caller);
      await shared.stores.ledger.noteUsage({
        purpose: 'stateless',
        tokenId,
        userId,
        holder,
        ...usage,
        model,
      });
    } else if (completion.holds === true) await shared.budgets.release(holder);
  }
}

async function* converse(
  shared: AgentShared,
  completion: Completion,
  request: StatelessRequest,
): AsyncGenerator<ChatChunk, void> {
  const { caller, signal } = completion;
  const messages = await withFilesRead(request.messages, shared.media.readInline, caller, signal);
  // Likelihoods belong to the text of one answer.
  const holds =
    request.whole === true && request.options?.format !== undefined && request.topLogprobs === undefined;
  let chars = 0;
  let mayRepeat = true;
  for (let n = 1; n <= completion.profile.maxIterations; n += 1) {
    const answer = yield* ask(shared, completion, request, messages, { afterText: chars > 0, holds });
    const isLast = answer.toolCalls.length === 0;
    if (holds && isLast && mayRepeat && n < completion.profile.maxIterations) {
      const problem = problemOf(answer, request.options);
      if (problem !== undefined) {
        mayRepeat = false;
        messages.push(
          { role: 'assistant', content: answer.content },
          { role: 'user', content: repeatNote(problem) },
        );
        continue;
      }
    }
    // Text before a call of the gateway's tools is no part of the JSON.
    if (holds && answer.content !== '' && (isLast || request.options?.tools !== undefined))
      yield { type: 'text', delta: answer.content };
    chars += answer.content.length;
    if (request.options?.tools !== undefined) {
      yield* endWithCalls(completion, request.options, answer);
      return;
    }
    if (answer.toolCalls.length === 0) {
      checkEnd(answer, request.options);
      const { finishReason, echo } = answer;
      yield { type: 'done', finishReason, usage: completion.usage ?? NOTHING, echo };
      return;
    }
    messages.push(answer.message());
    for (const [index, call] of answer.toolCalls.entries()) {
      const { content } = await runPure(shared, completion, call, `${n}.${index}`, index < MAX_CALLS_RUN);
      messages.push({ role: 'tool', content, toolCallId: call.id, toolName: call.name });
    }
  }
  yield { type: 'done', finishReason: 'length', usage: completion.usage ?? NOTHING };
}

/** The answer of a caller that runs the tools itself. */
function* endWithCalls(completion: Completion, options: CallerOptions, answer: Answer): Generator<ChatChunk> {
  const calls = callsOf(answer.toolCalls, options);
  // Whether there are calls is said below: some of the model's own may have been left out.
  const reason = answer.finishReason === 'tool_calls' ? 'stop' : answer.finishReason;
  if (reason === 'stop') checkCalls(calls, options);
  if (calls.length === 0) checkEnd({ content: answer.content, finishReason: reason }, options);
  for (const call of calls) yield { type: 'tool_call', call };
  const usage = completion.usage ?? NOTHING;
  yield {
    type: 'done',
    finishReason: calls.length > 0 && reason === 'stop' ? 'tool_calls' : reason,
    usage,
    echo: answer.echo,
  };
}

interface End {
  content: string;
  finishReason: FinishReason;
}

/** What is wrong with the form of an answer. One that was cut off cannot have it; its finish reason says so. */
function problemOf({ content, finishReason }: End, options: CallerOptions | undefined): string | undefined {
  return options?.format && finishReason === 'stop' ? formatProblem(content, options.format) : undefined;
}

/** Throws `GatewayError('invalid_answer')`. */
function checkEnd(answer: End, options: CallerOptions | undefined): void {
  const problem = problemOf(answer, options);
  if (problem !== undefined) throw wrongForm(problem);
}

/** What the model is told about an answer without the requested form; it may try once more. */
function repeatNote(problem: string): string {
  return `Your answer does not have the requested form: ${problem}. Send it again, as JSON alone.`;
}

const NOTHING: Usage = { promptTokens: 0, completionTokens: 0, modelMs: 0 };

/** What a call adds to those before it: a paragraph between their texts, or no text before its end. */
interface Passing {
  afterText: boolean;
  holds: boolean;
}

/** One answer: of the completion's model, or of the next one of its profile when that cannot begin to answer. */
async function* ask(
  shared: AgentShared,
  completion: Completion,
  stateless: StatelessRequest,
  messages: readonly ChatMessage[],
  passing: Passing,
): AsyncGenerator<ChatChunk, Answer> {
  for (;;) {
    const watchdog = new StreamWatchdog(completion.signal, shared.limits);
    let answer: Answer | undefined;
    try {
      const { request, toolTokens } = await requestOf(shared, completion, stateless, messages);
      answer = new Answer(request, toolTokens, passing);
      await hold(shared, completion, request, toolTokens);
      const queueable = { ...request, onQueued: () => watchdog.onQueued() };
      for await (const chunk of shared.provider.streamChat(queueable, watchdog.start())) {
        watchdog.onChunk();
        const output = answer.addChunk(chunk);
        if (output !== undefined) yield output;
        if (answer.chars > MAX_ANSWER_CHARS) break;
      }
      watchdog.throwIfEnded();
      shared.modelState.fallbacks.answered(completion, () => undefined);
      return answer;
    } catch (error) {
      completion.signal.throwIfAborted();
      // There is no conversation that could be notified.
      const failure = watchdog.timeout ?? error;
      const attempt = { error: failure, begun: watchdog.begun };
      if (!shared.modelState.fallbacks.change(completion, attempt, () => undefined)) throw failure;
    } finally {
      watchdog.close();
      // Also when the client has disconnected: the model has worked.
      const usage = answer?.usage(watchdog.startedAt);
      if (usage !== undefined) completion.usage = addUsage(completion.usage ?? NOTHING, usage);
    }
  }
}

/** Reserves for the next call what all have used and what this one may use. Throws `GatewayError('rate_limited')` at a budget. */
async function hold(
  { budgets }: AgentShared,
  completion: Completion,
  { model, messages, maxTokens: completionTokens = RESERVED_ANSWER }: ChatRequest,
  toolTokens: number,
): Promise<void> {
  const { id: holder, caller, profile, usage } = completion;
  const caps = budgets.capsFor({ person: userOf(caller), profile: profile.id });
  if (caps.length === 0) return;
  const promptTokens = toolTokens + estimateMessages(messages);
  const soFar = usage === undefined ? [] : [{ ...usage, model }];
  const outcome = await budgets.reserve({ holder }, caps, soFar, { model, promptTokens, completionTokens });
  if (outcome.kind === 'refused') throw budgets.usedUp(outcome.cap);
  completion.holds = true;
}

/** The answer of one call, as it streams. */
class Answer {
  content = '';
  echo: Echo | undefined;
  readonly toolCalls: ToolCall[] = [];
  finishReason: FinishReason = 'length';
  /** Text and thinking, both bounded: either may never end. */
  chars = 0;
  #thinking = '';
  readonly #request: ChatRequest;
  readonly #meter: CallMeter;
  readonly #passing: Passing;

  constructor(request: ChatRequest, toolTokens: number, passing: Passing) {
    this.#request = request;
    this.#meter = meterCall(request, toolTokens);
    this.#passing = passing;
  }

  /** Returns what is passed on, if anything. Throws `FieldError` where the server does not report what the client asked for. */
  addChunk(chunk: ChatChunk): ChatChunk | undefined {
    this.#meter.add(chunk);
    switch (chunk.type) {
      case 'text':
        this.chars += chunk.delta.length;
        return chunk.delta === '' ? undefined : this.#takeText(chunk);
      case 'thinking':
        this.chars += chunk.delta.length;
        this.#thinking += chunk.delta;
        return chunk;
      case 'text_was_thinking': {
        const text = this.content;
        this.#thinking += text;
        this.content = '';
        return this.#passing.holds ? { type: 'thinking', delta: text } : chunk;
      }
      case 'tool_call':
        if (this.toolCalls.length < MAX_CALLS_KEPT) this.toolCalls.push(chunk.call);
        return undefined;
      case 'done':
        this.finishReason = chunk.finishReason;
        this.echo = chunk.echo;
        return undefined;
      default:
        return chunk satisfies never;
    }
  }

  /** The answer for the model's next call. */
  message(): ChatMessage {
    const { content, toolCalls, echo } = this;
    return { role: 'assistant', content, toolCalls, echo, thinking: this.#thinking };
  }

  /** As `CallMeter.usage`. */
  usage(startedAt: number): Usage | undefined {
    return this.#meter.usage(startedAt);
  }

  #takeText(chunk: Extract<ChatChunk, { type: 'text' }>): ChatChunk | undefined {
    const isFirst = this.content === '';
    const { model, topLogprobs } = this.#request;
    if (topLogprobs !== undefined && chunk.logprobs === undefined && isFirst)
      throw new FieldError('topLogprobs', `the server of the model ${model} does not report them`);
    this.content += chunk.delta;
    if (this.#passing.holds) return undefined;
    return { ...chunk, delta: (this.#passing.afterText && isFirst ? '\n\n' : '') + chunk.delta };
  }
}

/** The request of a call, and the tokens of its tools. Throws `FieldError` for what the model cannot do, and `ProviderError`. */
async function requestOf(
  shared: AgentShared,
  completion: Completion,
  { options, topLogprobs }: StatelessRequest,
  messages: readonly ChatMessage[],
): Promise<{ request: ChatRequest; toolTokens: number }> {
  const { model, profile, signal, caller } = completion;
  const can = await shared.provider.capabilities(model, signal);
  refuseUnsupported(model, can, options);
  if (!can.vision && showsPictures(messages))
    throw new FieldError('messages', `the model ${model} cannot see pictures`);
  const { contextWindow, tools } = windowOf(shared, completion, can, messages);
  const request = {
    model,
    messages,
    contextWindow,
    userId: `token:${caller.tokenId}`,
    ...(tools.schemas.length > 0 && { tools: tools.schemas }),
    ...callFields(profile, can, options),
    topLogprobs,
  };
  return { request, toolTokens: tools.tokens };
}

/** The window that the caller's messages need, within what the server reports, and the tools that it has room for. */
function windowOf(
  shared: AgentShared,
  { model, profile, prepared }: Completion,
  can: ModelCapabilities,
  messages: readonly ChatMessage[],
): { contextWindow: number; tools: ToolSelection } {
  const tokens = estimateMessages(messages);
  for (;;) {
    const usual = shared.modelState.windows.of(model, can);
    const contextWindow = modelWindow(model, can, shared.profiles(), usual);
    const window = profileWindow(contextWindow, profile, usual);
    const tools = can.tools ? selectTools(prepared, Math.floor(window * TOOL_SHARE)) : NO_TOOLS;
    if (
      tokens <= inputBudget(window, profile, tools.tokens) ||
      !shared.modelState.windows.grow(model, can, profile)
    )
      return { contextWindow, tools };
  }
}

/**
 * The messages with their files read; those without any pass as they are. Throws `GatewayError`: `file_too_large`,
 * `unreadable_file`.
 */
async function withFilesRead(
  messages: readonly StatelessMessage[],
  readInline: ReadInline,
  { tokenId }: Caller,
  signal: AbortSignal,
): Promise<ChatMessage[]> {
  const read: ChatMessage[] = [];
  for (const { files = [], ...message } of messages) {
    if (message.role !== 'user' || files.length === 0) {
      read.push(message);
      continue;
    }
    // One after another: each is held in memory while it is read.
    const texts = [message.content];
    const images = [];
    for (const file of files) {
      const { name, picture, text, spoken: speech } = await readInline(file, `token:${tokenId}`, signal);
      if (picture !== undefined) images.push(picture);
      // A part of the message, as the words that are typed next to it.
      if (speech !== undefined) texts.push(speech);
      if (text !== undefined) texts.push(markUntrusted(`an attached file, ${name}`, text));
    }
    const content = texts.filter((text) => text !== '').join('\n\n');
    read.push({ role: 'user', content, ...(images.length > 0 && { images }) });
  }
  return read;
}

/** True when one of the messages shows pictures. */
function showsPictures(messages: readonly ChatMessage[]): boolean {
  return messages.some((message) => message.role === 'user' && message.images !== undefined);
}
