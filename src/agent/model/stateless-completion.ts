/** A completion without a session: the given messages are the whole context, and only the usage is stored. */
import type { Caller } from '../../contracts/access.ts';
import type {
  CallerOptions,
  ChatChunk,
  ChatMessage,
  ChatRequest,
  FinishReason,
  ToolCall,
  Usage,
} from '../../contracts/provider.ts';
import { FieldError, GatewayError, toGatewayError } from '../../contracts/errors.ts';
import type { StatelessRequest } from '../../contracts/gateway-api.ts';
import { STATELESS_FOLDER } from '../../contracts/tool.ts';
import { newId } from '../../lib/ids.ts';
import type { SessionKey } from '../../contracts/message.ts';
import type { Source } from '../../contracts/risk.ts';
import type { Profile } from '../../contracts/profile.ts';
import { contextRow } from '../prompt/history.ts';
import type { ContextRow } from '../prompt/history.ts';
import { modelWindow } from '../prompt/context-window.ts';
import { MAX_ANSWER_CHARS, MAX_CALLS_KEPT, MAX_CALLS_RUN } from '../deps.ts';
import type { AgentShared } from '../deps.ts';
import type { PreparedProfile } from '../prompt/prepared-profile.ts';
import { judgeCall, mustAsk } from '../tools/risk.ts';
import { showsPictures, withFilesRead } from './stateless-files.ts';
import { StreamWatchdog } from './stream-watchdog.ts';
import { Taint } from '../state/taint.ts';
import { addUsage } from '../state/unjournaled-usage.ts';
import { meterCall } from './call-usage.ts';
import {
  callFields,
  callsOf,
  checkCalls,
  checkFormat,
  refuseUnsupported,
  withCallerOptions,
} from './caller-options.ts';
import { checkCall, contentForModel, executeTool, failure } from '../tools/tool-run.ts';
import type { Outcome } from '../tools/tool-run.ts';
import { sentBy } from '../tools/unasked-reads.ts';

/** Tool result of a call that would have to wait for a human. */
const NEEDS_APPROVAL =
  'Not run: a person must allow it, and a completion without a session cannot wait for one (X-Session-Id names one).';

interface Completion {
  id: string;
  caller: Caller;
  profile: Profile;
  prepared: PreparedProfile;
  model: string;
  signal: AbortSignal;
  /** Input of the approval gate: the caller's messages and the results of the tools. */
  rows: ContextRow[];
  taint: Taint;
  /** Usage of all calls so far, broken ones included; undefined until the model has begun. */
  usage?: Usage;
}

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
  const prepared = withCallerOptions(shared.prepare(profile), request.options);
  const isOfOthers = request.messages.some(({ role, files }) => role === 'tool' || files);
  const ofClient: Source[] = isOfOthers ? ['local'] : [];
  const completion: Completion = {
    id: newId(),
    caller,
    profile,
    prepared,
    model: resolved.model ?? profile.model ?? (await shared.models.fallback(signal)),
    signal,
    rows: request.messages.flatMap(({ role, content }) =>
      role === 'user' ? [contextRow(0, { kind: 'user', content, author: userOf(caller) })] : [],
    ),
    // What the client's own tools gave back, and what files say, is text of others.
    taint: new Taint([...ofClient, ...prepared.sources]),
  };
  try {
    yield* converse(shared, completion, request);
  } finally {
    const { model, usage } = completion;
    if (usage !== undefined) {
      const { tokenId } = caller;
      const userId = userOf(caller);
      await shared.deps.ledger.noteUsage({ purpose: 'stateless', tokenId, userId, ...usage, model });
    }
  }
}

