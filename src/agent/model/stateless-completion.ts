/** A completion without a session: the given messages are the whole context, only `pure` tools run, and only the usage is stored. */
import type { Caller } from '../../contracts/access.ts';
import { GatewayError, toGatewayError } from '../../contracts/errors.ts';
import type { StatelessRequest } from '../../contracts/gateway-api.ts';
import { newId } from '../../lib/ids.ts';
import type { SessionKey } from '../../contracts/message.ts';
import type { ChatChunk, ChatMessage, ChatRequest, ToolCall, Usage } from '../../contracts/provider.ts';
import type { Profile } from '../../contracts/profile.ts';
import { contextRow } from '../prompt/history.ts';
import type { ContextRow } from '../prompt/history.ts';
import { modelWindow } from '../prompt/context-window.ts';
import { MAX_ANSWER_CHARS, MAX_CALLS_KEPT, MAX_CALLS_RUN } from '../deps.ts';
import type { AgentShared } from '../deps.ts';
import type { PreparedProfile } from '../prompt/prepared-profile.ts';
import { judgeCall, mustAsk } from '../tools/risk.ts';
import { StreamWatchdog } from './stream-watchdog.ts';
import { taintOf } from '../tools/taint.ts';
import { addUsage } from '../state/unjournaled-usage.ts';
import { meterCall } from './call-usage.ts';
import { checkCall, executeTool, failure } from '../tools/tool-run.ts';
import type { Outcome } from '../tools/tool-run.ts';

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
  /** Usage of all calls so far, broken ones included; undefined until the model has begun. */
  usage?: Usage;
}

/**
 * Yields text and thinking as they arrive, and one `done` with the usage of all calls; `length` when the iterations ran
 * out. The gateway runs the tools itself and yields no `tool_call`. The connection to the model is closed when the caller
 * stops reading or `signal` aborts. Throws `ProviderError`, `GatewayError('unknown_model')`, `StoreError`.
 */
export async function* completeStateless(
  shared: AgentShared,
  caller: Caller,
  request: StatelessRequest,
  signal: AbortSignal,
): AsyncGenerator<ChatChunk, void> {
  const resolved = await shared.models.resolve(request.model, signal);
  const profile = shared.models.profile(resolved.profileId);
  const completion: Completion = {
    id: newId(),
    caller,
    profile,
    prepared: shared.prepare(profile),
    model: resolved.model ?? profile.model ?? (await shared.models.fallback(signal)),
    signal,
    rows: request.messages.flatMap(({ role, content }): ContextRow[] => {
      if (role === 'tool') return [contextRow(0, { kind: 'user', content, source: 'local' })];
      return role === 'user' ? [contextRow(0, { kind: 'user', content })] : [];
    }),
  };
  try {
    yield* converse(shared, completion, request);
  } finally {
    const { model, usage } = completion;
    if (usage !== undefined) {
      const { tokenId } = caller;
      const userId = `token:${tokenId}`;
      await shared.deps.ledger.noteUsage({ purpose: 'stateless', tokenId, userId, ...usage, model });
    }
  }
}

async function* converse(
  shared: AgentShared,
  completion: Completion,
  request: StatelessRequest,
): AsyncGenerator<ChatChunk, void> {
  const messages = [...request.messages];
  let chars = 0;
  for (let n = 1; n <= completion.profile.maxIterations; n += 1) {
    const answer = yield* ask(shared, completion, request, messages, chars > 0);
    chars += answer.content.length;
    if (answer.toolCalls.length === 0) {
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

const NOTHING: Usage = { promptTokens: 0, completionTokens: 0, modelMs: 0 };

interface Answer {
  content: string;
  toolCalls: ToolCall[];
  finishReason: 'stop' | 'length';
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
  const temperature = stateless.temperature ?? profile.temperature;
  const maxTokens = stateless.maxTokens ?? profile.maxTokens;
  const request: ChatRequest = {
    model,
    messages,
    contextWindow: modelWindow(model, can, shared.deps.profiles()),
    sessionKey: sessionOf(completion.caller),
    ...(can.tools && prepared.schemas.length > 0 && { tools: prepared.schemas }),
    ...(can.thinking && { think: profile.thinkEnabled }),
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { maxTokens }),
  };
  const answer: Answer = { content: '', toolCalls: [], finishReason: 'length' };
  const meter = meterCall(request, prepared.toolTokens);
  const watchdog = new StreamWatchdog(signal, shared.limits);
  const queueable = { ...request, onQueued: () => watchdog.onQueued() };
  try {
    for await (const chunk of provider.streamChat(queueable, watchdog.start())) {
      watchdog.onChunk();
      meter.add(chunk);
      if (chunk.type === 'text' && chunk.delta !== '') {
        const paragraph = afterText && answer.content === '' ? '\n\n' : '';
        answer.content += chunk.delta;
        yield { type: 'text', delta: paragraph + chunk.delta };
      } else if (chunk.type === 'thinking') yield chunk;
      else if (chunk.type === 'tool_call' && answer.toolCalls.length < MAX_CALLS_KEPT) {
        answer.toolCalls.push(chunk.call);
      } else if (chunk.type === 'done') {
        answer.finishReason = chunk.finishReason === 'length' ? 'length' : 'stop';
      }
      if (answer.content.length > MAX_ANSWER_CHARS) break;
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
  const judgement = judgeCall(checked.tool, checked.args, taintOf(completion.rows));
  if (mustAsk(completion.profile, judgement)) return failure(`${judgement.warning} ${NEEDS_APPROVAL}`);
  const sessionKey = sessionOf(completion.caller);
  const workspace = await shared.deps.workspace(sessionKey).catch(toGatewayError);
  if (workspace instanceof GatewayError) return failure(workspace.message);
  const ctx = {
    sessionKey,
    address: sessionKey,
    userId: `token:${completion.caller.tokenId}`,
    userRole: completion.caller.scopes.includes('admin') ? ('owner' as const) : ('user' as const),
    model: completion.model,
    turnId: completion.id,
    profileId: completion.profile.id,
    workspace,
    callKey: `${completion.id}.${place}`,
    signal: completion.signal,
    log: shared.deps.log,
    emit: () => undefined,
  };
  const outcome = await executeTool(checked.tool, checked.args, ctx, shared.limits.toolMs);
  const names = { toolCallId: call.id, toolName: call.name, callIndex: 0 };
  completion.rows.push(contextRow(0, { kind: 'tool_result', ...names, ...outcome }));
  return outcome;
}

/** The session key of the completions of one token: for the fair queue at the model and the folder of their tools. */
function sessionOf(caller: Caller): SessionKey {
  return `stateless:${caller.tokenId}`;
}
