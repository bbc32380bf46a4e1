/** A turn from its first event to its result: the tool-calling loop, and how it ends when it cannot go on (N-01, N-02). */
import { LaneAbort } from '../../contracts/bus.ts';
import { GatewayError, StoreError } from '../../contracts/errors.ts';
import type { EventBody, TurnEndReason } from '../../contracts/event.ts';
import type { Answer } from '../prompt/history.ts';
import type { AgentShared } from '../deps.ts';
import { drain } from './drain.ts';
import { askModel } from './iteration.ts';
import { takeSteering } from './queue-modes.ts';
import { runPlan } from '../executor/run-plan.ts';
import { followTodos, settlePlan } from '../planner/follow-plan.ts';
import { planTurn } from '../planner/plan-turn.ts';
import { followSwitch } from '../profiles/follow-switch.ts';
import { isSilent } from './silent-token.ts';
import { runToolCalls } from '../tools/tool-calls.ts';
import { callMsgId } from '../state/turn-state.ts';
import type { Turn } from '../state/turn-state.ts';

/** How a turn ended. `text` is what people read; the rows to commit with it are still fresh in the turn. */
export interface TurnResult {
  reason: TurnEndReason;
  text: string;
  isError: boolean;
}

/** The mark on a turn that its user stopped. */
export const STOPPED_MARK = '*(stopped)*';
/** The mark on a turn that the next message ended. */
export const INTERRUPTED_MARK = '*(interrupted by your next message)*';
/** Said in place of an empty answer. */
export const EMPTY_ANSWER = 'The model gave an empty answer. Please ask again, perhaps in other words.';
/** The mark on an answer that met the limit of its length. */
export const CUT_OFF_MARK = '*(cut off: the answer reached its greatest length)*';

/**
 * The streaming entry: every event of the turn but `turn_ended`, which belongs to the commit. What comes before the
 * tool-calling loop, the plan, has its place here and not in `run`. Throws `StoreError`, or a `LaneAbort` other than
 * `stopped`; every other failure becomes the text of the result (B-47).
 */
export async function* runStream(shared: AgentShared, turn: Turn): AsyncGenerator<EventBody, TurnResult> {
  return yield* converse(shared, turn, async function* () {
    yield* planTurn(shared, turn);
    yield* runPlan(shared, turn);
  });
}

/** The plain entry: the tool-calling loop without planning, to its end (N-02, N-03); `watch` sees its events. */
export async function run(
  shared: AgentShared,
  turn: Turn,
  watch: (body: EventBody) => void,
): Promise<TurnResult> {
  return await drain(converse(shared, turn), watch);
}

/** What comes before the loop. */
type Opening = () => AsyncGenerator<EventBody, void>;

async function* converse(
  shared: AgentShared,
  turn: Turn,
  opening?: Opening,
): AsyncGenerator<EventBody, TurnResult> {
  yield { type: 'turn_started' };
  if (turn.restarted) {
    // What was said after the last journaled answer is said anew, or not at all.
    yield { type: 'stream_reset', msgId: openMsgId(turn) };
    yield { type: 'stream_reset', msgId: endMsgId(turn) };
  }
  let result: TurnResult;
  try {
    yield* shared.compressor.before(turn);
    if (opening !== undefined) yield* opening();
    result = yield* iterate(shared, turn);
  } catch (error) {
    result = yield* endEarly(turn, error);
  }
  yield* settlePlan(shared, turn, result.reason);
  return result;
}

/** The sources' steps 1-8; what the journal holds is not done again. */
async function* iterate(shared: AgentShared, turn: Turn): AsyncGenerator<EventBody, TurnResult> {
  for (let n = 1; n <= turn.profile.maxIterations; n += 1) {
    turn.signal.throwIfAborted();
    yield* takeSteering(shared, turn, n);
    const answer = turn.rows.answer(n) ?? (yield* askModel(shared, turn, n));
    if (answer.toolCalls.length === 0) return yield* endWithAnswer(turn, answer);
    yield* runToolCalls(shared, turn, n, answer);
    yield* followTodos(shared, turn, n);
    await followSwitch(shared, turn, n);
  }
  return yield* endWith(turn, 'max_iterations', limitText(turn), false);
}

