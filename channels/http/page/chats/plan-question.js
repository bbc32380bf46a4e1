/** What a plan waits for, in the inbox: its next step in teacher mode, or the end of a pause, with the buttons that decide. */
import { h } from '../dom.js';
import { say } from '../texts.js';

/** @typedef {import('../api.js').PlanAction} PlanAction */

/** What can be answered, by what is waited for. @type {Record<'step' | 'pause', [PlanAction, string][]>} */
const ANSWERS = {
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
 * @param {import('../api.js').Api} api
 * @param {NonNullable<import('../api.js').Approval['plan']>} plan
 * @param {boolean} mayDecide
 * @param {(error?: unknown) => void} finish called once the gateway has answered, with its error
 */
export function planQuestion(api, { id, stepId, wait }, mayDecide, finish) {
  const buttons = ANSWERS[wait].map(([action, label]) =>
    h('button', { type: 'button', onclick: () => void act(action) }, label),
  );
  /** @param {PlanAction} action */
  const act = async (action) => {
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
