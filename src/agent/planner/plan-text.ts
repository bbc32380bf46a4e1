/** A plan as text: for the model, for people, and as a todo list. */
import type { Plan, PlanStep } from '../../contracts/plans/plan.ts';
import { todoText } from '../../contracts/store/notes.ts';
import type { Say } from '../../contracts/texts/say.ts';
import type { Todo } from '../../contracts/store/notes.ts';
import { escapeMarkdown } from '../../lib/markdown/escape.ts';

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
