/** One answer of the model within a turn: its context, the call, and its journal row. */
import { toGatewayError } from '../../protocol/errors.ts';
import type { ChatRequest, LLMResponse, ModelCapabilities } from '../../protocol/agent/provider.ts';
import type { Omission } from '../../protocol/agent/omissions.ts';
import type { PromptParts } from '../../protocol/store/traces.ts';
import type { Answer } from '../prompt/history.ts';
import { withModePrompt } from '../plans/step-prompt.ts';
import { promptStart, type PromptStart } from '../prompt/system-prompt.ts';
import type { FittedPrompt } from '../prompt/context-window.ts';
import { fitTurn } from '../prompt/turn-prompt.ts';
import { type AgentShared, type Emit, MAX_CALLS_RUN } from '../deps.ts';
import { notesFor } from '../prompt/nudges.ts';
import { callFields, callsOf, refuseUnsupported } from '../model/caller-options.ts';
import { type ModelCall, streamAnswer } from '../model/model-call.ts';
import { holdCall } from '../model/hold-call.ts';
import { type Attempts, firstAttempt, prepareRepeat, repeatsEmpty } from './repeat-call.ts';
import { isTooSmall, makePrompt, modelBudget, type ModelBudget } from '../model/model-budget.ts';
import { optionsOfCall } from '../tools/caller-calls.ts';
import { directCall } from '../tools/tool-pair.ts';
import { callMsgId, type Turn } from './turn-state.ts';

/** How much of an unknown reason for the end of an answer is logged. */
const MAX_REASON_CHARS = 100;

/**
 * Requests the turn's n-th answer and stores it: in the journal (T2) when tool calls follow, else among the rows that T6
 * commits with the end of the turn. Throws `ProviderError`, `GatewayError` (window), `StoreError`, or the signal's
 * reason; the reply then still contains the text of the broken call.
 */
export async function askModel(shared: AgentShared, turn: Turn, n: number, emit: Emit): Promise<Answer> {
  const msgId = callMsgId(turn, n);
  let attempts: Attempts = firstAttempt();
  for (;;) {
    const atMs = turn.trace?.nowMs ?? 0;
    const call: ModelCall = {
      provider: shared.provider,
      msgId,
      reply: turn.reply,
      limits: shared.limits,
      signal: turn.signal,
      waits: turn.waits,
      say: turn.say,
      begun: false,
    };
    let omissions: readonly Omission[] | undefined;
    call.onSlow = () => noteSlow(shared, turn, emit);
    call.onOmissions = (parts) => {
      omissions = parts;
      shared.modelState.omissionNotices.tell(turn, { model: turn.model ?? '', omissions: parts }, emit);
    };
    let response: LLMResponse;
    let prompt: PreparedRequest | undefined;
    try {
      prompt = await makeRequest(shared, turn, n, attempts.mostTokens, emit);
      const { request, estimated } = prompt;
      turn.trace?.calling(n, request);
      const promptTokens = estimated * shared.modelState.scale.of(request.model);
      await holdCall(shared, turn, request, promptTokens, emit);
      response = await streamAnswer(call, request, promptTokens, emit);
      noteCall(turn, n, call, { atMs, prompt, omissions }, { response });
      if (!response.usage.estimated) {
        shared.modelState.scale.learn(request.model, estimated, response.usage.promptTokens);
      }
    } catch (error) {
      noteCall(turn, n, call, { atMs, prompt, omissions }, { error });
      if (
        !turn.signal.aborted &&
        shared.modelState.fallbacks.change(turn, { error, begun: call.begun }, emit)
      ) {
        attempts = firstAttempt();
        continue;
      }
      await prepareRepeat(shared, turn, { n, call, attempts, error, estimated: prompt?.estimated }, emit);
      continue;
    }
    if (repeatsEmpty(turn, { n, call, attempts, response }, emit)) continue;
    shared.modelState.fallbacks.answered(turn, emit);
    turn.lastFinish = response.finishReason;
    emit({ type: 'stream_end', msgId, content: turn.reply.closeCall(), usage: response.usage });
    return await storeAnswer(shared, turn, n, response);
  }
}

/** Tells the user, once in a turn, that the model has not begun to answer, and how long the turn waits. */
function noteSlow({ limits }: AgentShared, turn: Turn, emit: Emit): void {
  if (turn.isSlowNoted || turn.parentTurnId !== undefined) return;
  turn.isSlowNoted = true;
  const seconds = limits.firstChunkMs / 1_000;
  emit({ type: 'notice', code: 'model_slow', text: turn.say('turn.model_slow', { seconds }) });
}

/**
 * Notes a call that has ended, with an answer or an error, for the trace and the log; also one for which no server could be
 * asked for its model.
 */
