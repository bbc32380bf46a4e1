/**
 * What a plan waits for, in the inbox: its next step in teacher mode, or the end of a pause, with the buttons that decide.
 */
import type { PlanAction, Api, Approval } from '../api.ts';
import { h } from '../dom.ts';
import { say } from '../texts.ts';

/** What can be answered, by what is waited for. */
const ANSWERS: Record<'step' | 'pause', [PlanAction, string][]> = {
  step: [
    ['run', say('page.plan.run')],
    ['skip', say('page.plan.skip')],
    ['stop', say('page.stop')],
  ],
  pause: [
    ['resume', say('page.resume')],
    ['stop', say('page.stop')],
  ],
};

/**
 * The question with its buttons.
 * @param finish called once the gateway has answered, with its error
 */
export function planQuestion(
  api: Api,
  { id, stepId, wait }: NonNullable<Approval['plan']>,
  mayDecide: boolean,
  finish: (error?: unknown) => void,
) {
  const buttons = ANSWERS[wait].map(([action, label]) =>
    h('button', { type: 'button', onclick: () => void act(action) }, label),
  );
  const act = async (action: PlanAction) => {
    for (const button of buttons) button.disabled = true;
    try {
      await api.actOnPlan(id, action, stepId);
      finish();
    } catch (error) {
      for (const button of buttons) button.disabled = false;
      finish(error);
    }
  };
  const question = say(wait === 'step' ? 'page.inbox.plan' : 'page.inbox.plan_paused');
  const foot = mayDecide ? buttons : [h('span', {}, say('page.approval.not_yours'))];
  return [h('p', {}, question), h('div', { class: 'approval-foot' }, ...foot)];
}
