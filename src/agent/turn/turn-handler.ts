/** Handles the head of an `in:` lane: opens the turn, runs it, and commits its end. */
import { LaneAbort } from '../../contracts/bus.ts';
import type { LaneHandler, LaneOutcome, TurnEmitter } from '../../contracts/bus.ts';
import { GatewayError } from '../../contracts/errors.ts';
import type { LaneHead, LaneStep } from '../../contracts/lanes.ts';
import type { DeliveryPayload, TurnPayload } from '../../contracts/ledger.ts';
import { parseAddress, sourceOf, userIdOf } from '../../contracts/message.ts';
import type { Address, SessionKey } from '../../contracts/message.ts';
import { cancelPlan, isOpenPlan, readMode } from '../../contracts/plan.ts';
import type { OpenedTurn } from '../../contracts/records.ts';
import { ApprovalWait } from '../tools/approval-gate.ts';
import { toGroups } from '../prompt/history.ts';
import { loadPromptContext } from '../prompt/system-prompt.ts';
import type { PromptContext } from '../prompt/system-prompt.ts';
import { HISTORY_ROWS } from '../deps.ts';
import type { AgentShared, Emit } from '../deps.ts';
import type { Compressor } from '../compression/compressor.ts';
import type { AfterTurn } from './after-turn.ts';
import { announceDecision, parkTurn } from './parking.ts';
import { collectBurst } from './queue-modes.ts';
import type { InitialInput } from './queue-modes.ts';
import { CANCELLED } from '../planner/follow-plan.ts';
import { openLiveOutput } from './silent-reply.ts';
import type { LiveOutput, OutputResult } from './silent-reply.ts';
import { isSilent } from './silent-token.ts';
import { messageText, readTurnPayload } from './turn-payload.ts';
import { createSubagents } from '../subagents/subagents.ts';
import { withoutShutdown } from '../tools/tool-run.ts';
import { recordUnreported, usageOf } from '../state/turn-usage.ts';
import { UnjournaledUsage } from '../state/unjournaled-usage.ts';
import { replySoFar } from '../state/turn-state.ts';
import { TurnRows } from '../state/turn-rows.ts';
import type { Turn, TurnContext, TurnIdentity, TurnProgress } from '../state/turn-state.ts';
import { failureText, runTurn } from './agent-loop.ts';

/** Work before and after each turn of a session. */
export interface AroundTurn {
  compressor: Pick<Compressor, 'before'>;
  afterTurn: Pick<AfterTurn, 'start' | 'running'>;
}

/** Creates the handler of `in:` lanes. Errors of the model and of tools end the turn with a text; `StoreError`s go to the bus. */
export function createTurnHandler(shared: AgentShared, aroundTurn: AroundTurn): LaneHandler {
  return {
    handle: (head, signal) => handleTurn(shared, aroundTurn, head, signal),
    onDeadLetter: (head, error) => endDeadLetter(shared, head, error),
  };
}

async function handleTurn(
  shared: AgentShared,
  { compressor, afterTurn }: AroundTurn,
  head: LaneHead,
  signal: AbortSignal,
): Promise<LaneOutcome> {
  const payload = readTurnPayload(head.payload);
  if (payload instanceof GatewayError) throw payload;
  const { ledger, events } = shared.deps;
  const userId = userIdOf(payload.message);
  const opened = await ledger.openTurn(head, payload.turnId, HISTORY_ROWS, userId);
  const burst = signal.aborted ? undefined : await collectBurst(shared, head, payload, opened);
  if (burst !== undefined && 'waitMs' in burst) return { kind: 'released', delayMs: burst.waitMs };
  const { content, place } = payload.message;
  const recipient = { userId, place, message: content, hasMemories: opened.remembers };
  const promptContext = await loadPromptContext(shared, recipient);
  const turn = startTurn(shared, { head, payload, opened, promptContext, signal, burst });
  const emitter = events.turn({
    sessionKey: turn.sessionKey,
    turnId: turn.turnId,
    epoch: head.epoch,
    textSoFar: isSilent(turn.silentToken, turn.reply.text) ? '' : turn.reply.text,
  });
  turn.agents = createSubagents(shared, turn, emitter, payload.profileId);
  try {
    await announceDecision(shared, turn, emitter);
    const output = openOutput(shared, { turn, payload, opened, emitter });
    let result: OutputResult;
    try {
      const planning = payload.entry !== 'run';
      const compress = (emit: Emit) => compressor.before(turn, afterTurn.running(turn.sessionKey), emit);
      result = output.finish(await runTurn(shared, turn, { planning, compress }, output.emit));
    } finally {
      // After this no call to the platform is in flight for this turn.
      await output.settle();
    }
    const step = await commit(shared, turn, opened.address, result);
    emitter.emit({ type: 'turn_ended', reason: result.reason });
    afterTurn.start(turn, result.reason);
    return { kind: 'finished', step };
  } catch (error) {
    if (error instanceof ApprovalWait) {
      await recordUnreported(ledger, turn);
      return await parkTurn(shared, turn, emitter, error);
    }
    // The next owner of the lane continues from the journal.
    if (!(error instanceof LaneAbort && error.code === 'shutdown')) throw error;
    await recordUnreported(ledger, turn);
    return { kind: 'released' };
  }
}

interface Start {
  head: LaneHead;
  payload: TurnPayload;
  opened: OpenedTurn;
  promptContext: PromptContext;
  signal: AbortSignal;
  burst: InitialInput | undefined;
}

