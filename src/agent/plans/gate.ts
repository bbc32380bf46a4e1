/** The gate before a step: requests to pause or skip, and in teacher mode the user's permission (S-02). Waiting parks the turn until someone answers. */
import { createHash } from 'node:crypto';
import type { ApprovalSubject, PlanWait } from '../../protocol/agent/approvals.ts';
import type { Plan, PlanStep } from '../../protocol/agent/plan.ts';
import type { TurnApproval } from '../../protocol/store/records.ts';
import { textRef, type TextRef } from '../../protocol/texts/say.ts';
import { ApprovalWait } from '../tools/approval-gate.ts';
import type { AgentShared, Emit } from '../deps.ts';
import type { Turn } from '../turn/turn-state.ts';
import { withPendingEdits } from '../../protocol/agent/plan-edits.ts';
import { classifyFor, describeCommand } from './edits.ts';
import { EXPLAIN_PROMPT, resultsSoFar } from './step-prompt.ts';
import { callWithoutHistory } from './call-without-history.ts';
import type { PlanRun } from './run-state.ts';
import { stepTitle } from './run-step.ts';

/** Longest results of earlier steps that an explanation reads, in UTF-16 units. */
const MAX_RESULTS = 4_000;

/** Whether the next step may run. */
export type GateVerdict =
  | { kind: 'go' }
  /** A person skips the step. */
  | { kind: 'skip' }
  /** A person pauses the plan. */
  | { kind: 'pause' }
  /** People have changed steps that had not begun; `plan` is the plan with the changes in it. */
  | { kind: 'edit'; plan: Plan }
  | { kind: 'cancel'; why: TextRef };

/** Asks whether a step may run. Throws `StoreError`, and `ApprovalWait` when a person must decide first. */
export async function askGate(
  shared: AgentShared,
  turn: Turn,
  step: PlanStep,
  run: PlanRun,
  emit: Emit,
): Promise<GateVerdict> {
  const { plans } = shared.stores;
  const request = await plans.planRequests(run.plan.id);
  const edited = withPendingEdits(run.plan, request.edits ?? [], classifyFor(turn.prepared.tools));
  if (edited !== run.plan) return { kind: 'edit', plan: edited };
  const answer = run.plan.state === 'paused' ? answerTo(turn, step, run, 'pause') : undefined;
  if (request.pause === true) {
    if (answer === undefined) return { kind: 'pause' };
    await plans.requestOnPlan(run.plan.id, { pause: false });
  }
  // The answer counts even if the request was withdrawn in the meantime.
  if (answer?.decision === 'denied')
    return {
      kind: 'cancel',
      why: textRef(answer.decidedBy === 'expiry' ? 'cancelled.not_resumed' : 'cancelled.stopped'),
    };
  if (request.skip === step.id) return { kind: 'skip' };
  if (run.plan.mode !== 'teacher' || run.failed !== undefined) return { kind: 'go' };
  return await askToRun(shared, turn, step, run, emit);
}

/** Explains the step and waits for the user to press Run; a refused step is skipped. */
async function askToRun(
  shared: AgentShared,
  turn: Turn,
  step: PlanStep,
  run: PlanRun,
  emit: Emit,
): Promise<GateVerdict> {
  const answer = answerTo(turn, step, run, 'step');
  if (answer === undefined) waitFor(turn, step, run, 'step', await explain(shared, turn, step, run, emit));
  if (answer.decision === 'approved') return { kind: 'go' };
  if (answer.decidedBy !== 'expiry') return { kind: 'skip' };
  return { kind: 'cancel', why: textRef('cancelled.not_run', { number: step.index + 1 }) };
}

/** The explanation before a step runs; the step's description when the model gives none. */
async function explain(
  shared: AgentShared,
  turn: Turn,
  step: PlanStep,
  run: PlanRun,
  emit: Emit,
): Promise<string> {
  const content = [
    `Goal: ${run.plan.goal}`,
    `The step, number ${step.index + 1} of ${run.plan.steps.length}: ${step.description} (${describeCommand(step)})`,
    resultsSoFar(run, MAX_RESULTS),
  ].join('\n\n');
  const { signal } = turn;
  try {
    const messages = [{ role: 'user' as const, content }];
    const display = { msgId: `${turn.turnId}.explain.${run.facts}`, title: stepTitle(step, turn.say) };
    const shown = { signal, display };
    const explanation = await callWithoutHistory(shared, turn, EXPLAIN_PROMPT, messages, shown, emit);
    if (explanation.trim() !== '') return explanation.trim();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ApprovalWait) throw error;
    turn.log.warn({ err: error, stepId: step.id }, 'step_not_explained');
  }
  return turn.say('wait.next_is', { step: step.description });
}

/** The answer to the current question, if any; a plan asks at most one question after each fact of its journal. */
function answerTo(
  turn: Turn,
  step: PlanStep,
  run: PlanRun,
  wait: PlanWait['wait'],
): TurnApproval | undefined {
  const key = waitKey(turn, step, run, wait);
  return turn.approvals.find(({ callKey }) => callKey === key);
}

/** Changes of other steps leave a question as it is; the answer about one step does not apply to another. */
function waitKey({ turnId }: Turn, step: PlanStep, run: PlanRun, wait: PlanWait['wait']): string {
  const key = `${turnId}.plan-${wait}-${run.facts - run.edits}`;
  if (wait === 'pause') return key;
  return `${key}-${createHash('sha256').update(`${step.id} ${step.description}`).digest('hex').slice(0, 16)}`;
}

/** Ends the turn until someone resumes or stops the paused plan. Throws `ApprovalWait`. */
export function waitToResume(turn: Turn, step: PlanStep, run: PlanRun): never {
  return waitFor(turn, step, run, 'pause', turn.say('wait.paused', { number: step.index + 1 }));
}

/** Ends the turn until someone answers. Throws `ApprovalWait`. */
function waitFor(turn: Turn, step: PlanStep, run: PlanRun, wait: PlanWait['wait'], warning: string): never {
  const callKey = waitKey(turn, step, run, wait);
  const subject: ApprovalSubject = {
    callKey,
    toolCallId: callKey,
    tool: turn.say('wait.step', { number: step.index + 1 }),
    args: { step: step.description, command: describeCommand(step) },
    digest: createHash('sha256').update(callKey).digest('hex'),
    warning,
    userId: turn.userId,
    address: turn.address,
    plan: { id: run.plan.id, stepId: step.id, wait },
    language: turn.say.language,
  };
  throw new ApprovalWait(subject);
}
