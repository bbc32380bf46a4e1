/** A subagent: a turn inside another one, with its own journal and events and without a message (N-04, N-06). */
import { type EventBody, isAnswered } from '../protocol/event.ts';
import { LaneAbort } from '../protocol/bus.ts';
import { GatewayError, StoreError } from '../protocol/errors.ts';
import type { Fence } from '../protocol/store/lanes.ts';
import type { Ledger } from '../protocol/store/ledger.ts';
import { clipMiddle } from '../lib/text.ts';
import type { Log } from '../protocol/log.ts';
import type { Profile } from '../protocol/agent/profile.ts';
import type { Usage } from '../protocol/agent/provider.ts';
import { type ContextRecord, type JournalRow, sourcesOfEntry } from '../protocol/store/records.ts';
import type { Source } from '../protocol/agent/risk.ts';
import { SUBAGENT_TOKENS } from '../protocol/agent/subagents.ts';
import type { ModelUsage } from '../protocol/agent/usage.ts';
import { ApprovalWait } from './tools/approval-gate.ts';
import { type AgentShared, type Emit, MAX_RESULT_CHARS } from './deps.ts';
import { NO_PART } from './prompt/bootstrap-files.ts';
import {
  recordUnreported,
  replySoFar,
  type Turn,
  type TurnResult,
  UnjournaledUsage,
  usageOf,
} from './turn/turn-state.ts';
import { type Taint, TurnRows } from './turn/turn-rows.ts';
import { runTurn } from './turn/agent-loop.ts';
import { inEnglish, type Say } from '../protocol/texts/say.ts';
import { TraceNotes } from './turn/trace-notes.ts';

/** Everything a subagent works with, passed as arguments: there is no shared state to restore (N-12). */
export interface Child extends Pick<
  Turn,
  | 'sessionKey'
  | 'address'
  | 'userId'
  | 'payer'
  | 'memoryOwner'
  | 'folder'
  | 'userName'
  | 'place'
  | 'author'
  | 'model'
  | 'past'
  | 'approvals'
  | 'mayAsk'
  | 'signal'
  | 'toolSignal'
  | 'waits'
  | 'restarted'
> {
  agentId: string;
  /** Says what people are asked in the meantime; default: in English, where no one can be asked. */
  say?: Say | undefined;
  /** The fence of its journal: the lane of its turn, or its own. */
  fence: Fence;
  parentTurnId: string;
  /** Tools that its turn may use. */
  tools: ReadonlySet<string>;
  profile: Profile;
  task: string;
  /** What was read before the task was written. */
  taint: Taint;
  /** Milliseconds it may take from now on. */
  timeMs: number;
  /** It does not end with its turn. */
  background: boolean;
  log: Log;
  emit: Emit;
}

/**
 * The result of a subagent. `completedNormally` is false when it reached its iteration limit, ran out of time or tokens,
 * was stopped or failed; the text gives the reason.
 */
export interface SubagentResult {
  text: string;
  completedNormally: boolean;
  /** Sources of everything it has read. */
  sources: readonly Source[];
  /** Cost of its calls, by model. */
  usage: readonly ModelUsage[];
  /** The result was already in the journal. */
  isJournaled: boolean;
}

/**
 * Runs a subagent to its end, continuing its journal. It has no session, no message and no turn in the database. Throws
 * `StoreError`, a `LaneAbort` other than `stopped`, and `ApprovalWait`: it can be continued later.
 */
export async function runSubagent(shared: AgentShared, child: Child): Promise<SubagentResult> {
  const journal = await shared.stores.subagents.journal(child.agentId);
  const childShared = withOwnJournal(shared, child);
  const bounds = startBounds(child, journal);
  const trace = traceSubagent(shared, child, journal.length > 0);
  const turn = { ...childTurn(childShared, child, journal, bounds.signal), trace: trace.notes };
  const earlierResult = journaledResult(journal);
  try {
    if (earlierResult !== undefined) return { ...earlierResult, usage: usageOf(turn), isJournaled: true };
    let last: EventBody['type'] | undefined;
    const result = await runTurn(childShared, turn, { planning: 'first' }, (event) => {
      bounds.count(event);
      trace.notes.event(event);
      // Only the parent's turn is announced as started, and the subagent's plan is not the session's todo list.
      const isParents =
        event.type === 'turn_started' || (event.type === 'todo_changed' && last === 'plan_ready');
      if (!isParents) child.emit(event);
      last = event.type;
    });
    trace.end(result.reason);
    const { sources } = turn.rows.taint;
    return { ...resultOf(turn, result), sources, usage: usageOf(turn), isJournaled: false };
  } catch (error) {
    trace.end(outcomeOf(error));
    if (isInterruption(error) && !(error instanceof StoreError))
      await recordUnreported(shared.stores.ledger, turn);
    throw error;
  } finally {
    bounds.stop();
  }
}

/** The same agent, but it writes to the subagent's journal instead of the session's. The subagent's plan is not stored as the session's plan. */
function withOwnJournal(shared: AgentShared, child: Child): AgentShared {
  const { subagents, ledger } = shared.stores;
  const { agentId, sessionKey: session, parentTurnId: turnId, userId } = child;
  const write = (fence: Fence, rows: JournalRow[]): Promise<void> =>
    subagents.write(fence, { agentId, session }, rows);
  const childLedger: Ledger = {
    ...ledger,
    journalAnswer: (fence, _id, rows) => write(fence, rows),
    toolIntent: (fence, _id, iteration, entry, note) => write(fence, [{ iteration, entry, tokens: 0, note }]),
    toolResult: (fence, _id, iteration, entry, tokens, note) =>
      write(fence, [{ iteration, entry, tokens, note }]),
    async storePlan(fence, _id, { made: planRecord, model, usage }) {
      if (planRecord !== undefined) await write(fence, planRecord.rows);
      await ledger.noteUsage({
        ...usage,
        model,
        purpose: 'subagent',
        turnId,
        session,
        userId,
        holder: agentId,
      });
    },
    updatePlan: () => Promise.resolve(),
  };
  return { ...shared, stores: { ...shared.stores, ledger: childLedger } };
}

