/** Runs one step: a tool call, a task for a subagent, or work of the agent itself (N-21). */
import { clipMiddle } from '../../lib/text.ts';
import type { PlanStep } from '../../protocol/agent/plan.ts';
import { textRef } from '../../protocol/texts/say.ts';
import type { ToolCall } from '../../protocol/agent/provider.ts';
import { MAX_TASK_CHARS, SPAWN_TOOL } from '../../protocol/agent/subagents.ts';
import { withoutMarks } from '../../protocol/sessions/marked-text.ts';
import { ProviderError } from '../../protocol/errors.ts';
import { modelBudget } from '../model/model-budget.ts';
import { SAFE_WINDOW } from '../prompt/context-window.ts';
import type { Answer } from '../prompt/history.ts';
import type { AgentShared, Emit } from '../deps.ts';
import { askModel } from '../turn/iteration.ts';
import { schemaTokens } from '../prompt/prepared-profile.ts';
import { runToolCalls } from '../tools/tool-calls.ts';
import { callMsgId, type TurnContext } from '../state/turn-state.ts';
import { failedBecause, type StepOutcome } from './execution.ts';
import type { PlanRun } from './run-state.ts';
import { agentTask, callTask, reportsFailure, selfTask } from './step-prompt.ts';
import { journalFresh, stepIteration, stepTurn, type StepTurn } from './step-turn.ts';
import { StepThinking, stepTitle } from './step-thinking.ts';

/** Model calls that one run of a step may make. */
const MAX_STEP_ITERATIONS = 10;
/** Longest result of a step that the plan keeps, in UTF-16 units. */
const MAX_STEP_RESULT_CHARS = 6_000;
/** Longest answer without the call that was wanted, as the failure of its step quotes it, in UTF-16 units. */
const MAX_QUOTED_CHARS = 300;

/** One run of a step. */
export interface StepRun {
  step: PlanStep;
  /** Counts all runs of the plan, from 1. */
  run: number;
  state: PlanRun;
}

/**
 * Runs a step once; what its journal already holds is not repeated. Throws what `askModel` and `runToolCalls` throw: a
 * plain `GatewayError` means that the step failed.
 */
export async function runPlanStep(
  shared: AgentShared,
  turn: StepTurn,
  work: StepRun,
  emit: Emit,
): Promise<StepOutcome> {
  const { content, ...outcome } = await runByExecutor(shared, turn, work, emit);
  // People read it on the card; each prompt that quotes it puts its own marks around it.
  return { content: clipMiddle(withoutMarks(content), MAX_STEP_RESULT_CHARS), ...outcome };
}

async function runByExecutor(
  shared: AgentShared,
  turn: StepTurn,
  work: StepRun,
  emit: Emit,
): Promise<StepOutcome> {
  const { step, state } = work;
  const { executor, args } = step;
  switch (executor.kind) {
    case 'tool': {
      if (args !== undefined) return await givenCall(shared, turn, work, { name: executor.tool, args }, emit);
      const task = callTask(state, step, executor.tool, await windowOf(shared, turn));
      return await askedCall(
        shared,
        withOneTool(turn, executor.tool),
        work,
        { name: executor.tool, task },
        emit,
      );
    }
    case 'agent': {
      const task = agentTask(state, step, MAX_TASK_CHARS);
      const call = { name: SPAWN_TOOL, args: { task, profile_id: executor.profileId } };
      return await givenCall(shared, turn, work, call, emit);
    }
    case 'self':
      return await ownWork(shared, turn, work, selfTask(state, step, await windowOf(shared, turn)), emit);
    default:
      return executor satisfies never;
  }
}

/** The window of the step's model, in tokens; the usual one while its server does not say. */
async function windowOf(shared: AgentShared, turn: StepTurn): Promise<number> {
  try {
    const { contextWindow } = await modelBudget(shared, turn);
    return Math.min(contextWindow, turn.profile.contextWindow ?? contextWindow);
  } catch (error) {
    turn.signal.throwIfAborted();
    // The step's own call fails in the same way, and reports it.
    if (!(error instanceof ProviderError)) throw error;
    return turn.profile.contextWindow ?? SAFE_WINDOW;
  }
}