function noteCall(
  turn: Turn,
  iteration: number,
  call: ModelCall,
  { atMs, prompt, omissions }: { atMs: number; prompt?: PreparedRequest; omissions?: readonly Omission[] },
  { response, error }: { response?: LLMResponse; error?: unknown },
): void {
  const model = prompt?.request.model ?? turn.model ?? '';
  const { usage, firstTokenMs } = call;
  const failure = error === undefined ? undefined : toGatewayError(error);
  turn.trace?.modelCall(atMs, {
    iteration,
    model,
    firstTokenMs,
    usage,
    prompt: prompt?.parts,
    ...(omissions && { omissions }),
    ...(response && { finishReason: response.finishReason }),
    ...(failure && { error: { code: failure.code, message: failure.message } }),
  });
  const fields = { iteration, model, firstTokenMs, ...usage, omissions };
  if (response?.unknownReason !== undefined)
    turn.log.warn(
      { model, reason: response.unknownReason.slice(0, MAX_REASON_CHARS) },
      'unknown_finish_reason',
    );
  if (failure === undefined) turn.log.debug(fields, 'model_call_ended');
  else turn.log.debug({ ...fields, code: failure.code }, 'model_call_failed');
}

async function storeAnswer(
  { stores: { ledger } }: AgentShared,
  turn: Turn,
  n: number,
  response: LLMResponse,
): Promise<Answer> {
  const answer: Answer = {
    kind: 'assistant',
    content: response.content,
    toolCalls: callsOf(response.toolCalls, turn.options).map((call) => directCall(call, turn.prepared.tools)),
    msgId: callMsgId(turn, n),
    usage: response.usage,
    ...(turn.model !== undefined && { model: turn.model }),
    ...(response.thinking !== '' && { thinking: response.thinking }),
    ...(response.echo && { echo: response.echo }),
    ...turn.otherUsage.takeUnreported(),
  };
  turn.rows.add(n, answer);
  for (const [callIndex, call] of answer.toolCalls.entries()) {
    if (callIndex < MAX_CALLS_RUN) continue;
    const content = `Not run: at most ${MAX_CALLS_RUN} tool calls of one answer are run. Ask for the rest again.`;
    const names = { toolCallId: call.id, toolName: call.name };
    turn.rows.add(n, { kind: 'tool_result', ...names, callIndex, content, isError: true });
  }
  if (response.toolCalls.length > 0) {
    const rows = turn.rows.fresh();
    await ledger.journalAnswer(turn.fence, turn.turnId, rows);
    turn.rows.journaled(rows);
  }
  return answer;
}

interface PreparedRequest {
  request: ChatRequest;
  /** Tokens of the whole prompt, before they are scaled. */
  estimated: number;
  parts: PromptParts;
}

/** Builds the request of one call (N-43, N-44), within the server's window and the profile's limits. */
async function makeRequest(
  shared: AgentShared,
  turn: Turn,
  n: number,
  most: number,
  emit: Emit,
): Promise<PreparedRequest> {
  const { profile } = turn;
  const { model, can, contextWindow, start, fitted } = await fittedPrompt(shared, turn, n, most);
  refuseUnsupported(model, can, turn.options);
  shared.modelState.smallWindow.note(turn, model, contextWindow, start, fitted, emit);
  const { messages, tokens, parts } = fitted;
  const { schemas, tokens: toolTokens } = start.tools;
  const request: ChatRequest = {
    model,
    messages,
    contextWindow,
    userId: turn.userId,
    ...(schemas.length > 0 && { tools: schemas }),
    ...callFields(profile, can, optionsOfCall(turn, n)),
  };
  return { request, estimated: tokens + toolTokens, parts: { ...parts, tools: toolTokens } };
}

/** A prompt, and the budget that it was made for. */
type Made = ModelBudget & { start: PromptStart; fitted: FittedPrompt };

/**
 * The prompt of a call. One that does not fit gets a larger window where the server has one, and else no tools. Throws
 * `GatewayError('window_too_small' | 'message_too_large')`, `ProviderError`.
 */
async function fittedPrompt(shared: AgentShared, turn: Turn, n: number, most: number): Promise<Made> {
  const make = (available: ModelBudget, toolLimit: number): Made => {
    const start = startOf(turn, available.can, toolLimit);
    const note = notesFor(turn, n, shared.prompts.environmentNoteOf(turn));
    return { ...available, start, fitted: fitTurn(turn, note, start, available.budget) };
  };
  try {
    return await makePrompt(shared, turn, { most }, (available) => make(available, available.toolLimit));
  } catch (error) {
    const bringsTools = (turn.options?.tools?.length ?? 0) > 0;
    if (!isTooSmall(error) || bringsTools || turn.prepared.schemas.length === 0) throw error;
    return make(await modelBudget(shared, turn, { most }), 0);
  }
}

/** The start of the prompt; in planner mode, where the model itself follows a plan, with the prompt of that mode (S-44). */
function startOf(turn: Turn, can: ModelCapabilities, toolLimit: number): PromptStart {
  const start = promptStart(turn, can, toolLimit);
  const { plan } = turn;
  return plan?.mode === 'planner' ? { ...start, system: withModePrompt(start.system, plan.mode) } : start;
}
