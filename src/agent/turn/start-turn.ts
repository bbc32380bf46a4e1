/** Starts the turn of an `in:` lane's head: opens it, reads its message with its files, and gathers what its calls read. */
import { LaneAbort } from '../../protocol/bus.ts';
import { answeredMessage, memoryOwnerOf, payerOf, userIdOf } from '../../protocol/message.ts';
import { readMode } from '../../protocol/agent/plan.ts';
import { HISTORY_ROWS, type TurnPayload } from '../../protocol/store/accept.ts';
import { type LaneHead, waitNotedAfterMs } from '../../protocol/store/lanes.ts';
import type { OpenedTurn } from '../../protocol/store/records.ts';
import type { AgentShared } from '../deps.ts';
import { withCallerOptions } from '../model/caller-options.ts';
import { GatewayError, toGatewayError } from '../../protocol/errors.ts';
import { systemClock } from '../../lib/clock.ts';
import { DelayedFlag } from '../../lib/async/delayed-flag.ts';
import { toGroups } from '../prompt/history.ts';
import { MAX_RECALLED, memoryPart, type PromptContext } from '../prompt/system-prompt.ts';
import type { MemoryRecord } from '../../protocol/store/notes.ts';
import { Taint, TurnRows } from './turn-rows.ts';
import { attemptStart, TraceNotes } from './trace-notes.ts';
import {
  replySoFar,
  type Turn,
  type TurnContext,
  type TurnIdentity,
  type TurnProgress,
  UnjournaledUsage,
} from './turn-state.ts';
import { withoutShutdown } from '../tools/tool-run.ts';
import type { AfterTurn } from '../after-turn/after-turn.ts';
import { sayFor } from './failure-text.ts';
import { receiveFiles } from './message-files.ts';
import { networkOf, strictestPlace } from './answer-delivery.ts';
import { collectBurst, type InitialInput } from './queue-modes.ts';
import { readMessage, type ReadMessage } from './turn-payload.ts';

/** A turn of an `in:` lane: its attempt is noted. */
export type TracedTurn = Turn & { trace: TraceNotes };

/** What a turn starts from. */
interface Start {
  head: LaneHead;
  payload: TurnPayload;
  signal: AbortSignal;
  opened: OpenedTurn;
  message: ReadMessage;
  burst: InitialInput | undefined;
  promptContext: PromptContext;
}

/**
 * Starts the turn, or says how long to wait for more messages of a burst, in milliseconds. Throws `StoreError`, or an abort
 * of the lane.
 */
export async function startTurn(
  shared: AgentShared,
  afterTurn: AfterTurn,
  head: LaneHead,
  payload: TurnPayload,
  signal: AbortSignal,
): Promise<{ turn: TracedTurn; opened: OpenedTurn } | { waitMs: number }> {
  const memoryOwner = memoryOwnerOf(payload.message);
  const openTurn =
    head.opened ?? (await shared.stores.ledger.openTurn(head, payload.turnId, HISTORY_ROWS, memoryOwner));
  const { undoing, key } = openTurn.session;
  if (undoing !== undefined) await shared.finishUndo(key, undoing);
  const withFiles = { payload, laneSeq: head.seq, folder: openTurn.session.folder };
  afterTurn.turnBegins(openTurn.session.key);
  const files = hasBegun(openTurn) ? [] : await receiveFiles(shared, head, withFiles, signal);
  const where = networkOf(shared, payload.message, openTurn.surfaces);
  const message = readMessage(payload.message, files, openTurn.observed, where);
  const input = signal.aborted
    ? undefined
    : await collectBurst(shared, head, payload, message, openTurn, signal);
  if (input !== undefined && 'waitMs' in input) return input;
  const place = strictestPlace(payload.message.place, openTurn.surfaces);
  // In a group others read the answer.
  const mayRecall = openTurn.remembers && place !== 'group' && memoryOwner !== 'system';
  const [bootstrap, facts] = await Promise.all([
    shared.prompts.bootstrapPrompt(),
    mayRecall ? recall(shared, memoryOwner, payload.message.content) : [],
  ]);
  const untrusted = facts.some((fact) => fact.untrusted);
  const start: Start = {
    head,
    payload,
    signal,
    opened: openTurn,
    message: input?.combined ?? message,
    burst: input,
    promptContext: { ...bootstrap, memory: memoryPart(facts), untrusted },
  };
  return { turn: await turnOf(shared, start), opened: openTurn };
}

