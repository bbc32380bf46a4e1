/** A plan as a panel: goal, steps, what is left to mend them with, what is happening to it now, and what a person may do. */
import { h } from '../dom.js';
import { PlanButtons } from './plan-buttons.js';
import {
  advancePlan,
  correctionsLeft,
  FEW_CORRECTIONS,
  isSettledStep,
  MAX_CORRECTIONS,
  openStep,
} from '../../../../src/contracts/isomorphic/plan-reducer.js';
import { StepRows } from './plan-step.js';

/** @typedef {import('../../../../src/contracts/event.ts').AgentEvent} AgentEvent */
/** @typedef {import('../../../../src/contracts/plan.ts').Plan} Plan */
/** @typedef {import('../api.js').Approval} Approval */
/**
 * @typedef {object} PlanDesk
 * @property {import('./plan-buttons.js').Act} act
 * @property {(planId: string) => Approval | undefined} waitOf The question of that plan which waits for an answer.
 */

/** The plan of one turn; `element` is hidden until there is one. Its parts stay, and are changed where something is new. */
export class PlanView {
  #desk;
  #mode = h('span', { class: 'plan-mode' });
  #state = h('span', { class: 'plan-state', role: 'status' });
  #count = h('span', { class: 'plan-count' });
  #goal = h('p', { class: 'plan-goal', dir: 'auto' });
  #progress = h('progress', { class: 'plan-progress', 'aria-label': 'Steps done' });
  #rows = new StepRows();
  #note = h('p', { class: 'plan-note', role: 'status', dir: 'auto' });
  #until = h('p', { class: 'quiet' });
  #budget = h('p', { class: 'plan-budget' });
  #buttons;
  /** @type {import('../../../../src/contracts/isomorphic/plan-reducer.js').PlanEventView | undefined} */
  #sight;
  element = h('section', { class: 'plan', 'aria-label': 'Plan', tabindex: '-1', hidden: true });
  /** How many events told of it. */
  told = 0;

  /** @param {PlanDesk} desk */
  constructor(desk) {
    this.#desk = desk;
    this.#buttons = new PlanButtons(desk.act);
  }

  /** The plan's id, once the plan is known. */
  get planId() {
    return this.#sight?.plan.id;
  }

  /** What the steps say, to know a todo list that says the same. */
  get descriptions() {
    return this.#sight?.plan.steps.map(({ description }) => description) ?? [];
  }

  /** @param {AgentEvent} event */
  apply(event) {
    const next = advancePlan(this.#sight, event);
    if (next === this.#sight || next === undefined) return;
    this.told += 1;
    this.#show(next);
  }

  /**
   * The plan as it was stored a moment ago; what events told of a plan that still runs is newer.
   * @param {Plan} plan
   * @param {boolean} isNewest
   */
  set(plan, isNewest) {
    if (this.told === 0 || isNewest) this.#show({ plan });
  }

  /** What the plan waits for may be another thing now. */
  lookAgain() {
    if (this.#sight !== undefined) this.#draw(this.#sight);
  }

  /**
   * The plan as it was written when it was made; anything newer stays.
   * @param {Element} text
   */
  setText(text) {
    if (this.#sight !== undefined) return;
    this.element.replaceChildren(h('p', { class: 'plan-title' }, 'Plan'), text);
    this.element.hidden = false;
  }

  /** @param {import('../../../../src/contracts/isomorphic/plan-reducer.js').PlanEventView} sight */
  #show(sight) {
    if (this.#sight === undefined) this.#furnish();
    this.#sight = sight;
    this.#draw(sight);
  }

  #furnish() {
    const title = h('span', { class: 'plan-title' }, 'Plan');
    this.element.replaceChildren(
      h('header', { class: 'plan-head' }, title, this.#mode, this.#state, this.#count),
      this.#goal,
      this.#progress,
      this.#rows.element,
      this.#note,
      this.#until,
      h('footer', { class: 'plan-foot' }, this.#budget, this.#buttons.element),
    );
    this.element.hidden = false;
  }

  /**
   * The question that the plan, as it is shown, waits with: the list of questions may be a moment behind.
   * @param {Plan} plan
   */
  #waitOf(plan) {
    const wait = this.#desk.waitOf(plan.id);
    if (wait?.plan?.wait === 'pause') return plan.state === 'paused' ? wait : undefined;
    const step = openStep(plan);
    const isNext = plan.state === 'running' && step?.id === wait?.plan?.stepId && step?.status === 'pending';
    return isNext ? wait : undefined;
  }

  /** @param {import('../../../../src/contracts/isomorphic/plan-reducer.js').PlanEventView} sight */
  #draw({ plan, note = '', analysedStepId, recovering }) {
    const wait = this.#waitOf(plan);
    const asks = wait?.plan?.wait === 'step';
    this.element.className = `plan ${plan.mode} ${plan.state}${recovering ? ' recovering' : ''}${asks ? ' asks' : ''}`;
    say(this.#mode, plan.mode === 'planner' ? '' : plan.mode);
    this.#mode.className = `plan-mode ${plan.mode}`;
    say(this.#state, asks ? 'waits for you' : plan.state);
    const behind = plan.steps.filter(isSettledStep).length;
    say(this.#count, `${behind} of ${plan.steps.length}`);
    say(this.#goal, plan.goal);
    this.#progress.max = Math.max(1, plan.steps.length);
    this.#progress.value = behind;
    this.#rows.show(plan.steps, { analysed: analysedStepId, asked: asks ? wait.plan?.stepId : undefined });
    say(this.#note, plan.state === 'cancelled' ? (plan.reason ?? '') : (wait?.warning ?? note));
    say(
      this.#until,
      wait === undefined ? '' : `Without an answer by ${timeOf(wait.expiresAt)} the plan is given up.`,
    );
    const left = correctionsLeft(plan);
    say(this.#budget, left === MAX_CORRECTIONS ? '' : `Corrections left: ${left} of ${MAX_CORRECTIONS}`);
    this.#budget.classList.toggle('few', left <= FEW_CORRECTIONS);
    this.#buttons.show(plan, wait);
  }
}

/**
 * Changes a text only where it is another one: what is read aloud is not read again.
 * @param {HTMLElement} element
 * @param {string} text
 */
function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** @param {string} iso */
function timeOf(iso) {
  return new Date(iso).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
}
