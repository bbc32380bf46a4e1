/** Runs a turn's plan inside the turn: continues its journal, runs it to its end and reports it for the final answer (S-02). */
import { clipMiddle } from '../../lib/text.ts';
import type { Plan, PlanFact, PlanStep } from '../../protocol/agent/plan.ts';
import { withSources } from '../../protocol/store/notes.ts';
import { SPAWN_TOOL } from '../../protocol/agent/subagents.ts';
import { type AgentShared, type Emit, MAX_RESULT_CHARS } from '../deps.ts';
import { todosOf } from './plan-text.ts';
import { markUntrusted } from '../prompt/marks.ts';
import { summaryOf } from '../prompt/prepared-profile.ts';
import { callMsgId, type Turn } from '../turn/turn-state.ts';
import { type AgentCorrection, analyzeFailure, type AvailableExecutors, type Failure } from './correction.ts';
import { PlanExecutor } from './plan-executor.ts';
import { classifyFor } from './edits.ts';
import { askGate, type GateVerdict, waitToResume } from './gate.ts';
import { resultsSoFar, SUMMARY_PROMPT } from './step-prompt.ts';
import { takeSteering } from '../turn/queue-modes.ts';
import { callWithoutHistory } from './call-without-history.ts';
import { RollingContext } from './rolling-context.ts';
import { foldFacts, type PlanRun, startRun, type StepOutcome } from './run-state.ts';
import { runPlanStep } from './run-step.ts';

/**
 * Longest text of the user that a step or a correction includes, in UTF-16 units; of a longer one, its end. The final
 * answer includes all of it.
 */
export const MAX_STEERING_CHARS = 600;

/** The iteration of the turn's own loop at which a plan runs. */
const PLAN_ITERATION = 1;

/** Name of the tool call under which the model sees the run of its plan. */
export const RUN_PLAN = 'carry_out_plan';
/** Longest description of a tool that a correction reads, in UTF-16 units. */
const MAX_DESCRIPTION_CHARS = 160;

/**
 * Runs the plan of a turn, except in planner mode, where the model follows the plan itself. The result is added to the
 * turn's rows as the n-th answer, a tool call with its result, so that the loop continues with the final answer. Throws
 * `StoreError`, `ApprovalWait` when a human must answer, and the signal's reason.
 */
export async function runPlan(shared: AgentShared, turn: Turn, n: number, emit: Emit): Promise<void> {
  const { plan } = turn;
  if (plan === undefined || plan.mode === 'planner' || turn.rows.answer(n) !== undefined) return;
  const run = foldFacts(factsOf(turn, plan));
  const summaries = new AbortController();
  const context = rollingContext(shared, turn, AbortSignal.any([turn.signal, summaries.signal]));
  for (const { step, result } of run?.results ?? []) context.addStep(step, result);
  const executor = new TurnPlan(shared, turn, run ?? startRun(plan), context, emit);
  try {
    if (run === undefined) await executor.journal(0, { type: 'started', plan }, plan);
    await journalReport(shared, turn, n, await executor.execute());
  } finally {
    summaries.abort();
    await context.settled();
  }
}

/** The plan of a turn, with the turn's journal, model and people. */
class TurnPlan extends PlanExecutor {
  readonly #shared: AgentShared;
  readonly #turn: Turn;

  constructor(shared: AgentShared, turn: Turn, start: PlanRun, context: RollingContext, emit: Emit) {
    super(start, context, classifyFor(turn.prepared.tools), emit, turn.signal);
    this.#shared = shared;
    this.#turn = turn;
  }

  override async journal(part: number, fact: PlanFact, plan: Plan): Promise<boolean> {
    const turn = this.#turn;
    const { ledger } = this.#shared.stores;
    const entry = {
      kind: 'plan_fact' as const,
      planId: plan.id,
      part,
      fact,
      // The beginning of a step may not be stored, and the usage would be lost with it.
      ...(fact.type === 'step_began' ? {} : turn.otherUsage.takeUnreported()),
    };
    const todos = withSources(todosOf(plan), turn.rows.taint.sources);
    if (!(await ledger.planFact(turn.fence, turn.turnId, entry, plan, todos))) return false;
    turn.plan = plan;
    return true;
  }