/** The memories for the prompt. Throws no `GatewayError`: a turn without memories is better than none. */
async function recall(
  { stores: { memories }, log }: AgentShared,
  memoryOwner: string,
  message: string,
): Promise<MemoryRecord[]> {
  try {
    return await memories.recall(memoryOwner, message, MAX_RECALLED);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    log.warn({ err: error, memoryOwner }, 'memories_not_read');
    return [];
  }
}

/** True when the message is in the journal, with what was read of its files. */
function hasBegun({ journal }: OpenedTurn): boolean {
  return journal.some(({ entry }) => entry.kind === 'user' && entry.laneSeq === undefined);
}

/** True when it was stopped while it was parked behind the turn of another person, which has the stop mark. */
function isDeniedByStop({ approvals: [newest] }: OpenedTurn): boolean {
  return newest?.decidedBy === 'stop';
}

async function turnOf(shared: AgentShared, start: Start): Promise<TracedTurn> {
  const { head, opened: openTurn, signal } = start;
  const context = contextOf(shared, start);
  const progress = progressOf(start);
  return {
    ...(await identityOf(shared, start)),
    ...context,
    ...progress,
    signal: head.stopped || isDeniedByStop(openTurn) ? AbortSignal.abort(new LaneAbort('stopped')) : signal,
    toolSignal: withoutShutdown(signal),
    waits: notedWaits(shared, head),
    trace: new TraceNotes(attemptStart(head, openTurn), shared.redact),
  };
}

async function identityOf(
  shared: AgentShared,
  { head, payload, opened: openTurn, message: { author } }: Start,
): Promise<TurnIdentity> {
  const { message, turnId, isOwner } = payload;
  const sessionKey = openTurn.session.key;
  return {
    fence: { lane: head.lane, node: head.node, epoch: head.epoch, seq: head.seq },
    turnId,
    sessionKey,
    folder: openTurn.session.folder,
    address: openTurn.address,
    replyTo: answeredMessage(message),
    userId: userIdOf(message),
    payer: payerOf(message),
    memoryOwner: memoryOwnerOf(message),
    userName: message.senderName,
    onBehalfOf: message.onBehalfOf,
    isOwner,
    author,
    askedIn: message.place,
    place: strictestPlace(message.place, openTurn.surfaces),
    surfaces: openTurn.surfaces,
    say: await sayFor(shared, payload),
    log: shared.log.child({ sessionKey, turnId }),
  };
}

function contextOf(shared: AgentShared, { payload, opened: openTurn, promptContext }: Start): TurnContext {
  const { session, history, placeholders, address } = openTurn;
  const profile = shared.models.profile(payload.profileId ?? session.profileId);
  return {
    profile,
    prepared: withCallerOptions(
      shared.prompts.prepare(profile, shared.knowledge.has(profile.id, address)),
      payload.options,
    ),
    options: payload.options,
    askedModel: payload.model,
    model: payload.model ?? session.model ?? payload.usualModel ?? profile.model,
    promptContext,
    history: toGroups(history, { thinking: false }),
    past: history,
    // Checked like user input: a mode name of an older version is refused with its new name (S-03).
    mode: payload.mode ?? readMode(session.mode),
    silentToken: placeholders.length > 0 ? undefined : payload.silentToken,
  };
}

function progressOf({
  payload,
  opened: openTurn,
  message,
  burst: input,
  promptContext,
}: Start): TurnProgress {
  const { session, journal } = openTurn;
  const taint = new Taint(session.sources);
  if (promptContext.untrusted) taint.add(['local']);
  const rows = new TurnRows(message.content, journal, message, taint);
  if (input?.combined !== undefined) rows.journaled([rows.user]);
  return {
    rows,
    reply: replySoFar(rows),
    otherUsage: new UnjournaledUsage(journal),
    restarted: openTurn.interrupted === true || journal.length > 0,
    unanswered: openTurn.unanswered,
    planned: openTurn.planned,
    toRun: payload.plan,
    question: payload.question,
    plan: openTurn.plan,
    approvals: openTurn.approvals,
    steering: { payload, unreported: input?.joined ?? [] },
  };
}

/** Makes the note for the turn, or the background subagent, of this head. */
export function notedWaits({ stores: { lanes }, log }: AgentShared, head: LaneHead): DelayedFlag {
  return new DelayedFlag({
    clock: systemClock,
    afterMs: waitNotedAfterMs(head),
    write: (isWaiting) => lanes.noteWaiting(head, isWaiting),
    onFailed: (error) => log.info({ lane: head.lane, err: toGatewayError(error) }, 'waiting_not_noted'),
  });
}
