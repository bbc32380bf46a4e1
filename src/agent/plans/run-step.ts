/** Runs one step: a tool call, a task for a subagent, or work of the agent itself (N-21). */
import { clipMiddle } from '../../lib/text.ts';
import type { PlanStep } from '../../protocol/agent/plan.ts';
import { type Say, textRef } from '../../protocol/texts/say.ts';
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
import { callMsgId, type Turn } from '../turn/turn-state.ts';
import { failedBecause, type PlanRun, type StepOutcome } from './run-state.ts';
import { agentTask, callTask, reportsFailure, selfTask, withModePrompt } from './step-prompt.ts';
import { STEP_ITERATIONS } from '../../protocol/store/records.ts';
import { Reply } from '../turn/reply.ts';
import { TurnRows } from '../turn/turn-rows.ts';
import type { EventBody } from '../../protocol/event.ts';

/**
 * Forwards the events of a step. The text of each model call becomes one piece of thinking under `title`; a call without
 * text, which only calls a tool, is not shown.
 */
class StepThinking {
  readonly #title: string;
  readonly #emit: Emit;
  readonly #model: () => string | undefined;
  /** The `msgId` of the call whose text is being shown. */
  #open: string | undefined;
  /** The last delta was the model's own thinking: the text after it starts a new paragraph. */
  #afterThinking = false;

  /** `model` names the model of the step, known once it has been called. */
  constructor(title: string, emit: Emit, model: () => string | undefined) {
    this.#title = title;
    this.#emit = emit;
    this.#model = model;
  }

  forward(body: EventBody): void {
    switch (body.type) {
      case 'stream_start':
      case 'thinking_started':
      case 'thinking_finished':
        return;
      case 'thinking_delta':
        this.#emitDelta(body.msgId, body.delta);
        this.#afterThinking = true;
        return;
      case 'stream_chunk':
        this.#emitDelta(body.msgId, this.#afterThinking ? `\n\n${body.delta}` : body.delta);
        this.#afterThinking = false;
        return;
      case 'stream_reset':
        this.close();
        this.#emit(body);
        return;
      case 'stream_end':
        if (this.#open === undefined) return;
        this.#emit({
          type: 'thinking_finished',
          msgId: body.msgId,
          usage: body.usage,
          model: this.#model(),
        });
        this.#open = undefined;
        this.#afterThinking = false;
        return;
      default:
        this.#emit(body);
    }
  }

  /** Ends the thinking that a broken call left open. */
  close(): void {
    if (this.#open !== undefined) this.#emit({ type: 'thinking_finished', msgId: this.#open });
    this.#open = undefined;
    this.#afterThinking = false;
  }

  #emitDelta(msgId: string, delta: string): void {
    if (delta === '') return;
    if (this.#open === undefined) {
      this.#emit({ type: 'thinking_started', msgId, title: this.#title });
      this.#open = msgId;
    }
    this.#emit({ type: 'thinking_delta', msgId, delta });
  }
}

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
 * Runs a step once, in its own conversation; what its journal already holds is not repeated. Throws what `askModel` and
 * `runToolCalls` throw: a plain `GatewayError` means that the step failed.
 */
export async function runPlanStep(
  shared: AgentShared,
  turn: Turn,
  work: StepRun,
  emit: Emit,
): Promise<StepOutcome> {
  const { step, run } = work;
  const task = await taskOf(shared, turn, work);
  const conversation = stepTurn(turn, run, task);
  const thinking = new StepThinking(stepTitle(step, turn.say), emit, () => conversation.model);
  const emitThinking: Emit = (event) => thinking.forward(event);
  try {
    const { content, ...outcome } = await runExecutor(shared, conversation, work, emitThinking);
    await journalFresh(shared, conversation);
    // People read it on the card; each prompt that quotes it puts its own marks around it.
    return { content: clipMiddle(withoutMarks(content), MAX_STEP_RESULT_CHARS), ...outcome };
  } catch (error) {
    thinking.close();
    throw error;
  } finally {
    turn.rows.keep(conversation.rows.steps);
  }
}

/** What the model is asked to do; empty for a call that the plan itself knows. */
async function taskOf(shared: AgentShared, turn: Turn, { step, state }: StepRun): Promise<string> {
  const { executor, args } = step;
  if (executor.kind === 'self') return selfTask(state, step, await windowOf(shared, turn));
  if (executor.kind === 'agent' || args !== undefined) return '';
  return callTask(state, step, executor.tool, await windowOf(shared, turn));
}

async function runExecutor(
  shared: AgentShared,
  turn: Turn,
  { step, run, state }: StepRun,
  emit: Emit,
): Promise<StepOutcome> {
  const { executor, args } = step;
  switch (executor.kind) {
    case 'tool':
      if (args === undefined) return await runAskedCall(shared, turn, run, executor.tool, emit);
      return await runKnownCall(shared, turn, run, { name: executor.tool, args }, emit);
    case 'agent': {
      const task = agentTask(state, step, MAX_TASK_CHARS);
      const call = { name: SPAWN_TOOL, args: { task, profile_id: executor.profileId } };
      return await runKnownCall(shared, turn, run, call, emit);
    }
    case 'self':
      return await runLoop(shared, turn, run, emit);
    default:
      return executor satisfies never;
  }
}

