/** What stands before a step: people's wishes, and in teacher mode the user's Run (S-02). Waiting ends the turn until somebody answers. */
import { createHash } from 'node:crypto';
import type { ApprovalSubject, PlanWait } from '../../contracts/approvals.ts';
import type { EventBody } from '../../contracts/event.ts';
import type { PlanStep } from '../../contracts/plan.ts';
import { ApprovalWait } from '../tools/approval-gate.ts';
import type { AgentShared } from '../deps.ts';
import type { Turn } from '../state/turn-state.ts';
import { describeCommand } from './commands.ts';
import type { ExecutorDeps, GateVerdict } from './execution.ts';
import { EXPLAIN_PROMPT } from './mode-prompts.ts';
import { callWithoutHistory } from './call-without-history.ts';
import type { PlanRun } from './run-state.ts';
import { resultsSoFar } from './step-prompt.ts';
import { stepTitle } from './step-words.ts';

/** Longest results of earlier steps that an explanation reads, in UTF-16 units. */
const MAX_RESULTS = 4_000;

/** The executor's gate and its way to wait, for one turn. */
export function openGate(shared: AgentShared, turn: Turn): Pick<ExecutorDeps, 'gate' | 'park'> {
  return {
    gate: (step, run) => verdict(shared, turn, step, run),
    park: (step, run) =>
      waitFor(turn, step, run, 'pause', `The plan is paused before step ${step.index + 1}.`),
  };
}

async function* verdict(
  shared: AgentShared,
  turn: Turn,
  step: PlanStep,
  run: PlanRun,
): AsyncGenerator<EventBody, GateVerdict> {
  const { plans } = shared.deps;
  const wish = await plans.planRequests(run.plan.id);
  const answer = run.plan.state === 'paused' ? answerTo(turn, run, 'pause') : undefined;
  if (wish.pause === true) {
    if (answer === undefined) return { kind: 'pause' };
    await plans.requestOnPlan(run.plan.id, { pause: false });
  }
  // Also where the wish was taken back meanwhile: what was answered holds.
  if (answer?.decision === 'denied')
    return { kind: 'cancel', reason: whyDenied(answer.decidedBy, 'resumed it') };
  if (wish.skip === step.id) return { kind: 'skip' };
  if (run.plan.mode !== 'teacher' || run.failed !== undefined) return { kind: 'go' };
  return yield* askToRun(shared, turn, step, run);
}

/** Explains the step and waits for Run; a step that is not let run is left out. */
async function* askToRun(
  shared: AgentShared,
  turn: Turn,
  step: PlanStep,
  run: PlanRun,
): AsyncGenerator<EventBody, GateVerdict> {
  const answer = answerTo(turn, run, 'step');
  if (answer === undefined) yield* waitFor(turn, step, run, 'step', yield* explain(shared, turn, step, run));
  if (answer?.decision === 'approved') return { kind: 'go' };
  if (answer?.decidedBy !== 'expiry') return { kind: 'skip' };
  return { kind: 'cancel', reason: whyDenied('expiry', `let step ${step.index + 1} run`) };
}

function whyDenied(decidedBy: string, what: string): string {
  return decidedBy === 'expiry' ? `Nobody ${what} in time.` : 'Stopped.';
}

/** The words before a step runs. Without them the step's own description has to do. */
async function* explain(
  shared: AgentShared,
  turn: Turn,
  step: PlanStep,
  run: PlanRun,
): AsyncGenerator<EventBody, string> {
  const content = [
    `Goal: ${run.plan.goal}`,
    `The step, number ${step.index + 1} of ${run.plan.steps.length}: ${step.description} (${describeCommand(step)})`,
    resultsSoFar(run, MAX_RESULTS),
  ].join('\n\n');
  const { signal } = turn;
  try {
    const messages = [{ role: 'user' as const, content }];
    const shown = { msgId: `${turn.turnId}.explain.${run.facts}`, title: stepTitle(step) };
    const words = yield* callWithoutHistory(shared, turn, {
      system: EXPLAIN_PROMPT,
      messages,
      signal,
      shown,
    });
    if (words.trim() !== '') return words.trim();
  } catch (error) {
    signal.throwIfAborted();
    turn.log.warn({ err: error, stepId: step.id }, 'step_not_explained');
  }
  return `The next step: ${step.description}.`;
}

/** What was answered to this very question; a plan asks one question at each point of its journal. */
function answerTo(turn: Turn, run: PlanRun, wait: PlanWait['wait']): Turn['approvals'][number] | undefined {
  const key = waitKey(turn, run, wait);
  return turn.approvals.find(({ callKey }) => callKey === key);
}

function waitKey({ turnId }: Turn, run: PlanRun, wait: PlanWait['wait']): string {
  return `${turnId}.plan-${wait}-${run.facts}`;
}

/** Ends the turn until somebody answers. Throws `ApprovalWait`. */
async function* waitFor(
  turn: Turn,
  step: PlanStep,
  run: PlanRun,
  wait: PlanWait['wait'],
  warning: string,
): AsyncGenerator<EventBody, void> {
  yield* [];
  const callKey = waitKey(turn, run, wait);
  const subject: ApprovalSubject = {
    callKey,
    toolCallId: callKey,
    tool: `step ${step.index + 1}`,
    args: { step: step.description, command: describeCommand(step) },
    digest: createHash('sha256').update(callKey).digest('hex'),
    warning,
    userId: turn.userId,
    address: turn.address,
    plan: { id: run.plan.id, stepId: step.id, wait },
  };
  throw new ApprovalWait(subject);
}
