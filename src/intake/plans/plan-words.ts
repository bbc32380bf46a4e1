/** Plans as text for people: one with its steps, and the list of a conversation. */
import type { SessionKey } from '../../contracts/message.ts';
import type { Plan } from '../../contracts/plan.ts';
import type { PlanStore } from '../../contracts/store/plan-store.ts';
import { oneLine } from '../../lib/text.ts';

/** Plans that `/plans` lists. */
const PLANS_LISTED = 10;
/** Longest goal in the list, in UTF-16 units. */
const GOAL_SHOWN = 100;

/** What people read after a change: the steps as they are now. */
export function describeChange(plan: Plan): string {
  const when = plan.state === 'running' ? ' It counts from the next step on.' : '';
  return `The plan is changed.${when}\n\n${describePlan(plan)}`;
}

/** A plan as a list in Markdown. */
export function describePlan(plan: Plan): string {
  const steps = plan.steps.map(({ index, description }) => `${index + 1}. ${escaped(description)}`);
  return [`**${escaped(clip(plan.goal))}** (${stateOf(plan)})`, steps.join('\n')].join('\n\n');
}

/** The list that `/plans` shows. Throws `StoreError`. */
export async function listPlans(plans: Pick<PlanStore, 'plans'>, session: SessionKey): Promise<string> {
  const listed = await plans.plans(session, PLANS_LISTED);
  const [newest] = listed;
  if (newest === undefined) return 'There are no plans in this conversation. /plan and a request makes one.';
  const older = newest.number - listed.length;
  const lines = listed.map(({ record: { plan: one }, number }) => {
    const steps = `${one.steps.length} ${one.steps.length === 1 ? 'step' : 'steps'}`;
    return `${number}. ${escaped(clip(one.goal))} (${steps}, ${stateOf(one)})`;
  });
  const more =
    older > 0
      ? [`${older} older ${older === 1 ? 'one is' : 'ones are'} not listed; its number still works.`]
      : [];
  return [
    lines.join('\n'),
    ...more,
    `/plan run ${newest.number} runs plan ${newest.number}, also again.`,
  ].join('\n\n');
}

function stateOf({ state, runs = 0 }: Plan): string {
  if (runs > 0) return runs === 1 ? 'run once' : `run ${runs} times`;
  return state === 'stored' ? 'not begun' : state;
}

function clip(text: string): string {
  const line = oneLine(text);
  return line.length <= GOAL_SHOWN ? line : `${line.slice(0, GOAL_SHOWN).toWellFormed()}…`;
}

/** Escapes Markdown: goals and descriptions are plain text. */
function escaped(text: string): string {
  return oneLine(text).replace(/[\\`*_{}[\]<>#|~!&]/g, '\\$&');
}
