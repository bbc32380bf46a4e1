/** Handles the head of an `in:` lane: opens the turn, runs it, and commits its end. */
import { LaneAbort, type LaneHandler, type LaneOutcome, type TurnEmitter } from '../../protocol/bus.ts';
import { GatewayError, toGatewayError } from '../../protocol/errors.ts';
import type { LaneHead, LaneStep } from '../../protocol/store/lanes.ts';
import type { TurnPayload } from '../../protocol/store/accept.ts';
import { type Address, askedQuestion } from '../../protocol/message.ts';
import type { OpenedTurn } from '../../protocol/store/records.ts';
import type { LiveCounts, TraceAttempt } from '../../protocol/store/traces.ts';
import { ApprovalWait } from '../tools/approval-gate.ts';
import { CallerWait } from '../tools/caller-calls.ts';
import type { AgentShared, Emit } from '../deps.ts';
import type { Compressor } from '../compression/compressor.ts';
import { type AfterTurn, endedTurn } from './after-turn.ts';
import { deliveryWithFiles } from './answer-delivery.ts';
import { announceDecision, parkForCaller, parkTurn } from './parking.ts';
import { endDeadLetter } from './dead-turn.ts';
import { type LiveOutput, openLiveOutput, type OutputResult } from './silent-reply.ts';
import { isSilent } from './silent-token.ts';
import type { TurnContext, TurnIdentity, TurnProgress } from '../state/turn-state.ts';
import { endElsewhere } from './other-surfaces.ts';
import { readTurnPayload } from './turn-payload.ts';
import { createSubagents } from '../subagents/subagents.ts';
import type { CurrentShared } from '../turn-settings.ts';
import { recordUnreported, usageOf } from '../state/turn-usage.ts';
import { runTurn, type TurnOptions } from './agent-loop.ts';
import { startTurn, type TracedTurn } from './start-turn.ts';
import type { TraceNotes } from '../state/trace-notes.ts';

interface OutputStart {
  head: LaneHead;
  turn: TurnIdentity & Pick<TurnContext, 'silentToken'> & Pick<TurnProgress, 'reply'>;
  payload: TurnPayload;
  opened: OpenedTurn;
  emitter: TurnEmitter;
}

/** The parts of a turn that its trace names. */
type NotedTurn = Pick<TurnIdentity, 'turnId' | 'sessionKey' | 'log'> & { trace: TraceNotes };

/** Where traces are kept. */
type Tracing = Pick<AgentShared, 'traces'>;

/** Work before and after each turn of a session. */
export interface AroundTurn {
  compressor: Pick<Compressor, 'before'>;
  afterTurn: Pick<AfterTurn, 'start' | 'turnBegins' | 'running'>;
}

/** What turns share: those that may plan, and those of `run()` that never do (N-02, N-03), whose model cannot ask for a plan. */
export interface TurnShared {
  planned: CurrentShared;
  unplanned: CurrentShared;
}

/** Creates the handler of `in:` lanes. Errors of the model and of tools end the turn with a text; `StoreError`s go to the bus. */
export function createTurnHandler(shared: TurnShared, aroundTurn: AroundTurn): LaneHandler {
  return {
    handle: (head, signal) => handleTurn(shared, aroundTurn, head, signal),
    onDeadLetter: (head, error) => endDeadLetter(shared.planned(), head, error),
  };
}

