/** A turn from its first event to its result: the tool-calling loop, and the end of a turn that cannot continue (N-01, N-02). */
import { LaneAbort } from '../../protocol/bus.ts';
import { GatewayError, StoreError } from '../../protocol/errors.ts';
import { isFailure } from '../../protocol/event.ts';
import type { TurnFailure } from '../../protocol/store/records.ts';
import type { Answer } from '../prompt/history.ts';
import type { AgentShared, Emit } from '../deps.ts';
import { checkCalls, checkFormat, withCallerOptions } from '../model/caller-options.ts';
import { endOfAnswer, failureText, turnReader } from './failure-text.ts';
import { askModel } from './iteration.ts';
import { takeSteering } from './queue-modes.ts';
import { runPlan } from '../plans/run-plan.ts';
import { followTodos, settlePlan } from '../plans/follow-plan.ts';
import { hasPlannedOn, planOnCall, planOnly, planTurn } from '../plans/plan-turn.ts';
import { SWITCH_PROFILE } from '../../protocol/agent/profile.ts';
import { callMsgId, emitReset, type Turn, type TurnResult } from './turn-state.ts';
import { isSilent } from './silent-reply.ts';
import { askOnly } from '../tools/ask-person.ts';
import { optionsOfCall } from '../tools/caller-calls.ts';
import { runToolCalls } from '../tools/tool-calls.ts';

/** Options of a turn. */
export interface TurnOptions {
  /**
   * `first`: makes a plan where the profile enables it (N-14), or begins the run of a stored one, and carries it out.
   * `never`: for schedules and whole completions (N-02, N-03). `only`: makes a plan, stores it and ends.
   */
  planning: 'first' | 'never' | 'only';
  /** Shortens the history of earlier turns before the first model call; undefined if there is none. */
  compress?: (emit: Emit) => Promise<void>;
}

/**
 * Runs a turn to its result. `emit` gets every event but `turn_ended`, which follows the commit. Throws `StoreError`,
 * `ApprovalWait`, or a `LaneAbort` after which the turn is continued later; every other failure becomes the text of the
 * result (B-47).
 */
export async function runTurn(
  shared: AgentShared,
  turn: Turn,
  { planning, compress }: TurnOptions,
  emit: Emit,
): Promise<TurnResult> {
  emit({ type: 'turn_started' });
  if (turn.restarted) {
    // Text after the last journaled answer will be streamed again, or never.
    emitReset(turn, [openMsgId(turn), endMsgId(turn)], emit);
  }
  let result: TurnResult | undefined;
  try {
    if (turn.question !== undefined) return endWith(turn, askOnly(turn, turn.question), emit);
    // Before the first prompt is made, because what others wrote about the tools is part of each.
    followTools(shared, turn);
    await compress?.(emit);
    if (planning === 'first') {
      await planTurn(shared, turn, emit);
      await runPlan(shared, turn, 1, emit);
    } else if (planning === 'only') {
      const text = await planOnly(shared, turn, emit);
      result = endWith(turn, { reason: 'completed', text, isError: false }, emit);
    }
    for (let n = 1; result === undefined && n <= turn.profile.maxIterations; n += 1) {
      turn.signal.throwIfAborted();
      await takeSteering(shared, turn, n, emit);
      followTools(shared, turn);
      // An answer that is in the journal is not requested again.
      const answer = turn.rows.answer(n) ?? (await askModel(shared, turn, n, emit));
      result = await actOnAnswer(shared, turn, n, answer, emit);
    }
    result ??= endWith(turn, { reason: 'max_iterations', text: limitText(turn), isError: false }, emit);
  } catch (error) {
    result = await endEarly(shared, turn, error, emit);
  }
  await settlePlan(shared, turn, result.reason, emit);
  return result;
}

/** Runs the tool calls of the n-th answer, with the plan or the profile that they ask for; without calls, it is the result. */
async function actOnAnswer(
  shared: AgentShared,
  turn: Turn,
  n: number,
  answer: Answer,
  emit: Emit,
): Promise<TurnResult | undefined> {
  checkCalls(answer.toolCalls, optionsOfCall(turn, n));
  if (answer.toolCalls.length === 0) return endWithAnswer(turn, answer, emit);
  const onResults = (names: readonly string[]) => followTodos(shared, turn, names, emit);
  const onPlan = (goal: string) => planOnCall(shared, turn, goal, emit);
  await runToolCalls(shared, turn, n, answer, emit, { onResults, onPlan });
  await followSwitch(shared, turn, n);
  if (hasPlannedOn(turn, n)) await runPlan(shared, turn, n + 1, emit);
  return undefined;
}