async function* converse(
  shared: AgentShared,
  completion: Completion,
  request: StatelessRequest,
): AsyncGenerator<ChatChunk, void> {
  const { caller, signal } = completion;
  const messages = await withFilesRead(request.messages, shared.deps.readInline, caller, signal);
  let chars = 0;
  for (let n = 1; n <= completion.profile.maxIterations; n += 1) {
    const answer = yield* ask(shared, completion, request, messages, chars > 0);
    chars += answer.content.length;
    if (request.options?.tools !== undefined) {
      yield* endWithCalls(completion, request.options, answer);
      return;
    }
    if (answer.toolCalls.length === 0) {
      checkEnd(answer, request.options);
      yield { type: 'done', finishReason: answer.finishReason, usage: completion.usage ?? NOTHING };
      return;
    }
    messages.push({ role: 'assistant', content: answer.content, toolCalls: answer.toolCalls });
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
  const ended = answer.finishReason === 'tool_calls' ? 'stop' : answer.finishReason;
  if (ended === 'stop') checkCalls(calls, options);
  if (calls.length === 0) checkEnd({ ...answer, finishReason: ended }, options);
  for (const call of calls) yield { type: 'tool_call', call };
  const usage = completion.usage ?? NOTHING;
  yield {
    type: 'done',
    finishReason: calls.length > 0 && ended === 'stop' ? 'tool_calls' : ended,
    usage,
  };
}

/** An answer that was cut off cannot have its form; its finish reason says so. */
function checkEnd({ content, finishReason }: Answer, options: CallerOptions | undefined): void {
  if (options !== undefined && finishReason === 'stop') checkFormat(content, options);
}

const NOTHING: Usage = { promptTokens: 0, completionTokens: 0, modelMs: 0 };

interface Answer {
  content: string;
  toolCalls: ToolCall[];
  finishReason: FinishReason;
}

async function* ask(
  shared: AgentShared,
  completion: Completion,
  stateless: StatelessRequest,
  messages: readonly ChatMessage[],
  afterText: boolean,
): AsyncGenerator<ChatChunk, Answer> {
  const { provider } = shared.deps;
  const { model, profile, prepared, signal } = completion;
  const can = await provider.capabilities(model, signal);
  refuseUnsupported(model, can, stateless.options);
  if (!can.vision && showsPictures(messages))
    throw new FieldError('messages', `the model ${model} cannot see pictures`);
  const request: ChatRequest = {
    model,
    messages,
    contextWindow: modelWindow(model, can, shared.deps.profiles()),
    userId: `token:${completion.caller.tokenId}`,
    ...(can.tools && prepared.schemas.length > 0 && { tools: prepared.schemas }),
    ...callFields(profile, can, stateless.options),
    topLogprobs: stateless.topLogprobs,
  };
  const answer: Answer = { content: '', toolCalls: [], finishReason: 'length' };
  /** Text and thinking, both bounded: either may never end. */
  let chars = 0;
  const meter = meterCall(request, prepared.toolTokens);
  const watchdog = new StreamWatchdog(signal, shared.limits);
  const queueable = { ...request, onQueued: () => watchdog.onQueued() };
  try {
    for await (const chunk of provider.streamChat(queueable, watchdog.start())) {
      watchdog.onChunk();
      meter.add(chunk);
      if (chunk.type === 'text' && chunk.delta !== '') {
        if (request.topLogprobs !== undefined && chunk.logprobs === undefined && answer.content === '') {
          throw new FieldError('topLogprobs', `the server of the model ${model} does not tell them`);
        }
        const paragraph = afterText && answer.content === '' ? '\n\n' : '';
        answer.content += chunk.delta;
        yield { ...chunk, delta: paragraph + chunk.delta };
      } else if (chunk.type === 'thinking') yield chunk;
      else if (chunk.type === 'tool_call' && answer.toolCalls.length < MAX_CALLS_KEPT) {
        answer.toolCalls.push(chunk.call);
      } else if (chunk.type === 'done') {
        answer.finishReason = chunk.finishReason;
      } else if (chunk.type === 'text_was_thinking') {
        answer.content = '';
        yield chunk;
      }
      if (chunk.type === 'text' || chunk.type === 'thinking') chars += chunk.delta.length;
      if (chars > MAX_ANSWER_CHARS) break;
    }
    watchdog.throwIfEnded();
  } catch (error) {
    throw watchdog.timeout ?? error;
  } finally {
    watchdog.close();
    // Also when the client has disconnected: the model has worked.
    const usage = meter.usage(watchdog.startedAt);
    if (usage !== undefined) completion.usage = addUsage(completion.usage ?? NOTHING, usage);
  }
  return answer;
}

async function runPure(
  shared: AgentShared,
  completion: Completion,
  call: ToolCall,
  place: string,
  mayRun: boolean,
): Promise<Outcome> {
  if (!mayRun) return failure(`Not run: at most ${MAX_CALLS_RUN} tool calls of one answer are run.`);
  const checked = checkCall(call, completion.prepared.tools);
  if ('refusal' in checked) return checked.refusal;
  const { taint, rows, caller } = completion;
  const judgement = judgeCall(checked.tool, checked.args, { taint, rows, author: userOf(caller) });
  if (mustAsk(completion.profile, judgement)) return failure(`${judgement.warning} ${NEEDS_APPROVAL}`);
  const sessionKey = sessionOf(completion.caller);
  const workspace = await shared.deps.files.open(STATELESS_FOLDER).catch(toGatewayError);
  if (workspace instanceof GatewayError) return failure(workspace.message);
  const ctx = {
    sessionKey,
    address: sessionKey,
    userId: userOf(caller),
    memoryOwner: userOf(caller),
    userRole: completion.caller.scopes.includes('admin') ? ('owner' as const) : ('user' as const),
    model: completion.model,
    turnId: completion.id,
    profileId: completion.profile.id,
    workspace,
    folder: STATELESS_FOLDER,
    sources: taint.sources,
    callKey: `${completion.id}.${place}`,
    signal: completion.signal,
    log: shared.deps.log,
    emit: () => undefined,
    progress: () => undefined,
  };
  const reach = checked.tool.reach(checked.args);
  if (typeof reach !== 'string') taint.noteSent(sentBy(reach));
  const { from, ...outcome } = await executeTool(checked.tool, checked.args, ctx, shared.limits.toolMs);
  taint.add(outcome.sources ?? []);
  const names = { toolCallId: call.id, toolName: call.name, callIndex: 0 };
  rows.push(contextRow(0, { kind: 'tool_result', ...names, ...outcome }));
  return { ...outcome, content: contentForModel(call.name, { ...outcome, from }) };
}

function userOf({ tokenId }: Caller): string {
  return `token:${tokenId}`;
}

/** The session key in the context of the tools of one token's completions; they have no session. */
function sessionOf(caller: Caller): SessionKey {
  return `stateless:${caller.tokenId}`;
}