/** The window of the step's model, in tokens; the usual one while its server does not say. */
async function windowOf(shared: AgentShared, turn: Turn): Promise<number> {
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
async function runKnownCall(
  shared: AgentShared,
  turn: Turn,
  run: number,
  { name, args }: { name: string; args: Record<string, unknown> },
  emit: Emit,
): Promise<StepOutcome> {
  const n = stepIteration(run, 1);
  let answer = turn.rows.answer(n);
  if (answer === undefined) {
    const toolCalls = [{ id: `step_${run}`, name, args }];
    answer = { kind: 'assistant', content: '', toolCalls, msgId: callMsgId(turn, n) };
    turn.rows.add(n, answer);
    await journalFresh(shared, turn);
  }
  return await runFirstCall(shared, turn, n, answer, emit);
}

/** One call of one tool, with arguments that the model chooses. */
async function runAskedCall(
  shared: AgentShared,
  turn: Turn,
  run: number,
  name: string,
  emit: Emit,
): Promise<StepOutcome> {
  const n = stepIteration(run, 1);
  keepOneTool(turn, name);
  const journaled = turn.rows.answer(n);
  // Profiles may be reloaded while a plan waits: the model is not asked for a call that cannot be made.
  if (journaled === undefined && !turn.prepared.tools.has(name))
    return failedBecause(textRef('cancelled.tool_gone', { name }));
  const answer = journaled ?? (await askModel(shared, turn, n, emit));
  if (answer.toolCalls.length > 0) return await runFirstCall(shared, turn, n, answer, emit);
  const text = clipMiddle(answer.content, MAX_QUOTED_CHARS);
  return failedBecause(textRef('cancelled.no_call', { name, text }));
}

/** Runs the first call of an answer; a step of one call has no second. */
async function runFirstCall(
  shared: AgentShared,
  turn: Turn,
  n: number,
  answer: Answer,
  emit: Emit,
): Promise<StepOutcome> {
  const first = { ...answer, toolCalls: answer.toolCalls.slice(0, 1) };
  await runToolCalls(shared, turn, n, first, emit);
  const result = turn.rows.result(n, 0);
  if (result === undefined) return failedBecause(textRef('cancelled.no_result'));
  return { content: result.content, isError: result.isError };
}

/** A tool-calling loop for one step. */
async function runLoop(shared: AgentShared, turn: Turn, run: number, emit: Emit): Promise<StepOutcome> {
  for (let i = 1; i <= MAX_STEP_ITERATIONS; i += 1) {
    turn.signal.throwIfAborted();
    const n = stepIteration(run, i);
    const answer = turn.rows.answer(n) ?? (await askModel(shared, turn, n, emit));
    const { content, toolCalls } = answer;
    if (toolCalls.length === 0) {
      if (content.trim() === '') return failedBecause(textRef('cancelled.empty_answer'));
      return { content, isError: reportsFailure(content) };
    }
    await runToolCalls(shared, turn, n, answer, emit);
  }
  return failedBecause(textRef('cancelled.unfinished', { most: MAX_STEP_ITERATIONS }));
}

/** Leaves the conversation of a step only one tool. */
function keepOneTool(turn: Turn, name: string): void {
  const { prepared } = turn;
  const schemas = prepared.schemas.filter((schema) => schema.name === name);
  const tools = new Map([...prepared.tools].filter(([other]) => other === name));
  turn.prepared = { ...prepared, schemas, tools, toolTokens: schemaTokens(schemas) };
}

/** The turn for one run of a step. Its n-th answer has the iteration `stepIteration(run, n)`. */
function stepTurn(turn: Turn, run: number, task: string): Turn {
  const stepRows = turn.rows.ofPlan.filter(
    ({ iteration }) => Math.floor(iteration / STEP_ITERATIONS) === run,
  );
  const earlierRows = turn.rows.ofPlan.filter((row) => !stepRows.includes(row));
  const pastRows = [...turn.past, turn.rows.user, ...turn.rows.steps, ...earlierRows];
  return {
    ...turn,
    // The task quotes results of earlier steps, so it does not count as the user's own text.
    rows: TurnRows.ofStep(task, stepRows, turn.rows.taint, [...turn.rows.steps, ...earlierRows]),
    history: [],
    past: pastRows,
    reply: new Reply(),
    plan: undefined,
    payer: { ...turn.payer, plan: turn.plan?.origin?.planId ?? turn.plan?.id },
    prepared: {
      ...turn.prepared,
      system: withModePrompt(turn.prepared.system, turn.plan?.mode ?? turn.mode),
      withoutTools: withModePrompt(turn.prepared.withoutTools, turn.plan?.mode ?? turn.mode),
    },
    // These notes are about the turn's own loop.
    profile: {
      ...turn.profile,
      iterationBudgetEnabled: false,
      goalAnchoringEnabled: false,
      antiStallEnabled: false,
      adaptiveReplanEnabled: false,
    },
  };
}

/** The journal iteration of the n-th answer of a run; n counts from 1. */
function stepIteration(run: number, n: number): number {
  return run * STEP_ITERATIONS + n;
}

/** Journals the rows of a step that are not in the journal yet. Throws `StoreError`. */
async function journalFresh({ stores: { ledger } }: AgentShared, turn: Turn): Promise<void> {
  const fresh = turn.rows.fresh();
  if (fresh.length === 0) return;
  await ledger.journalAnswer(turn.fence, turn.turnId, fresh);
  turn.rows.journaled(fresh);
}

/** Title of the thinking of a step. */
export function stepTitle({ index, description }: PlanStep, say: Say): string {
  return say('plan.thinking_step', { number: index + 1, description });
}
