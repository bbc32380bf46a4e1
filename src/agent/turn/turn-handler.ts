/** Handles the head of an `in:` lane: opens the turn, runs it, and commits its end. */
import { LaneAbort } from '../../contracts/bus.ts';
import type { LaneHandler, LaneOutcome, TurnEmitter } from '../../contracts/bus.ts';
import { GatewayError } from '../../contracts/errors.ts';
import type { LaneHead, LaneStep } from '../../contracts/store/lanes.ts';
import type { TurnPayload } from '../../contracts/store/accept.ts';
import { answeredMessage, askedQuestion, memoryOwnerOf, userIdOf } from '../../contracts/message.ts';
import type { Address } from '../../contracts/message.ts';
import { readMode } from '../../contracts/plans/plan.ts';
import type { OpenedTurn } from '../../contracts/store/records.ts';
import type { LiveCounts, TraceAttempt } from '../../contracts/store/traces.ts';
import { ApprovalWait } from '../tools/approval-gate.ts';
import { CallerWait } from '../tools/caller-calls.ts';
import { withCallerOptions } from '../model/caller-options.ts';
import { notedWaits } from '../model/noted-waits.ts';
import { toGroups } from '../prompt/history.ts';
import { loadPromptContext } from '../prompt/system-prompt.ts';
import type { PromptContext } from '../prompt/system-prompt.ts';
import { HISTORY_ROWS } from '../../contracts/store/accept.ts';
import type { AgentShared, Emit } from '../deps.ts';
import type { Compressor } from '../compression/compressor.ts';
import { endedTurn } from './after-turn.ts';
import type { AfterTurn } from './after-turn.ts';
import { deliveryWithFiles } from './answer-delivery.ts';
import { announceDecision, parkForCaller, parkTurn } from './parking.ts';
import { collectBurst } from './queue-modes.ts';
import type { InitialInput } from './queue-modes.ts';
import { endDeadLetter } from './dead-turn.ts';
import { openLiveOutput } from './silent-reply.ts';
import type { LiveOutput, OutputResult } from './silent-reply.ts';
import { isSilent } from './silent-token.ts';
import { endElsewhere, networkOf, strictestPlace } from './other-surfaces.ts';
import { receiveFiles } from './message-files.ts';
import { readMessage, readTurnPayload } from './turn-payload.ts';
import type { ReadMessage } from './turn-payload.ts';
import { createSubagents } from '../subagents/subagents.ts';
import type { SharedNow } from '../turn-settings.ts';
import { withoutShutdown } from '../tools/tool-run.ts';
import { recordUnreported, usageOf } from '../state/turn-usage.ts';
import { UnjournaledUsage } from '../state/unjournaled-usage.ts';
import { replySoFar } from '../state/turn-state.ts';
import { Taint } from '../state/taint.ts';
import { attemptStart, TraceNotes } from '../state/trace-notes.ts';
import { TurnRows } from '../state/turn-rows.ts';
import type { Turn, TurnContext, TurnIdentity, TurnProgress } from '../state/turn-state.ts';
import { runTurn } from './agent-loop.ts';
import type { TurnOptions } from './agent-loop.ts';
import { endTrace, leaveTrace } from './turn-trace.ts';
import { sayFor } from './failure-text.ts';
import type { Say } from '../../contracts/texts/say.ts';

/** Work before and after each turn of a session. */
export interface AroundTurn {
  compressor: Pick<Compressor, 'before'>;
  afterTurn: Pick<AfterTurn, 'start' | 'turnBegins' | 'running'>;
}

