/** Runs the tool calls of one answer in order: intent journaled before, result after, no side effect twice (N-52, N-53). */
import path from 'node:path';
import { LaneAbort } from '../../contracts/bus.ts';
import { GatewayError, toGatewayError } from '../../contracts/errors.ts';
import type { ToolCall } from '../../contracts/provider.ts';
import { MAX_SUBAGENTS_AT_ONCE } from '../../contracts/subagents.ts';
import type { ToolContext, UserRole } from '../../contracts/tool.ts';
import { passGate, turnTaint } from './approval-gate.ts';
import type { Answer } from '../prompt/history.ts';
import type { AgentShared, Emit } from '../deps.ts';
import { checkCall, executeTool, failure } from './tool-run.ts';
import type { Outcome } from './tool-run.ts';
import type { Turn, TurnContext, TurnIdentity, TurnProgress } from '../state/turn-state.ts';

/**
 * Runs the calls of the n-th answer that have no result yet, and journals each result (T4). Throws only `StoreError`,
 * `ApprovalWait` where a human must approve first, and, between two calls, the signal's reason.
 */
export async function runToolCalls(
  shared: AgentShared,
  turn: Turn,
  { n, answer }: { n: number; answer: Answer },
  emit: Emit,
): Promise<void> {
  for (const batch of batchesOf(answer.toolCalls, turn)) {
    const siblings = new AbortController();
    const signal = AbortSignal.any([turn.signal, siblings.signal]);
    const calls = batch.map((place) => () => finishCall(shared, turn, { ...place, n, signal }, emit));
    // An error of one call ends the turn: the others stop where they can be continued later.
    await runConcurrently(calls, MAX_SUBAGENTS_AT_ONCE, () => siblings.abort(new LaneAbort('shutdown')));
  }
  turn.signal.throwIfAborted();
}

/**
 * Runs the tasks concurrently, at most `width` at once. When one of them throws, `onFailure` is called, no further task
 * starts, the running ones are awaited, and the first error is thrown.
 */
export async function runConcurrently(
  tasks: readonly (() => Promise<void>)[],
  width: number,
  onFailure: () => void,
): Promise<void> {
  const waiting = tasks.values();
  const failures: unknown[] = [];
  const work = async (): Promise<void> => {
    for (const task of waiting) {
      if (failures.length > 0) return;
      try {
        await task();
      } catch (error) {
        failures.push(error);
        onFailure();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, tasks.length) }, work));
  if (failures.length > 0) throw failures[0];
}

/** A call of the n-th answer. `signal` aborts with the turn or before it. */
interface PendingCall {
  n: number;
  callIndex: number;
  call: ToolCall;
  signal: AbortSignal;
}

/** The calls in order; consecutive calls of a tool that may run concurrently form one batch. */
function batchesOf(
  calls: readonly ToolCall[],
  turn: TurnContext,
): Pick<PendingCall, 'callIndex' | 'call'>[][] {
  const batches: Pick<PendingCall, 'callIndex' | 'call'>[][] = [];
  let last: string | undefined;
  for (const [callIndex, call] of calls.entries()) {
    const name = turn.prepared.tools.get(call.name)?.sideBySide === true ? call.name : undefined;
    if (name !== undefined && name === last) batches.at(-1)?.push({ callIndex, call });
    else batches.push([{ callIndex, call }]);
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
  const outcome = await runCall(shared, turn, pending, emit);
  const { content, isError } = outcome;
  const entry = { toolCallId, toolName: name, callIndex, ...outcome };
  const row = turn.rows.add(n, { kind: 'tool_result', ...entry });
  await shared.deps.ledger.toolResult(
    turn.fence,
    turn.turnId,
    n,
    { kind: 'tool_result', ...entry },
    row.tokens,
  );
  turn.rows.journaled([row]);
  emit({ type: 'tool_result', toolCallId, name, result: content, isError });
}

async function runCall(
  shared: AgentShared,
  turn: Turn,
  { n, callIndex, call, signal }: PendingCall,
  emit: Emit,
): Promise<Outcome> {
  const checked = checkCall(call, turn.prepared.tools);
  // A call that was begun before a crash may have taken effect, though a reload or a switched profile has removed the tool.
  const begun = turn.rows.intended(n, callIndex);
  if ('refusal' in checked) return begun ? outcomeUnknown(call.name, emit) : checked.refusal;
  const { tool, args } = checked;
  const workspace = await shared.deps.workspace(turn.sessionKey).catch(toGatewayError);
  if (workspace instanceof GatewayError) return failure(workspace.message);
  const callKey = `${turn.turnId}.${n}.${callIndex}`;
  if (begun && tool.effect === 'unsafe') return outcomeUnknown(tool.name, emit);
  // A call that was begun had passed the gate.
  const agentId = turn.parentTurnId === undefined ? undefined : turn.turnId;
  const refusal = begun ? undefined : passGate(turn, { callKey, toolCallId: call.id, tool, args, agentId });
  if (refusal !== undefined) return refusal;
  const userRole = (turn.userRole ??= await roleOf(shared, turn.userId));
  if (!begun && tool.effect !== 'pure') await journalIntent(shared, turn, n, callIndex, call);
  const subagent = turn.agents?.forCall(turn, callKey, signal);
  let running = true;
  const ctx: ToolContext = {
    sessionKey: turn.sessionKey,
    address: turn.address,
    userId: turn.userId,
    userRole,
    userName: turn.userName,
    model: turn.model,
    place: turn.place,
    turnId: turn.parentTurnId ?? turn.turnId,
    agentId,
    profileId: turn.profile.id,
    stepValidation: turn.profile.stepValidationEnabled,
    workspace,
    skills: shared.deps.workspaceDir && path.join(shared.deps.workspaceDir, 'skills'),
    callKey,
    tainted: turnTaint(turn).sources.size > 0,
    signal: turn.toolSignal,
    log: turn.log,
    // Events of an abandoned tool are dropped: its call has a result already.
    emit: (event) => {
      if (running) emit(event);
    },
    spawn: subagent?.spawn,
  };
  const outcome = await executeTool(tool, args, ctx, tool.limitMs ?? shared.limits.toolMs);
  running = false;
  await subagent?.settled();
  return outcome;
}

async function roleOf({ deps }: AgentShared, userId: string): Promise<UserRole> {
  if (userId === 'system') return 'system';
  return (await deps.isOwner(userId)) ? 'owner' : 'user';
}

/** T3. */
async function journalIntent(
  shared: AgentShared,
  turn: TurnIdentity & TurnProgress,
  n: number,
  callIndex: number,
  call: ToolCall,
): Promise<void> {
  const intent = { kind: 'tool_intent' as const, toolCallId: call.id, toolName: call.name, callIndex };
  await shared.deps.ledger.toolIntent(turn.fence, turn.turnId, n, intent);
  turn.rows.journaled([turn.rows.add(n, intent)]);
}

function outcomeUnknown(name: string, emit: Emit): Outcome {
  const text = `${name} was interrupted and is not run again: it may or may not have taken effect.`;
  emit({ type: 'notice', code: 'outcome_unknown', text: `Outcome unknown: ${text}` });
  return failure(`Outcome unknown: ${text} Check before you repeat it.`);
}
