/** The three phases of planning: analysis, review if it is requested, and the plan (N-14 to N-24). */
import { ProviderError, StoreError, toGatewayError, wordError } from '../../protocol/errors.ts';
import { turnReader } from '../turn/failure-text.ts';
import { MAX_PLAN_STEPS, type Plan } from '../../protocol/agent/plan.ts';
import { SPAWN_TOOL } from '../../protocol/agent/subagents.ts';
import type { AgentShared, Emit } from '../deps.ts';
import { typedText } from '../prompt/marks.ts';
import { summaryOf } from '../prompt/prepared-profile.ts';
import { clipMiddle, estimateTokens } from '../../lib/text.ts';
import { newId } from '../../lib/ids.ts';
import { todoText } from '../../protocol/store/notes.ts';
import type { Tool } from '../../protocol/agent/tool.ts';
import { classifyFor } from './edits.ts';
import { readAnalysis, readPlan, reviewText, type WrittenPlan } from './read-plan.ts';
import { languageMark } from '../../protocol/texts/languages.ts';
import type { Say } from '../../protocol/texts/say.ts';
import type { ChatRequest, Usage } from '../../protocol/agent/provider.ts';
import { mergeGroups, toGroups } from '../prompt/history.ts';
import { systemPart } from '../prompt/system-prompt.ts';
import { fitPrompt, OVERFLOW_SHRINK } from '../prompt/context-window.ts';
import { completeText, type ShownCall } from '../model/model-call.ts';
import { holdCall } from '../model/hold-call.ts';
import { ApprovalWait } from '../tools/approval-gate.ts';
import { makePrompt } from '../model/model-budget.ts';
import { addUsage, type Turn } from '../turn/turn-state.ts';

/** Longest text of an earlier phase in a later one, in UTF-16 units. */
const MAX_QUOTED = 6_000;

const WHAT_IT_TAKES =
  'analyze it in short points: what the user wants to have in the end; what you know and what you must find out; ' +
  'which tools or files matter; what may go wrong; and how deep it is: simple, medium, complex or autonomous.';

const VERDICT =
  'End with a separate line: "REFLECT: yes" when the analysis rests on assumptions or much depends on it, else "REFLECT: no".';

/** The instruction for the unchanged message. */
export const ANALYSIS = [
  'Do not answer the request above yet: first judge what it takes.',
  'If you can answer it at once or with a single tool call (a greeting, small talk, a question, a short text), write only the word DIRECT.',
  `Otherwise ${WHAT_IT_TAKES}`,
  VERDICT,
].join('\n');

/** The instruction for a request that a person wants to have planned. */
const REQUIRED_ANALYSIS = [
  'Do not carry out the request above: the user wants to see a plan for it first, and then decides whether to run it.',
  `Begin with its analysis: ${WHAT_IT_TAKES}`,
  VERDICT,
].join('\n');

/** A tool or agent that a step may use. */
interface ExecutorOption {
  name: string;
  description: string;
}

/** Low: planning needs the likely plan (N-28). */
export const PLANNING_TEMPERATURE = 0.3;

/** Tokens that one planning call may make, and never more than a quarter of the window. */
const PLANNING_TOKENS = 2_048;

/** Longest answer of one planning call that is read, thinking included, in UTF-16 units. */
export const MAX_PLANNING_CHARS = 24_000;

/** Usage before the first call. */
export const NO_USAGE: Usage = { promptTokens: 0, completionTokens: 0, modelMs: 0 };

interface PlanningCall extends ShownCall {
  /** The instruction after the user's message. */
  instruction: string;
  /** The usage of the call is added to it. */
  spent: PlanningUsage;
}

/** Usage of planning so far, broken calls included. */
export interface PlanningUsage {
  usage: Usage;
}

interface PlanningRequest {
  request: ChatRequest;
  /** Tokens of the prompt, before they are scaled. */
  estimated: number;
}

/** Longest description of a tool or profile that the planner reads, in UTF-16 units. */
const MAX_DESCRIPTION_CHARS = 160;

/** Why there is no plan: the request needs none, the model wrote no steps that can be read, or its call failed. */
export type NoPlan = 'direct' | 'no_steps' | 'failed';

export interface Draft {
  /** Grows with every call. */
  spent: PlanningUsage;
  /** What the model wants to plan, in its own words; undefined = the message unchanged. */
  goal: string | undefined;
  /** A person has asked for a plan: even the simplest request gets one, and a failure fails the turn. */
  required?: boolean | undefined;
}

/**
 * Plans for a turn, or for a subagent, or says why there is no plan; that planning failed is logged and sent as a
 * notice. Throws only `StoreError`, `ApprovalWait` at a budget and the signal's reason, and where the plan is
 * `required` what the model calls throw.
 */
