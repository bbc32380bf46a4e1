/** Runs the tool calls of one answer in order: intent journaled before, result after, no side effect twice (N-52, N-53). */
import path from 'node:path';
import { z } from 'zod';
import { PLAN_TOOL } from '../../protocol/agent/profile.ts';
import { LaneAbort } from '../../protocol/bus.ts';
import { GatewayError, ToolError, toGatewayError } from '../../protocol/errors.ts';
import type { ToolCall } from '../../protocol/agent/provider.ts';
import type { CallNote } from '../../protocol/agent/call-note.ts';
import { MAX_SUBAGENTS_AT_ONCE } from '../../protocol/agent/subagents.ts';
import type { SessionFiles, Tool, ToolContext } from '../../protocol/agent/tool.ts';
import { askPerson } from './ask-person.ts';
import { changedArgs, type GatedCall, passGate } from './approval-gate.ts';
import { announceResults, callerCalls, isCallersTool, waitForCaller } from './caller-calls.ts';
import { runConcurrently } from '../../lib/async/run-concurrently.ts';
import type { Answer } from '../prompt/history.ts';
import type { AgentShared, Emit } from '../deps.ts';
import { oneLine } from '../../lib/text.ts';
import { noteAfter, noteBefore } from './call-note.ts';
import { checkCall, contentForModel, executeTool, failure, type Outcome } from './tool-run.ts';
import { callableTools } from './tool-pair.ts';
import { sentBy } from './unasked-reads.ts';
import { type Turn, userRoleOf } from '../turn/turn-state.ts';

/** Longest line, in UTF-16 units. */
export const MAX_PROGRESS_CHARS = 160;

/** Shortest pause between two lines, in milliseconds. */
export const PROGRESS_PAUSE_MS = 500;

/** The pause is at least this part of the time that the call has run: an hour brings about 350 lines. */
const PAUSE_SHARE = 1 / 60;

/** What a turn does after its calls. */
interface FollowUps {
  /** Throws only `StoreError`. */
  onResults?: (names: readonly string[]) => Promise<void>;
  /** Makes the plan that a call asks for; what the model reads of it. Throws `StoreError` and the signal's reason. */
  onPlan?: (goal: string) => Promise<string>;
}

/**
 * Runs the calls of the n-th answer that have no result yet, and journals each result (T4). `onResults` gets the names of
 * calls that have one, before the next calls begin: those may take hours. Throws only `StoreError`,
 * `ApprovalWait` where a human must approve first, `CallerWait` once only calls of the caller's tools are left,
 * `GatewayError` when their results did not come in time, and, between two calls, the signal's reason.
 */
export async function runToolCalls(
  shared: AgentShared,
  turn: Turn,
  n: number,
  answer: Answer,
  emit: Emit,
  { onResults, onPlan }: FollowUps = {},
): Promise<void> {
  const forCaller = callerCalls(turn, n, answer);
  for (const batch of batchesOf(turn, n, answer)) {
    const siblings = new AbortController();
    const signal = AbortSignal.any([turn.signal, siblings.signal]);
    const calls = batch.map((one) => () => finishCall(shared, turn, { ...one, signal, onPlan }, emit));
    // An error of one call ends the turn: the others stop where they can be continued later.
    await runConcurrently(calls, MAX_SUBAGENTS_AT_ONCE, () => siblings.abort(new LaneAbort('shutdown')));
    await onResults?.(batch.map(({ call }) => call.name));
  }
  turn.signal.throwIfAborted();
  announceResults(turn, forCaller, n, emit);
  waitForCaller(turn, forCaller, emit);
}

/** A call of the n-th answer. `signal` aborts with the turn or before it. */
interface PendingCall {
  n: number;
  callIndex: number;
  call: ToolCall;
  /** Unique among all turns, and the same in every attempt. */
  callKey: string;
  signal: AbortSignal;
  onPlan?: FollowUps['onPlan'];
}

/** The calls in order; consecutive calls of a tool that may run concurrently form one batch. */
function batchesOf(turn: Turn, n: number, { toolCalls }: Answer): Omit<PendingCall, 'signal'>[][] {
  const batches: Omit<PendingCall, 'signal'>[][] = [];
  let last: string | undefined;
  for (const [callIndex, call] of toolCalls.entries()) {
    if (isCallersTool(turn, call.name)) continue;
    const pending = { n, callIndex, call, callKey: `${turn.turnId}.${n}.${callIndex}` };
    const name = turn.prepared.tools.get(call.name)?.sideBySide === true ? call.name : undefined;
    if (name !== undefined && name === last) batches.at(-1)?.push(pending);
    else batches.push([pending]);
    last = name;
  }
  return batches;
}

