/** Runs a turn's plan inside the turn: continues its journal, runs it to its end and reports it for the final answer (S-02). */
import { clipMiddle } from '../../lib/text.ts';
import type { Plan, PlanFact } from '../../protocol/agent/plan.ts';
import { withSources } from '../../protocol/store/notes.ts';
import { SPAWN_TOOL } from '../../protocol/agent/subagents.ts';
import { type AgentShared, type Emit, MAX_RESULT_CHARS } from '../deps.ts';
import type { Calling } from '../model/model-budget.ts';
import { todosOf } from '../planner/plan-text.ts';
import { markUntrusted } from '../prompt/marks.ts';
import { summaryOf } from '../prompt/prepared-profile.ts';
import { callMsgId, type TurnContext, type TurnIdentity, type TurnProgress } from '../state/turn-state.ts';
import { analyzeFailure } from './correction.ts';
import type { AvailableExecutors } from './correction-reply.ts';
import type { ExecutorDeps } from './execution.ts';
import { executePlan } from './executor.ts';
import { classifyFor } from './edits.ts';
import { createGate, type GatedTurn } from './gate.ts';
import { SUMMARY_PROMPT } from './mode-prompts.ts';
import { type Joining, type SteeredTurn, takeSteering } from '../turn/queue-modes.ts';
import { type CallingTurn, callWithoutHistory, type PlainQuestion } from './call-without-history.ts';
import { RollingContext } from './rolling-context.ts';
import { foldFacts, type PlanRun, startRun } from './run-state.ts';
import { runPlanStep } from './run-step.ts';
import { resultsSoFar } from './step-prompt.ts';
import type { StepTurn } from './step-turn.ts';

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

/** The parts of a turn that the run of its plan reads and changes. */
export type PlanRunTurn = StepTurn & GatedTurn & SteeredTurn;

/** The parts of a turn in which facts of its plan are journaled. */
type JournalTurn = Pick<TurnIdentity, 'fence' | 'turnId'> &
  Pick<TurnProgress, 'rows' | 'otherUsage' | 'plan'>;

/** What the facts of a plan are journaled with. */
type Journaling = Pick<AgentShared, 'ledger'>;

/**
 * Runs the plan of a turn, except in planner mode, where the model follows the plan itself. The result is added to the
 * turn's rows as the n-th answer, a tool call with its result, so that the loop continues with the final answer. Throws
 * `StoreError`, `ApprovalWait` when a human must answer, and the signal's reason.
 */
export async function runPlan(shared: AgentShared, turn: PlanRunTurn, n: number, emit: Emit): Promise<void> {
  const { plan } = turn;
  if (plan === undefined || plan.mode === 'planner' || turn.rows.answer(n) !== undefined) return;
  const known = foldFacts(factsOf(turn, plan));
  const start = known ?? (await begin(shared, turn, plan));

  const summaries = new AbortController();
  const context = rollingContext(shared, turn, AbortSignal.any([turn.signal, summaries.signal]));
  for (const { step, result } of start.results) context.addStep(step, result);
  try {
    const end = await executePlan(executorDeps(shared, turn, context, emit), start);
    await journalReport(shared, turn, n, end);
  } finally {
    summaries.abort();
    await context.settled();
  }
}

function factsOf(turn: Pick<TurnProgress, 'rows'>, { id }: Plan): PlanFact[] {
  return turn.rows.ofPlan.flatMap(({ entry }) =>
    entry.kind === 'plan_fact' && entry.planId === id ? [entry.fact] : [],
  );
}

async function begin(shared: Journaling, turn: JournalTurn, plan: Plan): Promise<PlanRun> {
  await journalFact(shared, turn, 0, { type: 'started', plan }, plan);
  return startRun(plan);
}

async function journalFact(
  { ledger }: Journaling,
  turn: JournalTurn,
  part: number,
  fact: PlanFact,
  plan: Plan,
): Promise<boolean> {
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

function executorDeps(
  shared: AgentShared,
  turn: PlanRunTurn,
  context: RollingContext,
  emit: Emit,
): ExecutorDeps {
  const executors = availableExecutors(shared, turn);
  const { gate, park } = createGate(shared, turn, emit);
  return {
    context,
    emit,
    signal: turn.signal,
    classify: classifyFor(turn.prepared.tools),
    journal: (n, fact, plan) => journalFact(shared, turn, n, fact, plan),
    runStep: (step, run, state) =>
      runPlanStep(
        shared,
        turn,
        { step, run, state: { ...state, plan: withUserAdditions(state.plan, turn) } },
        emit,
      ),
    correct: (failure) => {
      const { signal } = turn;
      const call = (system: string, messages: PlainQuestion['messages']): Promise<string> =>
        callWithoutHistory(shared, turn, { system, messages, signal });
      const seen = { ...failure, plan: withUserAdditions(failure.plan, turn) };
      return analyzeFailure(call, seen, executors, turn.say);
    },
    gate: withSteering(gate, shared, turn, emit),
    park,
  };
}

function availableExecutors(
  shared: Pick<AgentShared, 'profiles'>,
  turn: Pick<TurnContext, 'prepared'>,
): AvailableExecutors {
  const tools = [...turn.prepared.tools.values()].filter(({ name }) => name !== SPAWN_TOOL);
  const maySpawn = turn.prepared.tools.has(SPAWN_TOOL);
  return {
    tools: new Map(tools.map((tool) => [tool.name, clipMiddle(summaryOf(tool), MAX_DESCRIPTION_CHARS)])),
    profileIds: maySpawn ? shared.profiles().map(({ id }) => id) : [],
  };
}

function rollingContext(shared: Calling, turn: CallingTurn, signal: AbortSignal): RollingContext {
  return new RollingContext((entries) => {
    const lines = entries.map(
      ({ step, result }) => `${step.description} (${result.isError ? 'failed' : 'done'}):\n${result.content}`,
    );
    const content = markUntrusted('steps of a plan', lines.join('\n\n'));
    const messages = [{ role: 'user' as const, content }];
    return callWithoutHistory(shared, turn, { system: SUMMARY_PROMPT, messages, signal });
  });
}

/** Journals the report of the plan in one commit: a tool call that only the gateway makes, and its result. */
async function journalReport(
  { ledger }: Journaling,
  turn: JournalTurn,
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

/** A gate that first takes in the messages that wait. Throws what `gate` throws, and `StoreError`. */
function withSteering(
  gate: ExecutorDeps['gate'],
  shared: Joining,
  turn: SteeredTurn,
  emit: Emit,
): ExecutorDeps['gate'] {
  return async (step, state) => {
    await takeSteering(shared, turn, PLAN_ITERATION, emit);
    return await gate(step, state);
  };
}

/** The plan for a prompt: its goal, followed by the messages that the user added. Never throws. */
export function withUserAdditions(plan: Plan, { rows }: Pick<TurnProgress, 'rows'>): Plan {
  const messages = rows.steps.flatMap(({ entry }) =>
    entry.kind === 'user' && entry.laneSeq !== undefined ? [entry.content] : [],
  );
  if (messages.length === 0) return plan;
  const all = messages.join('\n');
  const shown = all.length <= MAX_STEERING_CHARS ? all : `…${all.slice(-MAX_STEERING_CHARS).toWellFormed()}`;
  return { ...plan, goal: `${plan.goal}\nThe user has since added: ${shown}` };
}