export async function draftPlan(
  shared: AgentShared,
  turn: Turn,
  draft: Draft,
  emit: Emit,
): Promise<Plan | NoPlan> {
  try {
    return await threePhases(shared, turn, draft, emit);
  } catch (error) {
    turn.signal.throwIfAborted();
    if (error instanceof StoreError || error instanceof ApprovalWait || draft.required === true) throw error;
    turn.log.warn({ err: error }, 'planning_failed');
    const reason = wordError(toGatewayError(error), await turnReader(shared, turn), turn.say);
    const text = turn.say('turn.no_plan', { why: reason });
    emit({ type: 'notice', code: 'planning_failed', text });
    return 'failed';
  }
}

async function threePhases(
  shared: AgentShared,
  turn: Turn,
  { spent: cost, goal, required }: Draft,
  emit: Emit,
): Promise<Plan | NoPlan> {
  const ask = (phase: number, title: string, instruction: string): Promise<string> =>
    askPlanner(
      shared,
      turn,
      { msgId: `${turn.turnId}.plan.${phase}`, title, instruction, spent: cost },
      emit,
    );

  const analysis = readAnalysis(
    await ask(1, turn.say('plan.thinking_need'), analysisInstruction(goal, required)),
    required,
  );
  if (analysis.direct) return 'direct';

  let review: string | undefined;
  if (turn.profile.planningPhase2Enabled && analysis.reflect) {
    review = reviewText(await ask(2, turn.say('plan.thinking_again'), reviewInstruction(analysis.text)));
  }

  const tools = [...turn.prepared.tools.values()].map((tool) => optionOf(tool.name, summaryOf(tool)));
  // Without this tool no step can be given to another agent.
  const agents = turn.prepared.tools.has(SPAWN_TOOL)
    ? shared.profiles().map(({ id, systemPrompt }) => optionOf(id, systemPrompt))
    : [];
  const instruction = planInstruction({ analysis: analysis.text, review, tools, agents });
  const executors = {
    tools: new Set(turn.prepared.tools.keys()),
    profiles: new Set(agents.map(({ name }) => name)),
  };
  const outline = readPlan(await ask(3, turn.say('plan.thinking_plan'), instruction), executors, turn.say);
  if (outline === undefined) {
    turn.log.info('plan_without_steps');
    return 'no_steps';
  }
  const { entry } = turn.rows.user;
  const message = entry.kind === 'user' ? typedText(entry) : '';
  return makePlan(outline, {
    goal: goal ?? message,
    mode: turn.mode,
    tools: turn.prepared.tools,
    state: required === true ? 'stored' : 'running',
    say: turn.say,
  });
}

function optionOf(name: string, text: string): ExecutorOption {
  const [sentence = ''] = text.replace(/\s+/g, ' ').split(/(?<=\.) /, 1);
  return { name, description: sentence.slice(0, MAX_DESCRIPTION_CHARS).toWellFormed() };
}

/** Creates the plan of a turn. `goal` is the user's message, `say` the language of its card. */
export function makePlan(
  outline: WrittenPlan,
  {
    goal,
    mode,
    tools,
    state = 'running',
    say,
  }: Pick<Plan, 'goal' | 'mode'> & { tools: ReadonlyMap<string, Tool>; state?: Plan['state']; say: Say },
): Plan {
  const classify = classifyFor(tools);
  return {
    id: newId(),
    goal: todoText(goal),
    milestones: outline.milestones,
    steps: outline.steps.map(({ description, executor }, index) => ({
      id: `s${index + 1}`,
      index,
      description,
      executor,
      risk: classify({ executor }),
      status: 'pending',
      attempts: 0,
      corrections: 0,
    })),
    mode,
    state,
    originalLength: outline.steps.length,
    ...languageMark(say),
  };
}

/**
 * Returns the model's text and adds the usage to `cost`. A prompt that is refused as too long is retried once, shorter
 * (B-11); a model that cannot answer is replaced by the next of the profile. Throws `ProviderError`, `GatewayError`
 * (window), or the signal's reason.
 */
async function askPlanner(shared: AgentShared, turn: Turn, call: PlanningCall, emit: Emit): Promise<string> {
  let most = Infinity;
  for (;;) {
    let prompt: PlanningRequest | undefined;
    try {
      prompt = await planningRequest(shared, turn, call.instruction, most);
      return await callOnce(shared, turn, call, prompt, emit);
    } catch (error) {
      turn.signal.throwIfAborted();
      const isTooLong = error instanceof ProviderError && error.code === 'context_overflow';
      if (shared.modelState.fallbacks.change(turn, { error, begun: false }, emit)) most = Infinity;
      else if (most === Infinity && isTooLong && prompt !== undefined)
        most = Math.floor(prompt.estimated * OVERFLOW_SHRINK);
      else throw error;
    }
  }
}

