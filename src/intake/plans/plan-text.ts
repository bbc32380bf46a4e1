/** Plans as text for people: one with its steps, and the list of a conversation. */
import type { SessionKey } from '../../protocol/message.ts';
import type { Plan, PlanState } from '../../protocol/agent/plan.ts';
import type { PlanStore } from '../../protocol/agent/plan-store.ts';
import { escapeMarkdown } from '../../lib/markdown/escape.ts';
import { clipEnd, oneLine } from '../../lib/text.ts';
import type { PlainKey, Say } from '../../protocol/texts/say.ts';

/** Plans that `/plans` lists. */
const PLANS_LISTED = 10;
/** Longest goal in the list, in UTF-16 units. */
const GOAL_SHOWN = 100;

/** What people read after a change: the current steps. */
export function describeChange(plan: Plan, say: Say): string {
  const changed = say(plan.state === 'running' ? 'plan.changed_next' : 'plan.changed');
  return `${changed}\n\n${describePlan(plan, say)}`;
}

/** A plan as a list in Markdown. */
export function describePlan(plan: Plan, say: Say): string {
  const steps = plan.steps.map(({ index, description }) => `${index + 1}. ${escaped(description)}`);
  return [
    `**${escaped(clipEnd(oneLine(plan.goal), GOAL_SHOWN))}** (${stateOf(plan, say)})`,
    steps.join('\n'),
  ].join('\n\n');
}

/** The list that `/plans` shows. Throws `StoreError`. */
export async function listPlans(
  plans: Pick<PlanStore, 'plans'>,
  session: SessionKey,
  say: Say,
): Promise<string> {
  const listed = await plans.plans(session, PLANS_LISTED);
  const [newest] = listed;
  if (newest === undefined) return say('plan.none');
  const older = newest.number - listed.length;
  const lines = listed.map(({ record: { plan: one }, number }) => {
    const goal = escaped(clipEnd(oneLine(one.goal), GOAL_SHOWN));
    return say('plan.line', { number, goal, count: one.steps.length, state: stateOf(one, say) });
  });
  const more = older > 0 ? [say('plan.older', { count: older })] : [];
  const again = say('plan.run_again', { number: newest.number });
  return [lines.join('\n'), ...more, again].join('\n\n');
}

const STATES: Readonly<Record<PlanState, PlainKey>> = {
  stored: 'plan.stored',
  running: 'plan.running',
  paused: 'plan.paused',
  completed: 'plan.completed',
  cancelled: 'plan.state_cancelled',
};

function stateOf({ state, runs = 0 }: Plan, say: Say): string {
  return runs > 0 ? say('plan.run_times', { count: runs }) : say(STATES[state]);
}

/** Goals and descriptions are plain text. */
function escaped(text: string): string {
  return escapeMarkdown(oneLine(text));
}
