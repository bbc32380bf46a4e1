/** A turn from its first event to its result: the tool-calling loop, and the end of a turn that cannot continue (N-01, N-02). */
import { LaneAbort } from '../../contracts/bus.ts';
import { GatewayError, StoreError } from '../../contracts/errors.ts';
import type { TurnEndReason } from '../../contracts/event.ts';
import type { Answer } from '../prompt/history.ts';
import type { AgentShared, Emit } from '../deps.ts';
import { askModel } from './iteration.ts';
import { takeSteering } from './queue-modes.ts';
import { runPlan } from '../executor/run-plan.ts';
import { followTodos, settlePlan } from '../planner/follow-plan.ts';
import { planTurn } from '../planner/plan-turn.ts';
import { followSwitch } from '../profiles/follow-switch.ts';
import { isSilent } from './silent-token.ts';
import { runToolCalls } from '../tools/tool-calls.ts';
import { callMsgId } from '../state/turn-state.ts';
import type { Turn, TurnContext, TurnIdentity, TurnProgress } from '../state/turn-state.ts';

/** Result of a turn. `text` is shown to users; the rows to commit with it are still fresh in the turn. */
export interface TurnResult {
  reason: TurnEndReason;
  text: string;
  isError: boolean;
}

/** Appended to a turn that its user stopped. */
export const STOPPED_MARK = '*(stopped)*';
/** Appended to a turn that was interrupted by the next message. */
export const INTERRUPTED_MARK = '*(interrupted by your next message)*';
/** Shown instead of an empty answer. */
export const EMPTY_ANSWER = 'The model gave an empty answer. Please ask again, perhaps in other words.';
/** Appended to an answer that reached its maximum length. */
export const CUT_OFF_MARK = '*(cut off: the answer reached its maximum length)*';

/** Options of a turn. */
export interface TurnOptions {
  /** Makes a plan first where the profile enables it (N-14); false for schedules and whole completions (N-02, N-03). */
  planning: boolean;
  /** Shortens the history of earlier turns before the first model call; undefined where there is none. */
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
    emit({ type: 'stream_reset', msgId: openMsgId(turn) });
    emit({ type: 'stream_reset', msgId: endMsgId(turn) });
  }
  let result: TurnResult;
  try {
    await compress?.(emit);
    if (planning) {
      await planTurn(shared, turn, emit);
      await runPlan(shared, turn, emit);
    }
    result = await iterate(shared, turn, emit);
  } catch (error) {
    result = endEarly(turn, error, emit);
  }
  await settlePlan(shared, turn, result.reason, emit);
  return result;
}

/** The tool-calling loop. An answer that is in the journal is not requested again. */
async function iterate(shared: AgentShared, turn: Turn, emit: Emit): Promise<TurnResult> {
  for (let n = 1; n <= turn.profile.maxIterations; n += 1) {
    turn.signal.throwIfAborted();
    await takeSteering(shared, turn, n, emit);
    const answer = turn.rows.answer(n) ?? (await askModel(shared, turn, n, emit));
    if (answer.toolCalls.length === 0) return endWithAnswer(turn, answer, emit);
    await runToolCalls(shared, turn, { n, answer }, emit);
    await followTodos(shared, turn, n, emit);
    await followSwitch(shared, turn, n);
  }
  return endWith(turn, { reason: 'max_iterations', text: limitText(turn), isError: false }, emit);
}

/** The parts of a turn that its end reads. */
type EndingTurn = TurnIdentity & TurnProgress & Pick<TurnContext, 'silentToken'>;

function endWithAnswer(turn: EndingTurn, answer: Answer, emit: Emit): TurnResult {
  if (answer.content.trim() === '') {
    return endWith(turn, { reason: 'completed', text: EMPTY_ANSWER, isError: true }, emit);
  }
  if (turn.cutOff) return endWith(turn, { reason: 'completed', text: CUT_OFF_MARK, isError: false }, emit);
  return { reason: 'completed', text: turn.reply.text, isError: false };
}

/** Ends a turn that was stopped or failed; rethrows errors after which another node, a restart or the dead letters take over. */
function endEarly(turn: EndingTurn, error: unknown, emit: Emit): TurnResult {
  if (error instanceof LaneAbort) {
    const { code } = error;
    if (code === 'interrupted') {
      return endWith(turn, { reason: code, text: INTERRUPTED_MARK, isError: false }, emit);
    }
    if (code === 'stopped') return endWith(turn, { reason: code, text: STOPPED_MARK, isError: false }, emit);
    if (code === 'shutdown' && turn.reply.open) emit({ type: 'stream_reset', msgId: openMsgId(turn) });
    throw error;
  }
  if (error instanceof StoreError || !(error instanceof GatewayError)) throw error;
  turn.log.warn({ err: error }, 'turn_failed');
  return endWith(turn, { reason: 'failed', text: failureText(error), isError: true }, emit);
}

/**
 * Ends a turn with a sentence of the gateway, after the text of a call that is still open. When only the beginning of the
 * silent token was written so far, it is dropped, and the sentence is sent only if it needs a user's attention.
 */
function endWith(turn: EndingTurn, end: TurnResult, emit: Emit): TurnResult {
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
  emit({ type: 'stream_start', msgId });
  emit({ type: 'stream_chunk', msgId, delta });
  emit({ type: 'stream_end', msgId, content: delta, usage });
  return { reason, text: turn.reply.text, isError };
}

function openMsgId(turn: EndingTurn): string {
  return callMsgId(turn, turn.rows.answers().length + 1);
}

/** The message id of the gateway's own sentence at the end. */
function endMsgId(turn: TurnIdentity): string {
  return `${turn.turnId}.end`;
}

/** The text of a turn that reached its iteration limit: the reason, and the tools it used (N-42, B-08). */
function limitText(turn: TurnIdentity & TurnContext & TurnProgress): string {
  const counts = new Map<string, number>();
  for (const { toolName } of turn.rows.results()) counts.set(toolName, (counts.get(toolName) ?? 0) + 1);
  const done = [...counts].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`)).join(', ');
  const limit = `I stopped after ${turn.profile.maxIterations} steps, the limit of this profile (maxIterations), without being finished.`;
  const next = turn.parentTurnId === undefined ? ' Write "go on" to continue.' : '';
  return `${limit} Tools used so far: ${done}.${next}`;
}

/** The text of a turn that failed. */
export function failureText(error: GatewayError): string {
  return `Sorry, this could not be answered. ${error.message}`;
}