/** A tool call whose arguments are known: journaled as an answer, as if the model had made it. */
function givenCall(
  shared: AgentShared,
  turn: StepTurn,
  work: StepRun,
  call: Omit<ToolCall, 'id'>,
  emit: Emit,
): Promise<StepOutcome> {
  const n = stepIteration(work.run, 1);
  return inStep(shared, turn, { ...work, task: '' }, emit, async (own, emitThinking) => {
    let answer = own.rows.answer(n);
    if (answer === undefined) {
      const toolCalls = [{ ...call, id: `step_${work.run}` }];
      answer = { kind: 'assistant', content: '', toolCalls, msgId: callMsgId(turn, n) };
      own.rows.add(n, answer);
      await journalFresh(shared, own);
    }
    return await firstCall(shared, own, { n, answer }, emitThinking);
  });
}

/** One call of one tool, with arguments that the model chooses. */
function askedCall(
  shared: AgentShared,
  turn: StepTurn,
  work: StepRun,
  { name, task }: { name: string; task: string },
  emit: Emit,
): Promise<StepOutcome> {
  const n = stepIteration(work.run, 1);
  return inStep(shared, turn, { ...work, task }, emit, async (own, emitThinking) => {
    const known = own.rows.answer(n);
    // Profiles may be reloaded while a plan waits: the model is not asked for a call that cannot be made.
    if (known === undefined && !own.prepared.tools.has(name))
      return failedBecause(textRef('cancelled.tool_gone', { name }));
    const answer = known ?? (await askModel(shared, own, n, emitThinking));
    if (answer.toolCalls.length > 0) return await firstCall(shared, own, { n, answer }, emitThinking);
    const text = clipMiddle(answer.content, MAX_QUOTED_CHARS);
    return failedBecause(textRef('cancelled.no_call', { name, text }));
  });
}

/** Runs the first call of an answer; a step of one call has no second. */
async function firstCall(
  shared: AgentShared,
  own: StepTurn,
  { n, answer }: { n: number; answer: Answer },
  emit: Emit,
): Promise<StepOutcome> {
  const first = { ...answer, toolCalls: answer.toolCalls.slice(0, 1) };
  await runToolCalls(shared, own, { n, answer: first }, emit);
  const result = own.rows.result(n, 0);
  if (result === undefined) return failedBecause(textRef('cancelled.no_result'));
  return { content: result.content, isError: result.isError };
}

/** A tool-calling loop for one step. */
function ownWork(
  shared: AgentShared,
  turn: StepTurn,
  work: StepRun,
  task: string,
  emit: Emit,
): Promise<StepOutcome> {
  return inStep(shared, turn, { ...work, task }, emit, async (own, emitThinking) => {
    for (let i = 1; i <= MAX_STEP_ITERATIONS; i += 1) {
      own.signal.throwIfAborted();
      const n = stepIteration(work.run, i);
      const answer = own.rows.answer(n) ?? (await askModel(shared, own, n, emitThinking));
      const { content, toolCalls } = answer;
      if (toolCalls.length === 0) {
        if (content.trim() === '') return failedBecause(textRef('cancelled.empty_answer'));
        return { content, isError: reportsFailure(content) };
      }
      await runToolCalls(shared, own, { n, answer }, emitThinking);
    }
    return failedBecause(textRef('cancelled.unfinished', { most: MAX_STEP_ITERATIONS }));
  });
}

/** Runs `act` in the conversation of the step, and journals the rows it made. */
async function inStep(
  shared: Pick<AgentShared, 'ledger'>,
  turn: StepTurn,
  { step, run, task }: StepRun & { task: string },
  emit: Emit,
  act: (own: StepTurn, emit: Emit) => Promise<StepOutcome>,
): Promise<StepOutcome> {
  const own = stepTurn(turn, run, task);
  const thinking = new StepThinking(stepTitle(step, turn.say), emit, () => own.model);
  try {
    const outcome = await act(own, (event) => thinking.forward(event));
    await journalFresh(shared, own);
    return outcome;
  } catch (error) {
    thinking.close();
    throw error;
  } finally {
    turn.rows.keep(own.rows.steps);
  }
}

/** The turn with only one tool. */
function withOneTool<T extends Pick<TurnContext, 'prepared'>>(turn: T, name: string): T {
  const { prepared } = turn;
  const schemas = prepared.schemas.filter((schema) => schema.name === name);
  const tools = new Map([...prepared.tools].filter(([known]) => known === name));
  return { ...turn, prepared: { ...prepared, schemas, tools, toolTokens: schemaTokens(schemas) } };
}