/** Runs one call and journals its result (T4). */
async function finishCall(shared: AgentShared, turn: Turn, pending: PendingCall, emit: Emit): Promise<void> {
  const { n, callIndex, call, signal } = pending;
  if (turn.rows.result(n, callIndex) !== undefined) return;
  signal.throwIfAborted();
  const { id: toolCallId, name, args } = call;
  emit({ type: 'tool_call', toolCallId, name, args });
  const outcome = await planned(turn, pending, await runCall(shared, turn, pending, emit));
  const { from: _from, note, ...result } = outcome;
  const content = contentForModel(name, outcome);
  const names = { toolCallId, toolName: name, callIndex };
  const entry = { kind: 'tool_result' as const, ...names, ...result, content };
  const row = turn.rows.add(n, entry);
  await shared.stores.ledger.toolResult(turn.fence, turn.turnId, n, entry, row.tokens, note);
  turn.rows.journaled([row]);
  emit({ type: 'tool_result', toolCallId, name, result: outcome.content, isError: outcome.isError });
}

/** The outcome of a call; for the tool `plan`, what the model reads about the plan that was made. */
async function planned<Ran extends Outcome>(
  { rows }: Turn,
  { call, onPlan }: PendingCall,
  outcome: Ran,
): Promise<Ran> {
  const { goal } = call.args;
  if (call.name !== PLAN_TOOL || outcome.isError || onPlan === undefined || typeof goal !== 'string')
    return outcome;
  const content = await onPlan(goal);
  const { sources } = rows.taint;
  return { ...outcome, content, ...(sources.length > 0 && { sources }) };
}

/** An outcome with what is stored about the call; `sent` is what a read has sent out. */
type RunOutcome = Outcome & { sent?: string; note?: CallNote | undefined };

async function runCall(
  shared: AgentShared,
  turn: Turn,
  pending: PendingCall,
  emit: Emit,
): Promise<RunOutcome> {
  const { n, callIndex, signal, callKey } = pending;
  const changed = changedArgs(turn, callKey);
  const call = changed === undefined ? pending.call : { ...pending.call, args: changed };
  const checked = checkCall(call, callableTools(turn.prepared, call));
  // A call that was begun before a crash may have taken effect, though a reload or a switched profile has removed the tool.
  const isRepeat = turn.rows.intended(n, callIndex);
  if ('refusal' in checked) return isRepeat ? outcomeUnknown(call.name, turn, emit) : checked.refusal;
  const { tool, args } = checked;
  const run = async (): Promise<RunOutcome> => {
    if (isRepeat && tool.effect === 'unsafe') {
      const unknown = outcomeUnknown(tool.name, turn, emit);
      return { ...unknown, note: await noteAfter(shared, turn, { tool, args, callKey }, unknown, true) };
    }
    return await runTool(shared, turn, pending, tool, args, emit);
  };
  // From the check of the files that a call names to its end, no other call changes one.
  const { journal } = shared.media;
  const outcome = await (tool.files === undefined ? run() : journal.exclusively(turn.folder, signal, run));
  return changed === undefined ? outcome : { ...outcome, content: changedNote(changed) + outcome.content };
}

/** What the model reads above the result of a call whose arguments a person has changed. */
function changedNote(args: Readonly<Record<string, unknown>>): string {
  return `(A person changed this call before allowing it. Its arguments were: ${JSON.stringify(args)})\n`;
}

/** Runs a call whose arguments are valid, once the gate lets it pass; a call that was begun before a crash had passed it. */
async function runTool(
  shared: AgentShared,
  turn: Turn,
  { n, callIndex, call, callKey, signal }: PendingCall,
  tool: Tool,
  args: unknown,
  emit: Emit,
): Promise<RunOutcome> {
  const { files } = shared.media;
  const workspace = await files.open(turn.folder).catch(toGatewayError);
  if (workspace instanceof GatewayError) return failure(workspace.message);
  const isRepeat = turn.rows.intended(n, callIndex);
  const run = { tool, args, callKey };
  if (!isRepeat) {
    const gated = { callKey, toolCallId: call.id, tool, args, agentId: agentIdOf(turn) };
    const refusal = (await refuseWhileAsking(shared, turn, gated)) ?? (await passGate(turn, gated, shared));
    if (refusal !== undefined) return refusal;
    if (tool.question !== undefined) {
      const answer = await askPerson(shared, turn, gated);
      return { ...answer, note: await noteAfter(shared, turn, run, answer, false) };
    }
  }
  const userRole = await userRoleOf(turn, shared.isOwner);
  if (!isRepeat && tool.effect !== 'pure')
    await journalIntent(shared, turn, n, callIndex, call, await noteBefore(shared, turn, run));
  const subagent = turn.agents?.forCall(turn, callKey, signal);
  let running = true;
  // Events of an abandoned tool are dropped: its call has a result already.
  const emitWhileRunning: Emit = (event) => {
    if (running) emit(event);
  };
  const ctx: ToolContext = {
    ...contextOf(shared, turn),
    callKey,
    userRole,
    workspace,
    spawn: subagent?.spawn,
    emit: emitWhileRunning,
    progress: createProgress(emitWhileRunning, call),
  };
  const reach = tool.reach(args);
  const output = typeof reach === 'string' ? undefined : sentBy(reach);
  if (output !== undefined) turn.rows.taint.noteSent(output);
  const outcome = await executeTool(tool, args, ctx, tool.limitMs ?? shared.limits.toolMs);
  running = false;
  const callNote = await noteAfter(shared, turn, run, outcome, isRepeat);
  // Before the result is stored, so that whichever node continues finds what it refers to.
  const unshared = tool.files === undefined ? [] : await files.share(turn.folder);
  await subagent?.settled();
  const note =
    unshared.length > 0 ? onlyHere(unshared) : outcome.isError ? await elsewhere(files, turn, args) : '';
  const result = { ...outcome, content: outcome.content + note, note: callNote };
  return output === undefined ? result : { ...result, sent: output };
}