/** Throws `GatewayError('invalid_answer')` for a text that does not have the requested form. */
function endWithAnswer(turn: Turn, answer: Answer, emit: Emit): TurnResult {
  const { reason, mark, isError } = endOfAnswer(answer.content, turn.lastFinish);
  if (mark !== undefined) return endWith(turn, { reason, text: turn.say(mark), isError }, emit);
  // A refusal is not an answer, so it has no form to keep.
  if (turn.options !== undefined && reason === 'completed') checkFormat(turn.reply.text, turn.options);
  return { reason, text: turn.reply.text, isError };
}

/** Ends a turn that was stopped or failed; rethrows errors after which another node, a restart or the dead letters take over. */
async function endEarly(shared: AgentShared, turn: Turn, error: unknown, emit: Emit): Promise<TurnResult> {
  if (error instanceof LaneAbort) {
    const { code } = error;
    if (code === 'interrupted') {
      return endWith(turn, { reason: code, text: turn.say('turn.interrupted'), isError: false }, emit);
    }
    if (code === 'stopped')
      return endWith(turn, { reason: code, text: turn.say('turn.stopped'), isError: false }, emit);
    if (code === 'shutdown' && turn.reply.open) emit({ type: 'stream_reset', msgId: openMsgId(turn) });
    throw error;
  }
  if (error instanceof StoreError || !(error instanceof GatewayError)) throw error;
  turn.log.warn({ err: error }, 'turn_failed');
  const text = failureText(error, await turnReader(shared, turn), turn.say);
  return { ...endWith(turn, { reason: 'failed', text, isError: true }, emit), failure: failureOf(error) };
}

/**
 * Ends a turn with a sentence of the gateway, after the text of a call that is still open. When only the beginning of the
 * silent token was written so far, it is dropped, and the sentence is sent only if it needs a user's attention.
 */
function endWith(turn: Turn, end: TurnResult, emit: Emit): TurnResult {
  const { reason, text, isError } = end;
  if (isSilent(turn.silentToken, turn.reply.text)) {
    turn.reply.discardAll();
    emit({ type: 'snapshot', text: '' });
    if (reason !== 'failed' && reason !== 'max_iterations') return { reason, text: '', isError: false };
  }
  const usage = { promptTokens: 0, completionTokens: 0, modelMs: 0 };
  if (turn.reply.open) {
    const msgId = openMsgId(turn);
    const content = turn.reply.callText;
    if (content !== '') {
      turn.rows.add(turn.rows.answers().length + 1, { kind: 'assistant', content, toolCalls: [], msgId });
    }
    emit({ type: 'stream_end', msgId, content: turn.reply.closeCall(), usage });
  }
  const msgId = endMsgId(turn);
  const delta = turn.reply.addCall(text);
  emit({ type: 'stream_start', msgId, ...(isFailure(reason) && { failure: true }) });
  emit({ type: 'stream_chunk', msgId, delta });
  emit({ type: 'stream_end', msgId, content: delta, usage });
  return { reason, text: turn.reply.text, isError };
}

function openMsgId(turn: Turn): string {
  return callMsgId(turn, turn.rows.answers().length + 1);
}

/** The message id of the gateway's own sentence at the end. */
function endMsgId(turn: Turn): string {
  return `${turn.turnId}.end`;
}

/** The text of a turn that reached its iteration limit: the reason, and the tools it used (N-42, B-08). */
function limitText(turn: Turn): string {
  const counts = new Map<string, number>();
  for (const { toolName } of turn.rows.results()) counts.set(toolName, (counts.get(toolName) ?? 0) + 1);
  const tools = [...counts].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`)).join(', ');
  const limit = turn.say('turn.limit', { count: turn.profile.maxIterations, tools });
  return turn.parentTurnId === undefined ? `${limit} ${turn.say('turn.continue')}` : limit;
}

/** Why a turn failed. */
export function failureOf({ code, retryAfterMs }: GatewayError): TurnFailure {
  return { code, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/**
 * Applies the session's profile when one of the n-th answer's tool calls switched it, also before a crash. Throws only `StoreError` and `GatewayError('unknown_profile')`.
 */
async function followSwitch(shared: AgentShared, turn: Turn, n: number): Promise<void> {
  const switched = turn.rows.steps.some(
    ({ iteration, entry }) =>
      iteration === n && entry.kind === 'tool_result' && entry.toolName === SWITCH_PROFILE && !entry.isError,
  );
  if (!switched) return;
  const session = await shared.stores.ledger.session(turn.sessionKey);
  if (session === undefined) return;
  turn.profile = shared.models.profile(session.profileId);
  followTools(shared, turn);
  turn.model = turn.askedModel ?? session.model ?? turn.profile.model;
}

/** Gives the turn the prompt and tools of its profile as they are now; what others wrote about the tools taints it. */
function followTools(shared: AgentShared, turn: Turn): void {
  const prepared = shared.prompts.prepare(turn.profile, shared.knowledge.has(turn.profile.id, turn.address));
  turn.rows.taint.add(prepared.sources);
  if (prepared === (turn.prepared.base ?? turn.prepared)) return;
  turn.prepared = withCallerOptions(prepared, turn.options);
}