async function* endWithAnswer(turn: Turn, answer: Answer): AsyncGenerator<EventBody, TurnResult> {
  if (answer.content.trim() === '') return yield* endWith(turn, 'completed', EMPTY_ANSWER, true);
  if (turn.cutOff) return yield* endWith(turn, 'completed', CUT_OFF_MARK, false);
  return { reason: 'completed', text: turn.reply.text, isError: false };
}

/** Ends a turn that was stopped or failed; what belongs to another node, to a restart or to the dead letters goes on up. */
async function* endEarly(turn: Turn, error: unknown): AsyncGenerator<EventBody, TurnResult> {
  if (error instanceof LaneAbort) {
    if (error.code === 'interrupted') return yield* endWith(turn, 'interrupted', INTERRUPTED_MARK, false);
    if (error.code === 'stopped') return yield* endWith(turn, 'stopped', STOPPED_MARK, false);
    if (error.code === 'shutdown' && turn.reply.open) yield { type: 'stream_reset', msgId: openMsgId(turn) };
    throw error;
  }
  if (error instanceof StoreError || !(error instanceof GatewayError)) throw error;
  turn.log.warn({ err: error }, 'turn_failed');
  return yield* endWith(turn, 'failed', failureText(error), true);
}

/**
 * Keeps what an open call has said, adds a last sentence of the house, and ends. Of a turn that has shown nothing so far
 * the beginning of its quiet token is taken back, and only what needs a person's attention is said.
 */
async function* endWith(
  turn: Turn,
  reason: TurnEndReason,
  text: string,
  isError: boolean,
): AsyncGenerator<EventBody, TurnResult> {
  if (isSilent(turn.silentToken, turn.reply.text)) {
    turn.reply.forget();
    yield { type: 'snapshot', text: '' };
    if (reason !== 'failed' && reason !== 'max_iterations') return { reason, text: '', isError: false };
  }
  const usage = { promptTokens: 0, completionTokens: 0, modelMs: 0 };
  if (turn.reply.open) {
    const msgId = openMsgId(turn);
    const content = turn.reply.callText;
    if (content !== '') {
      turn.rows.add(turn.rows.answers().length + 1, { kind: 'assistant', content, toolCalls: [], msgId });
    }
    yield { type: 'stream_end', msgId, content: turn.reply.end(), usage };
  }
  const msgId = endMsgId(turn);
  const delta = turn.reply.say(text);
  yield { type: 'stream_start', msgId };
  yield { type: 'stream_chunk', msgId, delta };
  yield { type: 'stream_end', msgId, content: delta, usage };
  return { reason, text: turn.reply.text, isError };
}

function openMsgId(turn: Turn): string {
  return callMsgId(turn, turn.rows.answers().length + 1);
}

/** The id of the house's own last sentence. */
function endMsgId(turn: Turn): string {
  return `${turn.turnId}.end`;
}

/** Why a turn that met its limit stopped, and what it did (N-42, B-08). */
function limitText(turn: Turn): string {
  const counts = new Map<string, number>();
  for (const { toolName } of turn.rows.results()) counts.set(toolName, (counts.get(toolName) ?? 0) + 1);
  const done = [...counts].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`)).join(', ');
  const limit = `I stopped after ${turn.profile.maxIterations} steps, the limit of this profile (maxIterations), without being finished.`;
  const next = turn.parentTurnId === undefined ? ' Write "go on" to continue.' : '';
  return `${limit} Tools used so far: ${done}.${next}`;
}

/** What a person reads when a turn failed. */
export function failureText(error: GatewayError): string {
  return `Sorry, this could not be answered. ${error.message}`;
}
