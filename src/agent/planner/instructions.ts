/** Instructions to the model for each phase of planning. */
import { MAX_PLAN_STEPS } from '../../protocol/agent/plan.ts';
import { clipMiddle } from '../../lib/text.ts';

/** Longest text of an earlier phase in a later one, in UTF-16 units. */
const MAX_QUOTED = 6_000;

/** Phase 1: whether a plan is needed, and whether the analysis needs a review (N-15, N-16). `goal` is the model's own wording of it. */
export function analysisInstruction(goal: string | undefined, required = false): string {
  if (required) return REQUIRED_ANALYSIS;
  return goal === undefined ? ANALYSIS : `${ANALYSIS}\nThe goal, in your own words: ${JSON.stringify(goal)}.`;
}

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

/** A tool or agent that a step may use. */
export interface ExecutorOption {
  name: string;
  description: string;
}

export interface PlanInput {
  analysis: string;
  review?: string | undefined;
  tools: readonly ExecutorOption[];
  agents: readonly ExecutorOption[];
}

/** Phase 3: the plan itself (N-20 to N-24). */
export function planInstruction({ analysis, review, tools, agents }: PlanInput): string {
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