/** What every tool of the turn receives. */
function contextOf({ workspaceDir }: AgentShared, turn: Turn) {
  return {
    sessionKey: turn.sessionKey,
    address: turn.address,
    userId: turn.userId,
    memoryOwner: turn.memoryOwner,
    userName: turn.userName,
    model: turn.model,
    place: turn.place,
    turnId: turn.parentTurnId ?? turn.turnId,
    agentId: agentIdOf(turn),
    profileId: turn.profile.id,
    stepValidation: turn.profile.stepValidationEnabled,
    command: turn.say.command,
    folder: turn.folder,
    skills: workspaceDir && path.join(workspaceDir, 'skills'),
    sources: turn.rows.taint.sources,
    signal: turn.toolSignal,
    log: turn.log,
  };
}

/** The id of a subagent; undefined for the turn itself. */
function agentIdOf({ parentTurnId, turnId }: Turn): string | undefined {
  return parentTurnId === undefined ? undefined : turnId;
}

/** Paths that one result names. */
const MAX_REPORTED_PATHS = 20;

/** What the model reads about files that only this node has. */
function onlyHere(paths: readonly string[]): string {
  const names = paths.slice(0, MAX_REPORTED_PATHS).join(', ');
  return `\n(Too large to share with the other gateways, which will not find it: ${names}.)`;
}

const FileArgs = z.object({ path: z.string() });

/** What the model reads when its call failed because another gateway has the file; else ''. Throws `StoreError`. */
async function elsewhere(files: SessionFiles, { folder }: Turn, args: unknown): Promise<string> {
  const { data } = FileArgs.safeParse(args);
  if (data === undefined) return '';
  try {
    await using _ = await files.read(folder, data.path);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    if (error.code === 'elsewhere') return `\n(${error.message})`;
  }
  return '';
}

/**
 * Subagents and the turns of other people work while a person is asked. What was shown must be what runs, so they change no
 * file in the meantime. They do not wait, because the answer may take an hour.
 */
async function refuseWhileAsking(
  { stores: { approvals } }: AgentShared,
  turn: Turn,
  { tool, callKey }: GatedCall,
): Promise<Outcome | undefined> {
  if (tool.files === undefined) return undefined;
  if (turn.approvals.some((one) => one.callKey === callKey && one.decision === 'approved')) return undefined;
  // What the turn itself has asked for, it runs in the order of its calls.
  const own = turn.parentTurnId === undefined ? turn.turnId : undefined;
  if (!(await approvals.asksOther(turn.sessionKey, callKey, own))) return undefined;
  return failure(
    `Not run: a person is being asked about another call of this chat, and until it has run no file is changed. ` +
      'Go on with other work and try again later, or state in your result what you wanted to change.',
  );
}

/** T3. */
async function journalIntent(
  { stores: { ledger } }: AgentShared,
  turn: Turn,
  n: number,
  callIndex: number,
  call: ToolCall,
  note: CallNote | undefined,
): Promise<void> {
  const intent = { kind: 'tool_intent' as const, toolCallId: call.id, toolName: call.name, callIndex };
  await ledger.toolIntent(turn.fence, turn.turnId, n, intent, note);
  turn.rows.journaled([turn.rows.add(n, intent)]);
}

function outcomeUnknown(name: string, { say }: Turn, emit: Emit): Outcome {
  const text = `${name} was interrupted and is not run again: it may or may not have taken effect.`;
  emit({ type: 'notice', code: 'outcome_unknown', text: say('turn.outcome_unknown', { tool: name }) });
  return failure(`Outcome unknown: ${text} Check before you repeat it.`);
}

/** Makes `ToolContext.progress` of a call; `monotonicNow` in milliseconds. Lines that come too soon are dropped. */
export function createProgress(
  emit: Emit,
  { id: toolCallId, name }: { id: string; name: string },
  monotonicNow = (): number => performance.now(),
): (text: string) => void {
  const since = monotonicNow();
  let last: number | undefined;
  return (line) => {
    const now = monotonicNow();
    const pause = Math.max(PROGRESS_PAUSE_MS, (now - since) * PAUSE_SHARE);
    if (last !== undefined && now - last < pause) return;
    const text = oneLine(line.slice(0, 4 * MAX_PROGRESS_CHARS));
    if (text === '') return;
    last = now;
    emit({ type: 'tool_progress', toolCallId, name, text: text.slice(0, MAX_PROGRESS_CHARS).toWellFormed() });
  };
}