/** What turns share: those that may plan, and those of `run()` that never do (N-02, N-03), whose model cannot ask for a plan. */
export interface TurnShared {
  planned: SharedNow;
  unplanned: SharedNow;
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
  { compressor, afterTurn }: AroundTurn,
  head: LaneHead,
  signal: AbortSignal,
): Promise<LaneOutcome> {
  const payload = readTurnPayload(head.payload);
  if (payload instanceof GatewayError) throw payload;
  const shared = payload.entry === 'run' ? unplanned() : planned();
  const { ledger, events } = shared.deps;
  const memoryOwner = memoryOwnerOf(payload.message);
  const opened = head.opened ?? (await ledger.openTurn(head, payload.turnId, HISTORY_ROWS, memoryOwner));
  const withFiles = { payload, laneSeq: head.seq, folder: opened.session.folder };
  afterTurn.turnBegins(opened.session.key);
  const files = hasBegun(opened) ? [] : await receiveFiles(shared, head, withFiles, signal);
  const where = networkOf(shared, payload.message, opened.surfaces);
  const message = readMessage(payload.message, files, opened.meanwhile, where);
  const burst = signal.aborted
    ? undefined
    : await collectBurst(shared, head, { payload, message, opened, signal });
  if (burst !== undefined && 'waitMs' in burst) return { kind: 'released', delayMs: burst.waitMs };
  const place = strictestPlace(payload.message.place, opened.surfaces);
  const recipient = { memoryOwner, place, message: payload.message.content, hasMemories: opened.remembers };
  const promptContext = await loadPromptContext(shared, recipient);
  const say = await sayFor(shared.deps, payload);
  const turn = startTurn(shared, { head, payload, opened, message, promptContext, signal, burst, say });
  const emitter = events.turn({
    sessionKey: turn.sessionKey,
    turnId: turn.turnId,
    epoch: head.epoch,
    textSoFar: isSilent(turn.silentToken, turn.reply.text) ? '' : turn.reply.text,
  });
  const forget = shared.deps.traces.begin(turn.turnId, () => turn.trace.look(turn.profile.id));
  turn.agents = createSubagents(shared, turn, emitter, payload.profileId);
  turn.log.debug({ lane: head.lane, laneSeq: head.seq, afterMs: opened.afterMs }, 'turn_started');
  try {
    await announceDecision(shared, turn, emitter);
    if (opened.surfaces.length > 0)
      await shared.deps.askedElsewhere({
        turnId: turn.turnId,
        surfaces: opened.surfaces,
        message: payload.message,
      });
    const output = openOutput(shared, { turn, payload, opened, emitter, takenOver: head.crashes > 0 });
    const emit: Emit = (event) => {
      turn.trace.event(event);
      output.emit(event);
    };
    let result: OutputResult;
    let live: LiveCounts | undefined;
    try {
      const planning = PLANNING[payload.entry];
      const compress = (emit: Emit) => compressor.before(turn, afterTurn.running(turn.sessionKey), emit);
      result = output.finish(await runTurn(shared, turn, { planning, compress }, emit));
    } finally {
      // After this no call to the platform is in flight for this turn.
      live = await output.settle();
    }
    const trace = turn.trace.end(result.silent ? 'silent' : result.reason, turn.profile.id, live);
    const ending = { result, trace, shownOn: output.shownOn() };
    const step = await commit(shared, turn, opened.address, ending);
    emitter.emit({ type: 'turn_ended', reason: result.reason });
    endTrace(shared, turn, trace, true);
    afterTurn.start(endedTurn(turn, { ...result, title: opened.session.title }));
    return { kind: 'finished', step };
  } catch (error) {
    if (error instanceof ApprovalWait) {
      await recordUnreported(ledger, turn);
      const parked = await parkTurn(shared, turn, emitter, error);
      await leaveTrace(shared, turn, 'parked');
      return parked;
    }
    if (error instanceof CallerWait) {
      await recordUnreported(ledger, turn);
      const parked = await parkForCaller(shared, turn, emitter, error);
      await leaveTrace(shared, turn, 'parked');
      return parked;
    }
    // The next owner of the lane continues from the journal.
    if (!(error instanceof LaneAbort && error.code === 'shutdown')) throw error;
    await recordUnreported(ledger, turn);
    await leaveTrace(shared, turn, 'released');
    return { kind: 'released' };
  } finally {
    forget();
  }
}

/** True when the message is in the journal, with what was read of its files. */
function hasBegun({ journal }: OpenedTurn): boolean {
  return journal.some(({ entry }) => entry.kind === 'user' && entry.laneSeq === undefined);
}

/** A turn of an `in:` lane: its attempt is noted. */
type TracedTurn = Turn & { trace: TraceNotes };

/** What a turn plans, by the entry of its message. */
const PLANNING: Record<TurnPayload['entry'], TurnOptions['planning']> = {
  runStream: 'first',
  run: 'never',
  plan: 'only',
};

interface Start {
  head: LaneHead;
  payload: TurnPayload;
  opened: OpenedTurn;
  message: ReadMessage;
  promptContext: PromptContext;
  signal: AbortSignal;
  burst: InitialInput | undefined;
  say: Say;
}

