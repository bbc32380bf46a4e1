/** Handles the head of an `in:` lane: opens the turn, runs it, and commits its end. */
import { LaneAbort, type LaneHandler, type LaneOutcome, type TurnEmitter } from '../../protocol/bus.ts';
import { GatewayError, toGatewayError } from '../../protocol/errors.ts';
import type { LaneHead, LaneStep } from '../../protocol/store/lanes.ts';
import type { TurnPayload } from '../../protocol/store/accept.ts';
import {
  type Address,
  answeredMessage,
  askedQuestion,
  type SessionKey,
  userIdOf,
} from '../../protocol/message.ts';
import type { OpenedTurn } from '../../protocol/store/records.ts';
import type { LiveCounts, TraceAttempt } from '../../protocol/store/traces.ts';
import { ApprovalWait } from '../tools/approval-gate.ts';
import { CallerWait } from '../tools/caller-calls.ts';
import type { AgentShared, CurrentShared, Emit } from '../deps.ts';
import type { LiveTurn, LiveTurnStart } from '../../protocol/delivery.ts';
import type { Compressor } from '../after-turn/compressor.ts';
import { type AfterTurn, endedTurn } from '../after-turn/after-turn.ts';
import { deliveryOf, deliveryWithFiles, elsewhereOf, mirrorAnswer } from './answer-delivery.ts';
import { announceDecision, parkForCaller, parkTurn } from './parking.ts';
import { cancelPlan, cancelReason, isOpenPlan } from '../../protocol/agent/plan.ts';
import { textRef } from '../../protocol/texts/say.ts';
import { failureOf, runTurn, type TurnOptions } from './agent-loop.ts';
import { failureText, sayFor } from './failure-text.ts';
import { readTurnPayload } from './turn-payload.ts';
import { isSilent, type LiveOutput, openLiveOutput, type OutputResult } from './silent-reply.ts';
import { createSubagents } from '../subagents.ts';
import { recordUnreported, type Turn, usageOf } from './turn-state.ts';
import { startTurn, type TracedTurn } from './start-turn.ts';

/** Work before and after each turn of a session. */
export interface TurnHooks {
  compressor: Compressor;
  afterTurn: AfterTurn;
}

/** What turns share: those that may plan, and those of `run()` that never do (N-02, N-03), whose model cannot ask for a plan. */
export interface TurnShared {
  planned: CurrentShared;
  unplanned: CurrentShared;
}

/** Creates the handler of `in:` lanes. Errors of the model and of tools end the turn with a text; `StoreError`s go to the bus. */
export function createTurnHandler(shared: TurnShared, hooks: TurnHooks): LaneHandler {
  return {
    handle: (head, signal) => handleTurn(shared, hooks, head, signal),
    onDeadLetter: (head, error) => endDeadLetter(shared.planned(), head, error),
  };
}

async function handleTurn(
  { planned, unplanned }: TurnShared,
  hooks: TurnHooks,
  head: LaneHead,
  signal: AbortSignal,
): Promise<LaneOutcome> {
  const payload = readTurnPayload(head.payload);
  if (payload instanceof GatewayError) throw payload;
  const shared = payload.entry === 'run' ? unplanned() : planned();
  const start = await startTurn(shared, hooks.afterTurn, head, payload, signal);
  if ('waitMs' in start) return { kind: 'released', delayMs: start.waitMs };
  const { turn, opened: openTurn } = start;
  const emitter = shared.chats.events.turn({
    sessionKey: turn.sessionKey,
    turnId: turn.turnId,
    epoch: head.epoch,
    textSoFar: isSilent(turn.silentToken, turn.reply.text) ? '' : turn.reply.text,
  });
  const forget = shared.traces.begin(turn.turnId, () => turn.trace.snapshot(turn.profile.id));
  turn.agents = createSubagents(shared, turn, emitter, payload.profileId);
  turn.log.debug({ lane: head.lane, laneSeq: head.seq, afterMs: openTurn.afterMs }, 'turn_started');
  try {
    await announceDecision(shared, turn, emitter);
    const { surfaces } = openTurn;
    if (surfaces.length > 0)
      await shared.chats.mirrorQuestion({ turnId: turn.turnId, surfaces, message: payload.message });
    const open = liveOpener(shared, turn, head, payload, openTurn);
    const output = openLiveOutput(turn, open, emitter);
    let result: OutputResult;
    let counts: LiveCounts | undefined;
    try {
      const options = optionsOf(hooks, turn, payload);
      result = output.finish(await runTurn(shared, turn, options, output.emit));
      const { unsaid = '' } = result;
      if (unsaid !== '') turn.log.info({ unsaid }, 'silent_answer');
    } finally {
      // After this no call to the platform is in flight for this turn.
      counts = await output.settle();
    }
    const trace = turn.trace.end(result.silent ? 'silent' : result.reason, turn.profile.id, counts);
    const [step] = await Promise.all([
      commit(shared, turn, result, trace, output.shownOn()),
      shared.modelState.toolLists.keep(shared, trace.prompt, turn.trace.offered),
    ]);
    emitter.emit({ type: 'turn_ended', reason: result.reason });
    endTrace(shared, turn, trace, true);
    // Neither a title nor facts are made of a question to a person: no model takes part in it.
    if (turn.question === undefined)
      hooks.afterTurn.start(endedTurn(turn, { ...result, title: openTurn.session.title }));
    return { kind: 'finished', step };
  } catch (error) {
    return await leaveTurn(shared, turn, emitter, error);
  } finally {
    forget();
  }
}

