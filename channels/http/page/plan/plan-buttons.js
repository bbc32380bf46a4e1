/** The buttons under a plan: what a person may do to it now, and what the gateway says to a press. */
import { h } from '../dom.js';
import { isOpenPlan, openStep } from '../../../../src/contracts/isomorphic/plan-reducer.js';

/** @typedef {import('../../../../src/contracts/plan.ts').Plan} Plan */
/** @typedef {import('../api.js').Approval} Approval */
/** @typedef {import('../api.js').PlanAction} PlanAction */
/**
 * @callback Act Does it, for the step that the person saw; throws with a sentence.
 * @param {string} planId
 * @param {PlanAction} action
 * @param {string | undefined} stepId
 * @returns {Promise<{ text: string }>}
 */

/** In the order they stand in. @type {[PlanAction, string][]} */
const BUTTONS = [
  ['run', 'Run'],
  ['resume', 'Resume'],
  ['pause', 'Pause'],
  ['skip', 'Skip step'],
  ['stop', 'Stop'],
];

/**
 * What may be done to a plan: nothing to one that is over, and one that the answer follows by itself can only be stopped.
 * @param {Plan} plan
 * @param {Approval | undefined} wait the plan's own question, while it waits for an answer
 * @returns {PlanAction[]}
 */
export function actionsFor(plan, wait) {
  if (!isOpenPlan(plan)) return [];
  if (plan.mode === 'planner') return ['stop'];
  if (wait?.plan?.wait === 'step') return ['run', 'skip', 'stop'];
  return plan.state === 'paused' ? ['resume', 'stop'] : ['pause', 'skip', 'stop'];
}

/** One row of buttons, the same ones as long as the plan is shown: whoever stands on one with the keyboard stays there. */
export class PlanButtons {
  #act;
  #said = h('p', { class: 'plan-said', role: 'status' });
  /** @type {Map<PlanAction, HTMLButtonElement>} */
  #buttons = new Map();
  /** Pressed and not answered yet. @type {Set<PlanAction>} */
  #asked = new Set();
  /** Taken by the gateway; pressing them again would do nothing until the plan moves on. @type {Set<PlanAction>} */
  #taken = new Set();
  /** What the plan is at: a new moment makes old answers void. */
  #moment = '';
  /** @type {Plan | undefined} */
  #plan;
  /** @type {Approval | undefined} */
  #wait;
  element;

  /** @param {Act} act */
  constructor(act) {
    this.#act = act;
    for (const [action, words] of BUTTONS) {
      const onclick = () => void this.#press(action);
      const button = h('button', { type: 'button', class: `plan-${action}`, hidden: true, onclick }, words);
      this.#buttons.set(action, button);
    }
    const row = h(
      'div',
      { class: 'plan-buttons', role: 'group', 'aria-label': 'What to do with the plan' },
      ...this.#buttons.values(),
    );
    this.element = h('div', { class: 'plan-controls', hidden: true }, this.#said, row);
  }

  /**
   * Brings the row up to date.
   * @param {Plan} plan
   * @param {Approval | undefined} wait
   */
  show(plan, wait) {
    const step = openStep(plan);
    const moment = JSON.stringify([plan.id, plan.state, step?.id, step?.status, step?.attempts, wait?.id]);
    if (moment !== this.#moment) {
      this.#taken.clear();
      this.#say('', false);
    }
    this.#moment = moment;
    this.#plan = plan;
    this.#wait = wait;
    this.#draw();
  }

  #draw() {
    if (this.#plan === undefined) return;
    const offered = actionsFor(this.#plan, this.#wait);
    const focused = [...this.#buttons.values()].find((button) => button === document.activeElement);
    for (const [action, button] of this.#buttons) {
      button.hidden = !offered.includes(action);
      // Not `disabled`: that would take the focus away from whoever has just pressed it.
      button.setAttribute('aria-disabled', String(!this.#mayPress(action)));
    }
    this.element.hidden = offered.length === 0;
    if (focused === undefined || !(focused.hidden || this.element.hidden)) return;
    const next = [...this.#buttons.values()].find(({ hidden }) => !hidden);
    const target = this.element.hidden ? this.element.closest('section') : next;
    target?.focus({ preventScroll: true });
  }

  /** @param {PlanAction} action */
  #mayPress(action) {
    if (this.#asked.has(action) || this.#taken.has(action)) return false;
    // The pause has begun, but its question is not there yet: nothing could be answered.
    if (action === 'resume' && this.#wait === undefined) return false;
    return action === 'stop' || this.#asked.size === 0;
  }

  /** @param {PlanAction} action */
  async #press(action) {
    const plan = this.#plan;
    if (plan === undefined || !this.#mayPress(action)) return;
    const moment = this.#moment;
    this.#asked.add(action);
    this.#say('', false);
    this.#draw();
    try {
      const { text } = await this.#act(plan.id, action, openStep(plan)?.id);
      if (moment === this.#moment) {
        this.#taken.add(action);
        this.#say(text, false);
      }
    } catch (error) {
      this.#say(error instanceof Error ? error.message : String(error), true);
    } finally {
      this.#asked.delete(action);
      this.#draw();
    }
  }

  /**
   * @param {string} text
   * @param {boolean} refused
   */
  #say(text, refused) {
    if (this.#said.textContent !== text) this.#said.textContent = text;
    this.#said.classList.toggle('refused', refused);
  }
}