  protected override runStep(step: PlanStep, run: number, { plan, ...state }: PlanRun): Promise<StepOutcome> {
    const work = { step, run, state: { ...state, plan: withUserAdditions(plan, this.#turn) } };
    return runPlanStep(this.#shared, this.#turn, work, this.emit);
  }

  protected override correct(failure: Failure): Promise<AgentCorrection> {
    const { signal, say } = this.#turn;
    const plan = withUserAdditions(failure.plan, this.#turn);
    const executors = availableExecutors(this.#shared, this.#turn);
    return analyzeFailure(
      (system, messages) => callWithoutHistory(this.#shared, this.#turn, system, messages, { signal }),
      { ...failure, plan },
      executors,
      say,
    );
  }

  /** First takes in the messages that wait. */
  protected override async gate(step: PlanStep, state: PlanRun): Promise<GateVerdict> {
    await takeSteering(this.#shared, this.#turn, PLAN_ITERATION, this.emit);
    return await askGate(this.#shared, this.#turn, step, state, this.emit);
  }

  protected override async park(step: PlanStep, state: PlanRun): Promise<void> {
    waitToResume(this.#turn, step, state);
  }
}

function factsOf({ rows }: Turn, { id }: Plan): PlanFact[] {
  return rows.ofPlan.flatMap(({ entry }) =>
    entry.kind === 'plan_fact' && entry.planId === id ? [entry.fact] : [],
  );
}

function availableExecutors(shared: AgentShared, turn: Turn): AvailableExecutors {
  const tools = [...turn.prepared.tools.values()].filter(({ name }) => name !== SPAWN_TOOL);
  const maySpawn = turn.prepared.tools.has(SPAWN_TOOL);
  return {
    tools: new Map(tools.map((tool) => [tool.name, clipMiddle(summaryOf(tool), MAX_DESCRIPTION_CHARS)])),
    profileIds: maySpawn ? shared.profiles().map(({ id }) => id) : [],
  };
}

function rollingContext(shared: AgentShared, turn: Turn, signal: AbortSignal): RollingContext {
  return new RollingContext((entries) => {
    const lines = entries.map(
      ({ step, result }) => `${step.description} (${result.isError ? 'failed' : 'done'}):\n${result.content}`,
    );
    const content = markUntrusted('steps of a plan', lines.join('\n\n'));
    const messages = [{ role: 'user' as const, content }];
    return callWithoutHistory(shared, turn, SUMMARY_PROMPT, messages, { signal });
  });
}

/** Journals the report of the plan in one commit: a tool call that only the gateway makes, and its result. */
async function journalReport(
  { stores: { ledger } }: AgentShared,
  turn: Turn,
  n: number,
  run: PlanRun,
): Promise<void> {
  const call = { toolCallId: `plan_${run.facts}`, toolName: RUN_PLAN, callIndex: 0 };
  const toolCalls = [{ id: call.toolCallId, name: RUN_PLAN, args: { goal: run.plan.goal } }];
  turn.rows.add(n, {
    kind: 'assistant',
    content: '',
    toolCalls,
    msgId: callMsgId(turn, n),
    ...turn.otherUsage.takeUnreported(),
  });
  const isError = run.plan.state !== 'completed';
  // It quotes what the steps have read.
  const { sources } = turn.rows.taint;
  turn.rows.add(n, { kind: 'tool_result', ...call, content: reportOf(run), isError, sources });
  const rows = turn.rows.fresh();
  await ledger.journalAnswer(turn.fence, turn.turnId, rows);
  turn.rows.journaled(rows);
}

/** Report of the whole plan, for the model's final answer. */
function reportOf(run: PlanRun): string {
  const { plan } = run;
  const steps = plan.steps.map((step) => `${step.index + 1}. ${step.description}: ${step.status}`);
  const end =
    plan.state === 'completed'
      ? 'Every step was run or skipped. Now answer the user: sum up what was achieved.'
      : `The plan was cancelled. ${whyOf(plan)}\nNow tell the user what was done and what was not.`;
  const head = `${steps.join('\n')}\n\n${end}`;
  const results = resultsSoFar(run, MAX_RESULT_CHARS - head.length - 200);
  return [head, results].filter((part) => part !== '').join('\n\n');
}

/** Why a plan was cancelled. The reason may quote what a step has read. */
function whyOf({ reason }: PlanRun['plan']): string {
  return reason === undefined ? 'No reason is known.' : `Why:\n${markUntrusted('the plan', reason)}`;
}

/** The plan for a prompt: its goal, followed by the messages that the user added. Never throws. */
export function withUserAdditions(plan: Plan, { rows }: Turn): Plan {
  const messages = rows.steps.flatMap(({ entry }) =>
    entry.kind === 'user' && entry.laneSeq !== undefined ? [entry.content] : [],
  );
  if (messages.length === 0) return plan;
  const all = messages.join('\n');
  const excerpt =
    all.length <= MAX_STEERING_CHARS ? all : `…${all.slice(-MAX_STEERING_CHARS).toWellFormed()}`;
  return { ...plan, goal: `${plan.goal}\nThe user has since added: ${excerpt}` };
}