async function handleTurn(
  { planned, unplanned }: TurnShared,
  around: AroundTurn,
  head: LaneHead,
  signal: AbortSignal,
): Promise<LaneOutcome> {
  const payload = readTurnPayload(head.payload);
  if (payload instanceof GatewayError) throw payload;
  const shared = payload.entry === 'run' ? unplanned() : planned();
  const started = await startTurn(shared, around.afterTurn, { head, payload, signal });
  if ('waitMs' in started) return { kind: 'released', delayMs: started.waitMs };
  const { turn, opened } = started;
  const emitter = shared.events.turn({
    sessionKey: turn.sessionKey,
    turnId: turn.turnId,
    epoch: head.epoch,
    textSoFar: isSilent(turn.silentToken, turn.reply.text) ? '' : turn.reply.text,
  });
  const forget = shared.traces.begin(turn.turnId, () => turn.trace.look(turn.profile.id));
  turn.agents = createSubagents(shared, turn, emitter, payload.profileId);
  turn.log.debug({ lane: head.lane, laneSeq: head.seq, afterMs: opened.afterMs }, 'turn_started');
  try {
    await announceDecision(shared, turn, emitter);
    const { surfaces } = opened;
    if (surfaces.length > 0)
      await shared.askedElsewhere({ turnId: turn.turnId, surfaces, message: payload.message });
    const output = openOutput(shared, { head, turn, payload, opened, emitter });
    const emit: Emit = (event) => {
      turn.trace.event(event);
      output.emit(event);
    };
    let result: OutputResult;
    let live: LiveCounts | undefined;
    try {
      result = output.finish(await runTurn(shared, turn, optionsOf(around, turn, payload), emit));
      const { unsaid = '' } = result;
      if (unsaid !== '') turn.log.info({ unsaid }, 'silent_answer');
    } finally {
      // After this no call to the platform is in flight for this turn.
      live = await output.settle();
    }
    const step = await endTurn(shared, around.afterTurn, { turn, opened, emitter, output, result, live });
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
  { compressor, afterTurn }: AroundTurn,
  turn: TracedTurn,
  { entry }: TurnPayload,
): TurnOptions {
  const compress = (emit: Emit) => compressor.before(turn, afterTurn.running(turn.sessionKey), emit);
  return { planning: PLANNING[entry], compress };
}

interface TurnAtItsEnd {
  turn: TracedTurn;
  opened: OpenedTurn;
  emitter: TurnEmitter;
  output: LiveOutput;
  result: OutputResult;
  live: LiveCounts | undefined;
}

/** What the end of a turn is committed with. */
type Committing = Pick<AgentShared, 'ledger' | 'answerFiles' | 'languages' | 'settings'>;

/** Commits the end of the turn, and starts what follows it. Throws `StoreError`. */
async function endTurn(
  shared: Committing & Pick<AgentShared, 'traces'>,
  afterTurn: AroundTurn['afterTurn'],
  { turn, opened, emitter, output, result, live }: TurnAtItsEnd,
): Promise<LaneStep> {
  const trace = turn.trace.end(result.silent ? 'silent' : result.reason, turn.profile.id, live);
  const step = await commit(shared, turn, opened.address, { result, trace, shownOn: output.shownOn() });
  emitter.emit({ type: 'turn_ended', reason: result.reason });
  endTrace(shared, turn, trace, true);
  afterTurn.start(endedTurn(turn, { ...result, title: opened.session.title }));
  return step;
}

/**
 * Leaves a turn that continues later: it waits for a person or for its caller, or this node closes. Throws every other
 * error.
 */
async function leaveTurn(
  shared: Pick<AgentShared, 'ledger' | 'lanes' | 'limits' | 'traces'>,
  turn: TracedTurn,
  emitter: TurnEmitter,
  error: unknown,
): Promise<LaneOutcome> {
  const { ledger } = shared;
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

/** T6. */
async function commit(
  shared: Committing,
  turn: TurnIdentity & Pick<TurnContext, 'model'> & Pick<TurnProgress, 'rows' | 'otherUsage'>,
  address: Address,
  {
    result,
    trace,
    shownOn,
  }: { result: OutputResult; trace: TraceAttempt; shownOn: ReturnType<LiveOutput['shownOn']> },
): Promise<LaneStep> {
  const fresh = turn.rows.fresh();
  const answer = await deliveryWithFiles(shared.answerFiles, turn, address, result);
  const { attachments, outbound, elsewhere } = answer;
  return await shared.ledger.finishTurn(turn.fence, {
    turnId: turn.turnId,
    reason: result.reason,
    failure: result.failure,
    content: result.text,
    attachments,
    isError: result.isError,
    speak: shared.settings().speaks && !result.silent && !result.isError && result.text !== '',
    userId: turn.userId,
    usage: usageOf(turn),
    trace,
    // A silent turn leaves nothing in the model's context, unless its journal has begun.
    entries: result.silent && fresh.includes(turn.rows.user) ? [] : fresh,
    outbound,
    elsewhere: elsewhere && (await endElsewhere(shared, turn.surfaces, elsewhere, shownOn)),
  });
}

/** Passes a stored attempt to those who count and export it, and logs its end. Never throws. */
function endTrace({ traces }: Tracing, turn: NotedTurn, attempt: TraceAttempt, ended: boolean): void {
  const { turnId, sessionKey } = turn;
  const { outcome, ms, afterMs } = attempt;
  const calls = attempt.spans.filter(({ kind }) => kind === 'model_call').length;
  const fields = { reason: outcome, ms, afterMs, calls };
  if (ended) turn.log.info(fields, 'turn_ended');
  else turn.log.info(fields, outcome === 'parked' ? 'turn_parked' : 'turn_released');
  traces.ended({ turnId, sessionKey, attempt, startedAt: turn.trace.startedAt, ended });
}

/**
 * Stores an attempt after which the turn continues later: parked, or released by a node that stops. Never throws:
 * without it the turn continues as well, and the journal still has its answers.
 */
async function leaveTrace(
  shared: Tracing,
  turn: NotedTurn & Pick<TurnContext, 'profile'>,
  outcome: 'parked' | 'released',
): Promise<void> {
  const attempt = turn.trace.end(outcome, turn.profile.id);
  await shared.traces.noteAttempt(turn.turnId, attempt).catch((error: unknown) => {
    turn.log.warn({ err: toGatewayError(error) }, 'trace_not_stored');
  });
  endTrace(shared, turn, attempt, false);
}

/** Creates the output of the turn: the live message of its channel, and the event bus. */
function openOutput(
  { live, ledger }: Pick<AgentShared, 'live' | 'ledger'>,
  { head, turn, payload, opened, emitter }: OutputStart,
): LiveOutput {
  const { placeholder } = payload.message;
  const placeholders = opened.placeholders.length === 0 && placeholder ? [placeholder] : opened.placeholders;
  const textSoFar = turn.reply.text;
  const open = () =>
    live.open({
      turnId: turn.turnId,
      session: turn.sessionKey,
      address: opened.address,
      surfaces: opened.surfaces,
      replyTo: turn.replyTo,
      question: askedQuestion(payload.message),
      placeholders,
      takenOver: isTakenOver(head, opened),
      textSoFar,
      note: (ref, sent) => ledger.noteSent(turn.fence, ref, sent),
      plan: opened.plan,
      language: turn.say.language,
    });
  const emit: Emit = (event) => emitter.emit(event);
  return openLiveOutput({ silentToken: turn.silentToken, textSoFar, open, emit });
}

/** True when an earlier attempt may have shown what is not noted; not every death or lost lease is counted against the turn. */
function isTakenOver({ crashes }: LaneHead, { interrupted, placeholders }: OpenedTurn): boolean {
  return crashes > 0 || (interrupted === true && placeholders.length > 0);
}
