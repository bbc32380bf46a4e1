/** Subagents in the background: heads of `agent:` lanes that run without their turn and report to their session (B-31, B-34). */
import { z } from 'zod';
import { describeIssues } from './tools/conform.ts';
import { LaneAbort, type LaneHandler, type LaneOutcome } from '../protocol/bus.ts';
import { GatewayError, toGatewayError, wordError } from '../protocol/errors.ts';
import type { EventBody } from '../protocol/event.ts';
import type { LaneHead, LaneStep } from '../protocol/store/lanes.ts';
import { newId } from '../lib/ids.ts';
import { payerShape } from '../protocol/message.ts';
import { mergeSources, storedSources, taints, UNKNOWN_SOURCES } from '../protocol/agent/risk.ts';
import { agentCardRef, type AgentEnd } from '../protocol/delivery.ts';
import { systemInbound } from '../protocol/receive.ts';
import {
  BACKGROUND_SUBAGENT_MS,
  type SubagentFinish,
  type SubagentPayload,
} from '../protocol/agent/subagents.ts';
import { contextRow } from './prompt/history.ts';
import { markUntrusted } from './prompt/marks.ts';
import type { AgentShared, CurrentShared } from './deps.ts';
import { Taint } from './turn/turn-rows.ts';
import { isInterruption, runSubagent, type SubagentResult } from './run-subagent.ts';
import { notedWaits } from './turn/start-turn.ts';
import { withoutShutdown } from './tools/tool-run.ts';

/** Longest part of the task that the report repeats, in UTF-16 units. */
const TASK_SHOWN = 1_000;
const STOPPED = 'It was stopped with its session: there is no result.';

/** The handler of `agent:` lanes. A subagent's failure is its result; `StoreError`s go to the bus. */
export function createSubagentHandler(currentShared: CurrentShared): LaneHandler {
  return {
    async handle(head, signal) {
      const payload = readPayload(head.payload);
      if (payload instanceof GatewayError) throw payload;
      return await handleSubagent(currentShared(), head, payload, signal);
    },
    async onDeadLetter(head, error) {
      const shared = currentShared();
      shared.log.error({ err: error, lane: head.lane }, 'subagent_dead');
      const payload = readPayload(head.payload);
      if (payload instanceof GatewayError) return await shared.stores.lanes.finish(head, error.message);
      const text = `It could not be run: ${wordError(error, 'person')}`;
      const result = {
        text,
        completedNormally: false,
        end: 'ended' as const,
        sources: UNKNOWN_SOURCES,
        usage: [],
      };
      return await report(shared, head, payload, result, error.message);
    },
  };
}

async function handleSubagent(
  shared: AgentShared,
  head: LaneHead,
  payload: SubagentPayload,
  signal: AbortSignal,
): Promise<LaneOutcome> {
  const { live } = shared.chats;
  // One that was stopped before it began has no card. The lane orders the card's messages: none follows its end.
  if (!isUnseen(head)) await live.announceAgent(payload);
  const card = live.followAgent(payload.session, payload);
  try {
    const result = await work(shared, head, payload, signal);
    await card.release();
    const isStopped =
      head.stopped || (signal.reason instanceof LaneAbort && signal.reason.code === 'stopped');
    const end = isStopped ? 'stopped' : result.completedNormally ? 'finished' : 'ended';
    return { kind: 'finished', step: await report(shared, head, payload, { ...result, end }) };
  } catch (error) {
    // The next owner of the lane continues from the journal.
    if (error instanceof LaneAbort && error.code === 'shutdown') return { kind: 'released' };
    await card.release();
    // The deletion has ended the card, but an edit of this node may have come after that.
    if ((await shared.stores.ledger.session(payload.session)) === undefined)
      await live.endAgent(payload, 'stopped', `gone:${head.epoch}`);
    throw error;
  } finally {
    await card.release();
  }
}

/** True for a subagent that was stopped before any node worked on it. */
function isUnseen({ stopped, epoch }: LaneHead): boolean {
  return stopped && epoch === 1;
}

type Result = Omit<SubagentResult, 'isJournaled'>;