/** What a turn plans, by the entry of its message. */
const PLANNING: Record<TurnPayload['entry'], TurnOptions['planning']> = {
  runStream: 'first',
  run: 'never',
  plan: 'only',
};

function optionsOf(
  { compressor, afterTurn }: TurnHooks,
  turn: TracedTurn,
  { entry }: TurnPayload,
): TurnOptions {
  const compress = (emit: Emit) => compressor.before(turn, afterTurn.running(turn.sessionKey), emit);
  return { planning: PLANNING[entry], compress };
}

/**
 * Leaves a turn that continues later: it waits for a person or for its caller, or this node closes. Throws every other
 * error.
 */
async function leaveTurn(
  shared: AgentShared,
  turn: TracedTurn,
  emitter: TurnEmitter,
  error: unknown,
): Promise<LaneOutcome> {
  const { ledger } = shared.stores;
  if (error instanceof ApprovalWait || error instanceof CallerWait) {
    await recordUnreported(ledger, turn);
    const parked =
      error instanceof ApprovalWait
        ? await parkTurn(shared, turn, emitter, error)
        : await parkForCaller(shared, turn, emitter, error);
    await leaveTrace(shared, turn, 'parked');
    return parked;
  }
  // The next owner of the lane continues from the journal.
  if (!(error instanceof LaneAbort && error.code === 'shutdown')) throw error;
  await recordUnreported(ledger, turn);
  await leaveTrace(shared, turn, 'released');
  return { kind: 'released' };
}

/** Commits the end of the turn (T6). Throws `StoreError`. */
async function commit(
  shared: AgentShared,
  turn: Turn,
  result: OutputResult,
  trace: TraceAttempt,
  shownOn: ReturnType<LiveOutput['shownOn']>,
): Promise<LaneStep> {
  const fresh = turn.rows.fresh();
  const {
    attachments,
    outbound,
    elsewhere: otherDeliveries,
  } = await deliveryWithFiles(
    shared.media.answerFiles,
    turn,
    result,
    await shared.knowledge.cited(turn.sessionKey, result.text),
  );
  return await shared.stores.ledger.finishTurn(turn.fence, {
    turnId: turn.turnId,
    reason: result.reason,
    failure: result.failure,
    content: result.text,
    attachments,
    isError: result.isError,
    speak: shared.settings.current().speaks && !result.silent && !result.isError && result.text !== '',
    userId: turn.userId,
    usage: usageOf(turn),
    trace,
    // A silent turn leaves nothing in the model's context, unless its journal has begun.
    entries: result.silent && fresh.includes(turn.rows.user) ? [] : fresh,
    outbound,
    elsewhere: otherDeliveries && (await mirrorAnswer(shared, turn.surfaces, otherDeliveries, shownOn)),
  });
}

/** Passes a stored attempt to those who count and export it, and logs its end. Never throws. */
function endTrace({ traces }: AgentShared, turn: TracedTurn, attempt: TraceAttempt, isOver: boolean): void {
  const { turnId, sessionKey } = turn;
  const { outcome, ms, afterMs } = attempt;
  const calls = attempt.spans.filter(({ kind }) => kind === 'model_call').length;
  const fields = { reason: outcome, ms, afterMs, calls };
  if (isOver) turn.log.info(fields, 'turn_ended');
  else turn.log.info(fields, outcome === 'parked' ? 'turn_parked' : 'turn_released');
  traces.ended({ turnId, sessionKey, attempt, startedAt: turn.trace.startedAt, ended: isOver });
}