function startTurn(
  shared: AgentShared,
  { head, payload, opened, message: own, promptContext, signal, burst, say }: Start,
): TracedTurn {
  const profile = shared.models.profile(payload.profileId ?? opened.session.profileId);
  const message = burst?.combined ?? own;
  const taint = new Taint(opened.session.sources);
  if (promptContext.untrusted) taint.add(['local']);
  const rows = new TurnRows(message.content, opened.journal, message, taint);
  if (burst?.combined !== undefined) rows.journaled([rows.user]);
  const sessionKey = opened.session.key;
  return {
    fence: { lane: head.lane, node: head.node, epoch: head.epoch, seq: head.seq },
    turnId: payload.turnId,
    sessionKey,
    folder: opened.session.folder,
    address: opened.address,
    replyTo: answeredMessage(payload.message),
    userId: userIdOf(payload.message),
    memoryOwner: memoryOwnerOf(payload.message),
    userName: payload.message.senderName,
    isOwner: payload.isOwner,
    author: message.author,
    place: strictestPlace(payload.message.place, opened.surfaces),
    surfaces: opened.surfaces,
    say,
    promptContext,
    profile,
    prepared: withCallerOptions(shared.prepare(profile), payload.options),
    options: payload.options,
    unanswered: opened.unanswered,
    askedModel: payload.model,
    silentToken: opened.placeholders.length > 0 ? undefined : payload.silentToken,
    model: payload.model ?? opened.session.model ?? payload.usualModel ?? profile.model,
    history: toGroups(opened.history, { thinking: false }),
    past: opened.history,
    approvals: opened.approvals,
    rows,
    reply: replySoFar(rows),
    joining: { payload, unreported: burst?.joined ?? [] },
    otherUsage: new UnjournaledUsage(opened.journal),
    restarted: head.crashes + head.attempts > 0 || opened.journal.length > 0,
    // Checked like user input: a mode name of an older version is refused with its new name (S-03).
    mode: payload.mode ?? readMode(opened.session.mode),
    planned: opened.planned,
    toRun: payload.plan,
    plan: opened.plan,
    signal: head.stopped ? AbortSignal.abort(new LaneAbort('stopped')) : signal,
    toolSignal: withoutShutdown(signal),
    waits: notedWaits(shared.deps, head),
    trace: new TraceNotes(attemptStart(head, opened), shared.deps.redact),
    log: shared.deps.log.child({ sessionKey, turnId: payload.turnId }),
  };
}

/** Creates the output of the turn: the live message of its channel, and the event bus. */
function openOutput(
  shared: AgentShared,
  start: { turn: Turn; payload: TurnPayload; opened: OpenedTurn; emitter: TurnEmitter; takenOver: boolean },
): LiveOutput {
  const { turn, payload, opened, emitter, takenOver } = start;
  const { placeholder } = payload.message;
  const placeholders = opened.placeholders.length === 0 && placeholder ? [placeholder] : opened.placeholders;
  const textSoFar = turn.reply.text;
  const open = () =>
    shared.deps.live.open({
      turnId: turn.turnId,
      session: turn.sessionKey,
      address: opened.address,
      surfaces: opened.surfaces,
      replyTo: turn.replyTo,
      question: askedQuestion(payload.message),
      placeholders,
      takenOver,
      textSoFar,
      note: (ref, sent) => shared.deps.ledger.noteSent(turn.fence, ref, sent),
      plan: opened.plan,
      language: turn.say.language,
    });
  const emit: Emit = (event) => emitter.emit(event);
  return openLiveOutput({ silentToken: turn.silentToken, textSoFar, open, emit });
}

/** T6. */
async function commit(
  shared: AgentShared,
  turn: TurnIdentity & TurnContext & TurnProgress,
  address: Address,
  {
    result,
    trace,
    shownOn,
  }: { result: OutputResult; trace: TraceAttempt; shownOn: ReturnType<LiveOutput['shownOn']> },
): Promise<LaneStep> {
  const fresh = turn.rows.fresh();
  const { attachments, outbound, elsewhere } = await deliveryWithFiles(
    shared.deps.answerFiles,
    turn,
    address,
    result,
  );
  return await shared.deps.ledger.finishTurn(turn.fence, {
    turnId: turn.turnId,
    reason: result.reason,
    failure: result.failure,
    content: result.text,
    attachments,
    isError: result.isError,
    speak: shared.deps.settings().speaks && !result.silent && !result.isError && result.text !== '',
    userId: turn.userId,
    usage: usageOf(turn),
    trace,
    // A silent turn leaves nothing in the model's context, unless its journal has begun.
    entries: result.silent && fresh.includes(turn.rows.user) ? [] : fresh,
    outbound,
    elsewhere: elsewhere && (await endElsewhere(shared, turn.surfaces, elsewhere, shownOn)),
  });
}