function startTurn(
  shared: AgentShared,
  { head, payload, opened, promptContext, signal, burst }: Start,
): Turn {
  const profile = shared.models.profile(payload.profileId ?? opened.session.profileId);
  const own = { content: messageText(payload.message), source: sourceOf(payload.message) };
  const { content, source } = burst?.combined ?? own;
  const rows = new TurnRows(content, opened.journal, source);
  if (burst?.combined !== undefined) rows.journaled([rows.user]);
  const sessionKey = opened.session.key;
  return {
    fence: { lane: head.lane, node: head.node, epoch: head.epoch, seq: head.seq },
    turnId: payload.turnId,
    sessionKey,
    address: opened.address,
    userId: userIdOf(payload.message),
    userName: payload.message.senderName,
    place: payload.message.place,
    promptContext,
    profile,
    prepared: shared.prepare(profile),
    askedModel: payload.model,
    silentToken: opened.placeholders.length > 0 ? undefined : payload.silentToken,
    model: payload.model ?? opened.session.model ?? profile.model,
    history: toGroups(opened.history, { thinking: false }),
    past: opened.history,
    approvals: opened.approvals,
    rows,
    reply: replySoFar(rows),
    joining: { payload, unreported: burst?.joined ?? [] },
    otherUsage: new UnjournaledUsage(opened.journal),
    restarted: head.crashes + head.attempts > 0 || opened.journal.length > 0,
    cutOff: false,
    // Checked like user input: a mode name of an older version is refused with its new name (S-03).
    mode: payload.mode ?? readMode(opened.session.mode),
    planned: opened.planned,
    plan: opened.plan,
    signal: head.stopped ? AbortSignal.abort(new LaneAbort('stopped')) : signal,
    toolSignal: withoutShutdown(signal),
    log: shared.deps.log.child({ sessionKey, turnId: payload.turnId }),
  };
}

/** Creates the output of the turn: the live message of its channel, and the event bus. */
function openOutput(
  shared: AgentShared,
  start: { turn: Turn; payload: TurnPayload; opened: OpenedTurn; emitter: TurnEmitter },
): LiveOutput {
  const { turn, payload, opened, emitter } = start;
  const { placeholder } = payload.message;
  const placeholders = opened.placeholders.length === 0 && placeholder ? [placeholder] : opened.placeholders;
  const textSoFar = turn.reply.text;
  const open = () =>
    shared.deps.live.open({
      turnId: turn.turnId,
      address: opened.address,
      placeholders,
      textSoFar,
      note: (sent) => shared.deps.ledger.notePlaceholder(turn.fence, turn.turnId, sent),
      plan: opened.plan,
      noteCard: (ref, sent) => shared.deps.ledger.noteSent(turn.fence, ref, sent),
    });
  const emit: Emit = (event) => emitter.emit(event);
  return openLiveOutput({ silentToken: turn.silentToken, textSoFar, open, emit });
}

/** T6. */
async function commit(
  shared: AgentShared,
  turn: TurnIdentity & TurnContext & TurnProgress,
  address: Address,
  result: OutputResult,
): Promise<LaneStep> {
  const fresh = turn.rows.fresh();
  return await shared.deps.ledger.finishTurn(turn.fence, {
    turnId: turn.turnId,
    reason: result.reason,
    content: result.text,
    isError: result.isError,
    userId: turn.userId,
    usage: usageOf(turn),
    // A silent turn leaves nothing in the model's context, unless its journal has begun.
    entries: result.silent && fresh.includes(turn.rows.user) ? [] : fresh,
    hadAgents: [...turn.rows.steps, ...turn.rows.ofPlan].some(({ entry }) => entry.kind === 'tool_intent'),
    outbound: result.silent ? undefined : deliveryOf(turn.turnId, address, result.text, result.isError),
  });
}

/** The delivery of the answer; undefined for `http`, where the stored message is the delivery. */
function deliveryOf(
  turnId: string,
  address: Address,
  content: string,
  isError: boolean,
): DeliveryPayload | undefined {
  const place = parseAddress(address);
  if (place.channel === 'http') return undefined;
  return { ref: turnId, message: { ...place, content, turnId, media: [], buttons: [], isError } };
}

/** Ends a turn that has become a dead letter and answers with the reason. A head that cannot be read is only finished. */
async function endDeadLetter(shared: AgentShared, head: LaneHead, error: GatewayError): Promise<LaneStep> {
  const { ledger, lanes, events, log } = shared.deps;
  log.error({ err: error, lane: head.lane, seq: head.seq }, 'turn_dead');
  const payload = readTurnPayload(head.payload);
  if (payload instanceof GatewayError) return await lanes.finish(head, error.message);
  const { turnId, address } = payload;
  const text = failureText(error);
  const plan = await ledger.planOf(turnId);
  const open = plan !== undefined && isOpenPlan(plan);
  if (open) await ledger.updatePlan(head, cancelPlan(plan, CANCELLED.failed));
  const step = await ledger.finishTurn(head, {
    turnId,
    reason: 'failed',
    content: text,
    isError: true,
    userId: userIdOf(payload.message),
    usage: [],
    entries: [],
    outbound: deliveryOf(turnId, address, text, true),
    deadLetter: error.message,
  });
  const emitter = events.turn({
    sessionKey: sessionOf(head, address),
    turnId,
    epoch: head.epoch,
    textSoFar: text,
  });
  if (open) emitter.emit({ type: 'plan_cancelled', reason: CANCELLED.failed });
  emitter.emit({ type: 'snapshot', text });
  emitter.emit({ type: 'turn_ended', reason: 'failed' });
  return step;
}

/** The session of an `in:` lane. */
function sessionOf(head: LaneHead, address: Address): SessionKey {
  const [, channel = '', rest = ''] = /^in:([^:]+):(.+)$/s.exec(head.lane) ?? [];
  return channel === '' ? address : `${channel}:${rest}`;
}