/**
 * Stores an attempt after which the turn continues later: parked, or released by a node that stops. Never throws:
 * without it the turn continues as well, and the journal still has its answers.
 */
async function leaveTrace(
  shared: AgentShared,
  turn: TracedTurn,
  outcome: 'parked' | 'released',
): Promise<void> {
  const attempt = turn.trace.end(outcome, turn.profile.id);
  await shared.traces.noteAttempt(turn.turnId, attempt).catch((error: unknown) => {
    turn.log.warn({ err: toGatewayError(error) }, 'trace_not_stored');
  });
  endTrace(shared, turn, attempt, false);
}

/** Makes the function that opens the message of the turn in its channel. */
function liveOpener(
  { chats, stores: { ledger } }: AgentShared,
  turn: Turn,
  head: LaneHead,
  { message }: TurnPayload,
  openTurn: OpenedTurn,
): () => LiveTurn {
  const { placeholder } = message;
  const start: LiveTurnStart = {
    turnId: turn.turnId,
    session: turn.sessionKey,
    address: turn.address,
    surfaces: turn.surfaces,
    replyTo: turn.replyTo,
    question: askedQuestion(message),
    placeholders: openTurn.placeholders.length === 0 && placeholder ? [placeholder] : openTurn.placeholders,
    takenOver: isTakenOver(head, openTurn),
    textSoFar: turn.reply.text,
    note: (ref, messages) => ledger.noteSent(turn.fence, ref, messages),
    plan: openTurn.plan,
    language: turn.say.language,
  };
  return () => chats.live.open(start);
}

/** True when an earlier attempt may have shown what is not noted; not every death or lost lease is counted against the turn. */
function isTakenOver({ crashes }: LaneHead, { interrupted, placeholders }: OpenedTurn): boolean {
  return crashes > 0 || (interrupted === true && placeholders.length > 0);
}

/** Ends a turn that has become a dead letter and answers with the reason, also one whose message cannot be read. */
async function endDeadLetter(shared: AgentShared, head: LaneHead, error: GatewayError): Promise<LaneStep> {
  const {
    stores: { ledger, lanes },
    chats: { events, languages },
    log,
  } = shared;
  log.error({ err: error, lane: head.lane, seq: head.seq }, 'turn_dead');
  const payload = readTurnPayload(head.payload);
  const turn = payload instanceof GatewayError ? await ledger.turnAt(head) : payload;
  if (turn === undefined) return await lanes.finish(head, error.message);
  const { turnId, address } = turn;
  const replyTo = payload instanceof GatewayError ? undefined : answeredMessage(payload.message);
  const say = payload instanceof GatewayError ? languages.say({}) : await sayFor(shared, payload);
  const text = failureText(error, 'person', say);
  const because = cancelReason(textRef('cancelled.failed'));
  const plan = await ledger.planOf(turnId);
  const open = plan !== undefined && isOpenPlan(plan);
  if (open) await ledger.updatePlan(head, cancelPlan(plan, because.reason, because.why));
  const step = await ledger.finishTurn(head, {
    turnId,
    reason: 'failed',
    failure: failureOf(error),
    content: text,
    isError: true,
    userId: payload instanceof GatewayError ? '' : userIdOf(payload.message),
    usage: [],
    entries: [],
    outbound: deliveryOf(turnId, address, { content: text, isError: true, replyTo }),
    elsewhere: { message: elsewhereOf({ content: text, isError: true }), shownOn: [] },
    deadLetter: error.message,
  });
  const emitter = events.turn({
    sessionKey: sessionOf(head, address),
    turnId,
    epoch: head.epoch,
    textSoFar: text,
  });
  if (open) emitter.emit({ type: 'plan_cancelled', ...because });
  emitter.emit({ type: 'snapshot', text });
  emitter.emit({ type: 'turn_ended', reason: 'failed' });
  return step;
}

/** The session of an `in:` lane. */
function sessionOf(head: LaneHead, address: Address): SessionKey {
  const [, channel = '', rest = ''] = /^in:([^:]+):(.+)$/s.exec(head.lane) ?? [];
  return channel === '' ? address : `${channel}:${rest}`;
}
