/** A plan as text: for the model, for people, and as a todo list. */
import type { Plan, PlanStep } from '../../protocol/agent/plan.ts';
import { type Todo, todoText } from '../../protocol/store/notes.ts';
import type { NoPlan } from './draft-plan.ts';
import type { Say } from '../../protocol/texts/say.ts';
import { escapeMarkdown } from '../../lib/markdown/references.ts';

/** The plan in the model's context, an assistant message (N-25). */
export function planForModel(plan: Plan): string {
  const title =
    plan.state === 'stored'
      ? 'My plan. None of it has run: the user decides whether and when it does.'
      : 'My plan.';
  const steps = plan.steps.map(
    (step, index) => `${index + 1}. [${executorTag(step)}] ${todoText(step.description)}`,
  );
  return [...milestoneLines(title, plan), 'Steps:', ...steps].join('\n');
}

/** The plan as the result of the call that asked for it. */
export function planResult({ steps }: Plan): string {
  const lines = steps.map(({ description }, index) => `${index + 1}. ${todoText(description)}`);
  return ['The plan is made. Its steps:', ...lines].join('\n');
}

/** The result of a call that asked for a plan, where there is none; without a reason the turn was planned before. */
export function noPlanResult(reason: NoPlan | undefined): string {
  switch (reason) {
    case 'direct':
      return 'There is no plan: none is needed, the task can be done directly. Continue without one.';
    case 'no_steps':
      return 'There is no plan: it had no steps that can be read. Continue without one.';
    case 'failed':
      return 'There is no plan: it could not be made. Continue without one.';
    case undefined:
      return 'There is no plan. Continue without one.';
    default:
      return reason satisfies never;
  }
}

/**
 * What the model reads of the plan before, if that was not carried out; undefined for any other. It quotes nothing of the
 * plan, which may have been made from text of others.
 */
export function lastPlanResult({ state, steps }: Plan): string | undefined {
  const over = steps.filter(({ status }) => status === 'done' || status === 'skipped').length;
  if (state === 'ignored')
    return `The plan before this one was not followed: you answered without beginning one of its ${steps.length} steps.`;
  if (state !== 'cancelled') return undefined;
  return `The plan before this one was cancelled, with ${over} of its ${steps.length} steps done.`;
}

/** The result of a further call in the same turn. */
export const SECOND_PLAN_RESULT = 'The plan is made already: change the todo list instead.';

/** The plan for users, a card in Markdown (N-26), in the language of its reader. */
export function planCard(plan: Plan, say: Say): string {
  const steps = plan.steps.map((step, index) => {
    const label = executorLabel(step, say);
    return `${index + 1}. ${escapeMarkdown(todoText(step.description))}${label === '' ? '' : ` *(${label})*`}`;
  });
  const milestones = plan.milestones.map((text) => `- ${escapeMarkdown(text)}`);
  return [
    say('plan.card_title'),
    ...(milestones.length === 0 ? [] : [milestones.join('\n')]),
    steps.join('\n'),
  ].join('\n\n');
}

/** One item per step, in order (N-27). */
export function todosOf(plan: Plan): Todo[] {
  return plan.steps.map(({ description, status, validation }) => ({
    text: todoText(description),
    status: status === 'running' ? 'in_progress' : status,
    ...(validation !== undefined && { validation }),
  }));
}

function milestoneLines(title: string, { milestones }: Plan): string[] {
  return milestones.length === 0 ? [title] : [title, 'Milestones:', ...milestones.map((text) => `- ${text}`)];
}

function executorTag({ executor }: PlanStep): string {
  switch (executor.kind) {
    case 'tool':
      return `TOOL: ${executor.tool}`;
    case 'agent':
      return `AGENT: ${executor.profileId}`;
    case 'self':
      return 'SELF';
    default:
      return executor satisfies never;
  }
}

function executorLabel({ executor }: PlanStep, say: Say): string {
  switch (executor.kind) {
    case 'tool':
      return say('plan.card_tool', { name: escapeMarkdown(executor.tool) });
    case 'agent':
      return say('plan.card_agent', { name: escapeMarkdown(executor.profileId) });
    case 'self':
      return '';
    default:
      return executor satisfies never;
  }
}