function childTurn(
  shared: AgentShared,
  child: Child,
  journal: readonly ContextRecord[],
  bounds: AbortSignal,
): Turn {
  const {
    agentId,
    tools,
    task,
    taint,
    timeMs: _time,
    background: _background,
    emit: _emit,
    ...inherited
  } = child;
  const profile = shared.prompts.forSubagent(child.profile, tools);
  const { sources } = taint;
  // A task that was written when only the person had been read stands for what they typed.
  const origin = sources.length === 0 ? { author: child.author } : { sources };
  const rows = new TurnRows(task, journal, origin, taint);
  return {
    ...inherited,
    turnId: agentId,
    say: child.say ?? inEnglish,
    askedIn: child.place,
    surfaces: [],
    // A subagent knows its profile's prompt and its task, and nothing else.
    promptContext: { bootstrap: NO_PART, skills: [], memory: NO_PART, untrusted: false },
    profile,
    prepared: shared.prompts.prepare(profile),
    history: [],
    rows,
    reply: replySoFar(rows),
    otherUsage: new UnjournaledUsage(journal),
    restarted: child.restarted || journal.length > 0,
    mode: 'planner',
    signal: AbortSignal.any([child.signal, bounds]),
    toolSignal: AbortSignal.any([child.toolSignal, bounds]),
    log: child.log.child({ agentId }),
  };
}

function journaledResult(
  journal: readonly ContextRecord[],
): Pick<SubagentResult, 'text' | 'completedNormally' | 'sources'> | undefined {
  const row = journal.find(({ entry }) => entry.kind === 'agent_result');
  if (row?.entry.kind !== 'agent_result') return undefined;
  const { content: text, completedNormally } = row.entry;
  return { text, completedNormally, sources: sourcesOfEntry(row.entry) };
}

/** After a normal end the text is the last answer; otherwise it is everything the subagent wrote and why it ended. */
function resultOf(turn: Turn, result: TurnResult): Pick<SubagentResult, 'text' | 'completedNormally'> {
  const completedNormally = isAnswered(result.reason) && !result.isError;
  const last = turn.rows.answers().at(-1)?.entry.content ?? '';
  const answer = turn.lastFinish === 'length' ? `${last}\n\n${inEnglish('turn.cut_off')}` : last;
  return { text: clipMiddle(completedNormally ? answer : result.text, MAX_RESULT_CHARS), completedNormally };
}

interface Bounds {
  /** Aborts with an error whose message becomes part of the result. */
  signal: AbortSignal;
  count: Emit;
  stop(): void;
}

/** Starts the limits of time and tokens; the iteration limit is the profile's. */
function startBounds({ timeMs }: Child, journal: readonly ContextRecord[]): Bounds {
  const controller = new AbortController();
  const late = (): void => {
    const text = 'The subagent ran out of time. Give it a smaller task, or let it work in the background.';
    controller.abort(new GatewayError('subagent_time', text));
  };
  const timer = setTimeout(late, Math.max(0, timeMs));
  let tokens = 0;
  const addUsage = (usage: Usage | undefined): void => {
    tokens += (usage?.promptTokens ?? 0) + (usage?.completionTokens ?? 0);
    if (tokens < SUBAGENT_TOKENS) return;
    const text = `The subagent used up its ${SUBAGENT_TOKENS} tokens. Give it a smaller task.`;
    controller.abort(new GatewayError('subagent_tokens', text));
  };
  for (const { entry } of journal) if (entry.kind === 'assistant') addUsage(entry.usage);
  return {
    signal: controller.signal,
    count: (body) => {
      if (body.type === 'stream_end') addUsage(body.usage);
    },
    stop: () => clearTimeout(timer),
  };
}

/** True for an error that ends the whole turn and leaves a subagent that can be continued later. */
export function isInterruption(error: unknown): boolean {
  if (error instanceof StoreError || error instanceof ApprovalWait) return true;
  return error instanceof LaneAbort && error.code !== 'stopped';
}

/**
 * Begins the notes of a run; `resumed`: an earlier run left a journal. `end` takes the outcome: a reason of a turn,
 * `parked` or `released`.
 */
function traceSubagent({ redact, traces }: AgentShared, child: Child, resumed: boolean) {
  const { agentId, parentTurnId: turnId, sessionKey, fence, profile, background } = child;
  const { node, epoch } = fence;
  const notes = new TraceNotes({ node, epoch, resumed, attempts: 0, crashes: 0, afterMs: 0 }, redact);
  return {
    notes,
    end(outcome: string): void {
      const attempt = notes.end(outcome, profile.id);
      const { startedAt } = notes;
      traces.subagentEnded({ agentId, turnId, sessionKey, attempt, startedAt, background });
    },
  };
}

/** The outcome of a run that an error has ended: it continues later, or has failed. */
function outcomeOf(error: unknown): string {
  if (error instanceof ApprovalWait) return 'parked';
  return error instanceof LaneAbort && error.code !== 'stopped' ? 'released' : 'failed';
}
