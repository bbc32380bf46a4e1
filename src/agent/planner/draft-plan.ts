/** The three phases of planning: analysis, review if it is requested, and the plan (N-14 to N-24). */
import { StoreError, toGatewayError, wordError } from '../../protocol/errors.ts';
import { turnReader } from '../turn/failure-text.ts';
import type { ExecutionMode, Plan } from '../../protocol/agent/plan.ts';
import { SPAWN_TOOL } from '../../protocol/agent/subagents.ts';
import type { AgentShared, Emit } from '../deps.ts';
import { typedText } from '../prompt/marks.ts';
import { summaryOf } from '../prompt/prepared-profile.ts';
import {
  analysisInstruction,
  type ExecutorOption,
  planInstruction,
  reviewInstruction,
} from './instructions.ts';
import { newId } from '../../lib/ids.ts';
import { todoText } from '../../protocol/store/notes.ts';
import type { Tool } from '../../protocol/agent/tool.ts';
import { classifyFor } from '../executor/edits.ts';
import { readPlan, type WrittenPlan } from './read-plan.ts';
import { languageMark } from '../../protocol/texts/languages.ts';
import type { Say } from '../../protocol/texts/say.ts';
import { askPlanner, type Planning, type PlanningUsage } from './planning-call.ts';
import { readAnalysis, reviewText } from './read-analysis.ts';

interface PlanSetting {
  goal: string;
  mode: ExecutionMode;
  tools: ReadonlyMap<string, Tool>;
  state?: 'running' | 'stored' | undefined;
  /** The language of its card. */
  say: Pick<Say, 'language'>;
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
 * notice. Throws only `StoreError` and the signal's reason, and where the plan is
 * `required` what the model calls throw.
 */
export async function draftPlan(
  shared: AgentShared,
  turn: Planning,
  draft: Draft,
  emit: Emit,
): Promise<Plan | NoPlan> {
  try {
    return await threePhases(shared, turn, draft, emit);
  } catch (error) {
    turn.signal.throwIfAborted();
    if (error instanceof StoreError || draft.required === true) throw error;
    turn.log.warn({ err: error }, 'planning_failed');
    const why = wordError(toGatewayError(error), await turnReader(shared, turn), turn.say);
    const text = turn.say('turn.no_plan', { why });
    emit({ type: 'notice', code: 'planning_failed', text });
    return 'failed';
  }
}

async function threePhases(
  shared: AgentShared,
  turn: Planning,
  { spent, goal, required }: Draft,
  emit: Emit,
): Promise<Plan | NoPlan> {
  const ask = (phase: number, title: string, instruction: string): Promise<string> =>
    askPlanner(shared, turn, { msgId: `${turn.turnId}.plan.${phase}`, title, instruction, spent }, emit);

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
  const written = readPlan(await ask(3, turn.say('plan.thinking_plan'), instruction), executors, turn.say);
  if (written === undefined) {
    turn.log.info('plan_without_steps');
    return 'no_steps';
  }
  const { entry } = turn.rows.user;
  const asked = entry.kind === 'user' ? typedText(entry) : '';
  const { tools: known } = turn.prepared;
  const state = required === true ? 'stored' : 'running';
  return makePlan(written, { goal: goal ?? asked, mode: turn.mode, tools: known, state, say: turn.say });
}

function optionOf(name: string, text: string): ExecutorOption {
  const [sentence = ''] = text.replace(/\s+/g, ' ').split(/(?<=\.) /, 1);
  return { name, description: sentence.slice(0, MAX_DESCRIPTION_CHARS).toWellFormed() };
}

/** Creates the plan of a turn. `goal` is the user's message. */
export function makePlan(
  written: WrittenPlan,
  { goal, mode, tools, state = 'running', say }: PlanSetting,
): Plan {
  const classify = classifyFor(tools);
  return {
    id: newId(),
    goal: todoText(goal),
    milestones: written.milestones,
    steps: written.steps.map(({ description, executor }, index) => ({
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
    originalLength: written.steps.length,
    ...languageMark(say),
  };
}
