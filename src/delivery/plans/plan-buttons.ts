/** Buttons below a plan's card, and the comparison of two cards. Pure. */
import type { Rendered } from '../../protocol/channel.ts';
import type { Button } from '../../protocol/message.ts';
import { openStep, type Plan } from '../../protocol/agent/plan.ts';
import { versionOf } from '../../protocol/agent/plan-edits.ts';
import { planButtonValue, type StoredAction } from '../../protocol/agent/plan-store.ts';
import { inEnglish, type Say } from '../../protocol/texts/say.ts';

/**
 * The buttons below a running plan; a paused one has none, because its question has Resume and Stop. Only agentic
 * plans have more than Stop: in planner mode the model follows the plan, in teacher mode each step has a question
 * with Run and Skip.
 */
export function planButtons(plan: Plan, say: Say = inEnglish): Button[] {
  if (plan.state === 'stored') return storedButtons(plan, say);
  if (plan.state !== 'running') return [];
  const { id: planId } = plan;
  const stop: Button = {
    label: say('button.stop'),
    value: planButtonValue({ planId, action: 'stop' }),
    style: 'danger',
  };
  if (plan.mode !== 'agentic') return [stop];
  const pause: Button = { label: say('card.pause'), value: planButtonValue({ planId, action: 'pause' }) };
  const step = openStep(plan);
  if (step === undefined) return [pause, stop];
  const value = planButtonValue({ planId, action: 'skip', stepId: step.id });
  return [pause, { label: say('card.skip', { number: step.index + 1 }), value }, stop];
}

/** The buttons of a stored plan: they act on the displayed version, and start the run after those that have begun. */
function storedButtons(plan: Plan, say: Say): Button[] {
  const { id: planId, runs = 0 } = plan;
  const now = { planId, version: versionOf(plan), run: runs + 1 };
  const press = (label: string, action: StoredAction, style?: Button['style']): Button => ({
    label,
    value: planButtonValue({ ...now, action }),
    ...(style && { style }),
  });
  return [
    press(say(runs === 0 ? 'card.run' : 'card.run_again'), 'start', 'confirm'),
    press(say('card.stepwise'), 'teach'),
    press(say('card.edit'), 'edit'),
    press(say('card.cancel'), 'cancel', 'danger'),
  ];
}

/** Equal for two cards exactly if no edit is needed to turn one into the other. */
export function lookOf({ text }: Pick<Rendered, 'text'>, buttons: readonly Button[]): string {
  return JSON.stringify([text, buttons]);
}