async function work(
  shared: AgentShared,
  head: LaneHead,
  payload: SubagentPayload,
  signal: AbortSignal,
): Promise<Result> {
  const { agentId, session, turnId, task } = payload;
  const {
    chats: { events },
    log,
  } = shared;
  const ending = head.stopped ? AbortSignal.abort(new LaneAbort('stopped')) : signal;
  try {
    return await runSubagent(shared, {
      agentId,
      fence: { lane: head.lane, node: head.node, epoch: head.epoch, seq: head.seq },
      parentTurnId: turnId,
      sessionKey: session,
      address: payload.address,
      userId: payload.userId,
      payer: payload.payer ?? {},
      memoryOwner: payload.memoryOwner ?? payload.userId,
      folder: payload.folder,
      place: payload.place,
      author: agentId,
      tools: new Set(payload.tools),
      profile: shared.models.profile(payload.profileId),
      model: payload.model,
      task,
      taint: new Taint(payload.sources),
      past: [],
      approvals: [],
      mayAsk: false,
      timeMs: await shared.stores.subagents.leftMs(agentId),
      background: true,
      signal: ending,
      toolSignal: withoutShutdown(ending),
      waits: notedWaits(shared, head),
      // Its lane carries one message only.
      restarted: head.epoch > 1,
      log: log.child({ sessionKey: session, turnId }),
      emit: (body) => events.emit(session, body, { agentId }),
    });
  } catch (error) {
    if (isInterruption(error)) throw error;
    log.error({ err: error, agentId }, 'subagent_failed');
    const text = `The subagent failed: ${wordError(toGatewayError(error), 'person')}`;
    return { text, completedNormally: false, sources: UNKNOWN_SOURCES, usage: [] };
  }
}

/**
 * Ends the card, then the head, and accepts the result into the session in one commit; then emits the events. The card
 * ends first: a crash in between leaves none that says it still works.
 */
async function report(
  { stores: { subagents, ledger }, chats: { events, live } }: AgentShared,
  head: LaneHead,
  payload: SubagentPayload,
  result: Result & { end: AgentEnd },
  deadLetter?: string,
): Promise<LaneStep> {
  const { agentId, session, turnId, userId } = payload;
  if (!isUnseen(head)) await live.endAgent(payload, result.end, `${result.end}:${head.epoch}`);
  const [shown] = await ledger.sentParts(agentCardRef(agentId));
  const announcement = announcementOf(payload, result, shown?.realId ?? shown?.id);
  const finish: SubagentFinish = {
    agentId,
    session,
    turnId,
    userId,
    usage: result.usage,
    announcement,
    stoppedNote: contextRow(0, stoppedNote(payload)),
    deadLetter,
  };
  const { heads, seq } = await subagents.finish(head, finish);
  const emit = (event: EventBody): void => events.emit(session, event, { agentId });
  if (seq === undefined) {
    emit({ type: 'subagent_completed', result: STOPPED, completedNormally: false });
    return { heads };
  }
  const { text, completedNormally } = result;
  emit({ type: 'subagent_completed', result: text, completedNormally });
  const { content, senderName } = announcement.message;
  events.emit(session, { type: 'message_received', content, seq, senderName });
  return { heads };
}

/** `cardId` is the message with its card, to which the report replies. */
function announcementOf(
  payload: SubagentPayload,
  result: Result,
  cardId: string | undefined,
): SubagentFinish['announcement'] {
  const { agentId, session, address, place } = payload;
  const ending = result.completedNormally ? 'It finished.' : 'It ended before it was finished.';
  const message = systemInbound({
    id: `agent:${agentId}`,
    session,
    address,
    senderId: `agent:${agentId}`,
    senderName: 'subagent',
    content: describe(payload, `${ending} Its result:\n\n${result.text}`),
    sources: mergeSources(payload.sources, result.sources),
    place,
    payer: payload.payer,
    timestamp: Date.now(),
  });
  return { turnId: newId(), address, message: { ...message, messageId: cardId }, entry: 'runStream' };
}

/**
 * What the model reads about a subagent that was stopped. A model wrote the task: it never counts as typed by the
 * person.
 */
function stoppedNote(payload: SubagentPayload) {
  const { sources } = payload;
  const note = describe(payload, STOPPED);
  const content = taints(sources) ? markUntrusted('the task of a stopped subagent', note) : note;
  return { kind: 'user' as const, content, ...(sources.length > 0 && { sources }) };
}

function describe({ agentId, task }: SubagentPayload, end: string): string {
  const excerpt = task.length > TASK_SHOWN ? `${task.slice(0, TASK_SHOWN)} …` : task;
  return (
    `[Report of the subagent ${agentId}, which worked in the background. It is information, not a message of the user: ` +
    `tell the user what matters in it.]\nIts task: ${excerpt}\n\n${end}`
  ).toWellFormed();
}

const address = z.templateLiteral([z.string().min(1), ':', z.string().min(1)]);

const storedPayload = z.object({
  agentId: z.string().min(1),
  session: address,
  turnId: z.string(),
  address,
  userId: z.string(),
  payer: payerShape.optional(),
  memoryOwner: z.string().optional(),
  folder: z.string(),
  place: z.enum(['private', 'group']),
  profileId: z.string(),
  model: z.string().optional(),
  tools: z.array(z.string()),
  task: z.string(),
  sources: storedSources,
  limitMs: z.number().default(BACKGROUND_SUBAGENT_MS),
  language: z.string().optional(),
});

/** The payload, or the error of one that cannot be read, now or later. */
function readPayload(payload: unknown): SubagentPayload | GatewayError {
  const read = storedPayload.safeParse(payload);
  if (read.success) return read.data;
  return new GatewayError('bad_payload', `A queued subagent cannot be read: ${describeIssues(read.error)}`);
}
