/** The buttons under a plan: the actions that are possible now, and the gateway's reply to a press. */
import { h } from '../dom.ts';
import { isOpenPlan, openStep } from '../../../../src/protocol/isomorphic/plan-reducer.js';
import { say } from '../texts.ts';
import { messageOf } from '../failures/in-place.ts';

/** @typedef {import('../../../../src/protocol/agent/plan.ts').Plan} Plan */
/** @typedef {import('../api.ts').Approval} Approval */
/** @typedef {import('../api.ts').PlanAction} PlanAction */
/**
 * @callback Act Takes the action on the step that was shown; throws an error with a message for the user.
 * @param {string} planId
 * @param {PlanAction} action
 * @param {string | undefined} stepId
 * @returns {Promise<{ text: string }>}
 */

/** @typedef {import('../../../../src/protocol/agent/plan.ts').ExecutionMode} ExecutionMode */
/**
 * @callback Start Starts a run of a plan; throws an error with a message for the user.
 * @param {string} planId
 * @param {{ mode: ExecutionMode, version?: number }} asked
 * @returns {Promise<unknown>}
 */
/** An action on a running plan, or a run of a plan that is kept: as a whole, step by step, again. @typedef {PlanAction | 'start' | 'teach' | 'again' | 'cancel'} PanelAction */

/** The actions and their labels, in order. @type {[PanelAction, string][]} */
const BUTTONS = [
  ['start', say('page.plan.run')],
  ['teach', say('page.plan.teach')],
  ['again', say('page.plan.again')],
  ['cancel', say('page.plan.cancel')],
  ['run', say('page.plan.run')],
  ['resume', say('page.resume')],
  ['pause', say('page.pause')],
  ['skip', say('page.plan.skip')],
  ['stop', say('page.stop')],
];

/**
 * The possible actions on a plan: none when it is over, and in planner mode only to stop it.
 * @param {Plan} plan
 * @param {Approval | undefined} approval the approval that the plan waits for
 * @returns {PanelAction[]}
 */
function actionsFor(plan, approval) {
  if (plan.state === 'stored') return ['start', 'teach', 'cancel'];
  if (!isOpenPlan(plan) && plan.origin !== undefined) return ['again'];
  if (!isOpenPlan(plan)) return [];
  if (plan.mode === 'planner') return ['stop'];
  if (approval?.plan?.wait === 'step') return ['run', 'skip', 'stop'];
  return plan.state === 'paused' ? ['resume', 'stop'] : ['pause', 'skip', 'stop'];
}

/** The row of buttons. The elements stay the same while the plan is shown, so that the keyboard focus is kept. */
export class PlanButtons {
  #act;
  #start;
  #reply = h('p', { class: 'plan-said', role: 'status' });
  /** @type {Map<PanelAction, HTMLButtonElement>} */
  #buttons = new Map();
  /** Actions whose request is not answered yet. @type {Set<PanelAction>} */
  #pending = new Set();
  /** Actions that the gateway accepted: disabled until the plan moves on. @type {Set<PanelAction>} */
  #accepted = new Set();
  /** State of the plan that the reply belongs to; a new state clears it. */
  #situation = '';
  /** @type {Plan | undefined} */
  #plan;
  /** @type {Approval | undefined} */
  #approval;
  element;

  /**
   * @param {Act} act
   * @param {Start} start
   */
  constructor(act, start) {
    this.#act = act;
    this.#start = start;
    for (const [action, label] of BUTTONS) {
      const onclick = () => void this.#press(action);
      const button = h('button', { type: 'button', class: `plan-${action}`, hidden: true, onclick }, label);
      this.#buttons.set(action, button);
    }
    const row = h(
      'div',
      { class: 'plan-buttons', role: 'group', 'aria-label': say('page.plan.actions') },
      ...this.#buttons.values(),
    );
    this.element = h('div', { class: 'plan-controls', hidden: true }, this.#reply, row);
  }

  /**
   * Updates the row.
   * @param {Plan} plan
   * @param {Approval | undefined} approval
   */
  show(plan, approval) {
    const step = openStep(plan);
    const situation = JSON.stringify([
      plan.id,
      plan.state,
      step?.id,
      step?.status,
      step?.attempts,
      approval?.id,
      plan.version,
      plan.runs,
    ]);
    if (situation !== this.#situation) {
      this.#accepted.clear();
      this.#setReply('', false);
    }
    this.#situation = situation;
    this.#plan = plan;
    this.#approval = approval;
    this.#draw();
  }

  #draw() {
    if (this.#plan === undefined) return;
    const offered = actionsFor(this.#plan, this.#approval);
    const focused = [...this.#buttons.values()].find((button) => button === document.activeElement);
    for (const [action, button] of this.#buttons) {
      button.hidden = !offered.includes(action);
      // Not `disabled`, which would take the focus away from the pressed button.
      button.setAttribute('aria-disabled', String(!this.#mayPress(action)));
    }
    this.element.hidden = offered.length === 0;
    if (focused === undefined || !(focused.hidden || this.element.hidden)) return;
    const next = [...this.#buttons.values()].find(({ hidden }) => !hidden);
    const target = this.element.hidden ? this.element.closest('section') : next;
    target?.focus({ preventScroll: true });
  }

  /** @param {PanelAction} action */
  #mayPress(action) {
    if (this.#pending.has(action) || this.#accepted.has(action)) return false;
    // The plan is paused, but its approval has not arrived yet: there is nothing to decide.
    if (action === 'resume' && this.#approval === undefined) return false;
    return action === 'stop' || action === 'cancel' || this.#pending.size === 0;
  }

  /** @param {PanelAction} action */
  async #press(action) {
    const plan = this.#plan;
    if (plan === undefined || !this.#mayPress(action)) return;
    const situation = this.#situation;
    this.#pending.add(action);
    this.#setReply('', false);
    this.#draw();
    try {
      const { text } = await this.#send(plan, action);
      if (situation === this.#situation) {
        this.#accepted.add(action);
        this.#setReply(text, false);
      }
    } catch (error) {
      this.#setReply(messageOf(error), true);
    } finally {
      this.#pending.delete(action);
      this.#draw();
    }
  }

  /**
   * @param {Plan} plan
   * @param {PanelAction} action
   * @returns {Promise<{ text: string }>}
   */
  async #send(plan, action) {
    const { id, version = 1 } = plan;
    switch (action) {
      case 'start':
      case 'teach':
        await this.#start(id, { mode: action === 'start' ? 'agentic' : 'teacher', version });
        return { text: say('page.plan.runs') };
      case 'again':
        await this.#start(id, { mode: plan.mode });
        return { text: say('page.plan.runs_again') };
      default:
        return await this.#act(id, action === 'cancel' ? 'stop' : action, openStep(plan)?.id);
    }
  }

  /**
   * @param {string} text
   * @param {boolean} isRefusal
   */
  #setReply(text, isRefusal) {
    if (this.#reply.textContent !== text) this.#reply.textContent = text;
    this.#reply.classList.toggle('refused', isRefusal);
  }
}