async function callOnce(
  shared: AgentShared,
  turn: Turn,
  { spent: cost, msgId, title }: PlanningCall,
  { request, estimated }: PlanningRequest,
  emit: Emit,
): Promise<string> {
  const { signal, waits, say } = turn;
  const promptTokens = estimated * shared.modelState.scale.of(request.model);
  await holdCall(shared, turn, request, promptTokens, emit, [{ ...cost.usage, model: request.model }]);
  const onUsage = (usage: Usage): void => {
    cost.usage = addUsage(cost.usage, usage);
    if (!usage.estimated) shared.modelState.scale.learn(request.model, estimated, usage.promptTokens);
  };
  const display = { msgId, title };
  const maxChars = MAX_PLANNING_CHARS;
  return await completeText(shared, { request, signal, waits, say, maxChars, display, onUsage }, emit);
}

/**
 * The request offers no tools, because a plan is made of words (N-28): its prompt therefore begins differently than those
 * of the conversation, and a server with one slot reads it whole. That is the price of a plan; no other call pays it.
 */
async function planningRequest(
  shared: AgentShared,
  turn: Turn,
  instruction: string,
  most: number,
): Promise<PlanningRequest> {
  // Planning reserves its own answer length, whatever the profile reserves for its answers.
  const limit = { most, profile: { ...turn.profile, maxTokens: undefined } };
  return await makePrompt(shared, turn, limit, ({ model, can, contextWindow, budget, toolLimit }) => {
    const note = `${shared.prompts.environmentNoteOf(turn)}\n\n${instruction}`;
    const { messages, tokens } = fitPrompt(
      {
        system: systemPart(turn.prepared, turn.promptContext, can, toolLimit),
        history: turn.history,
        current: mergeGroups(toGroups([turn.rows.user], { thinking: false })),
        steps: [],
        note: { content: note, tokens: estimateTokens(note) },
      },
      budget,
    );
    const request: ChatRequest = {
      model,
      messages,
      contextWindow,
      userId: turn.userId,
      temperature: PLANNING_TEMPERATURE,
      maxTokens: Math.min(PLANNING_TOKENS, Math.floor(contextWindow / 4)),
      ...(can.thinking && { think: false }),
    };
    return { request, estimated: tokens };
  });
}

/** Phase 1: whether a plan is needed, and whether the analysis needs a review (N-15, N-16). `goal` is the model's own wording of it. */
function analysisInstruction(goal: string | undefined, required = false): string {
  if (required) return REQUIRED_ANALYSIS;
  return goal === undefined ? ANALYSIS : `${ANALYSIS}\nThe goal, in your own words: ${JSON.stringify(goal)}.`;
}

/** Phase 2: a review of the analysis in four sections (N-18). */
export function reviewInstruction(analysis: string): string {
  return [
    'Do not answer the request above yet. This is an analysis of it:',
    quoted(analysis),
    'Review it in exactly these four sections, each with its heading:',
    'Critic: wrong assumptions, risks, contradictions, facts to verify.',
    'Pragmatist: a simpler path, unnecessary steps, better executors.',
    'Detailer: missing requirements, files, documents and tools to inspect, gaps in validation.',
    'Plan Adjustments: the concrete changes that the plan must apply.',
  ].join('\n');
}

/** Phase 3: the plan itself (N-20 to N-24). */
export function planInstruction({
  analysis,
  review,
  tools,
  agents,
}: {
  analysis: string;
  review?: string | undefined;
  tools: readonly ExecutorOption[];
  agents: readonly ExecutorOption[];
}): string {
  return [
    'Do not answer the request above yet: write the plan by which you will carry it out. This is the analysis of it:',
    quoted(analysis),
    ...(review === undefined
      ? []
      : ['And this is a review of the analysis, whose adjustments the plan must apply:', quoted(review)]),
    'First a heading "Milestones" with a few bullet points. Then a heading "Steps" with a numbered list, one step per line, each ' +
      'beginning with its executor in brackets:',
    '1. [TOOL: name] one call of one tool',
    '2. [AGENT: profile] a bounded subtask of three or more tool calls, handed to another agent',
    '3. [SELF] what you do yourself: thinking, writing, deciding',
    `Tools: ${listed(tools)}`,
    `Agents: ${listed(agents)}`,
    `Depth: a simple request takes 1-3 steps, a medium one 5-9, a complex or autonomous one 8-15; never more than ${MAX_PLAN_STEPS}.`,
    'Comma test: where a step names several things, joined by "and" or by commas, make each of them its own step.',
    'Write nothing but the milestones and the steps.',
  ].join('\n');
}

function listed(options: readonly ExecutorOption[]): string {
  if (options.length === 0) return 'none; use SELF instead.';
  return `\n${options.map(({ name, description }) => `- ${name}: ${description}`).join('\n')}`;
}

function quoted(text: string): string {
  return `<<<\n${clipMiddle(text, MAX_QUOTED)}\n>>>`;
}
