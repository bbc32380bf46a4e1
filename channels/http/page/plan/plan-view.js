/** A plan as a panel: goal, steps, corrections left, the current note, and buttons. */
import { h } from '../dom.ts';
import { PlanBar } from './plan-bar.js';
import { PlanButtons } from './plan-buttons.js';
import { PlanEditor } from './plan-editor.js';
import {
  advancePlan,
  correctionsLeft,
  FEW_CORRECTIONS,
  isSettledStep,
  MAX_CORRECTIONS,
  endedEarly,
  openStep,
} from '../../../../src/protocol/isomorphic/plan-reducer.js';
import { StepRows } from './plan-step.js';
import { kept, nearTime, say, sayParts } from '../texts.ts';
import { timeElement } from '../times.ts';

/** @typedef {import('../../../../src/protocol/event.ts').AgentEvent} AgentEvent */
/** @typedef {import('../../../../src/protocol/agent/plan.ts').Plan} Plan */
/** @typedef {import('../../../../src/protocol/agent/plan.ts').StepEdit} StepEdit */
/** @typedef {import('../api.ts').Approval} Approval */
/**
 * @typedef {object} PlanHost
 * @property {import('./plan-buttons.js').Act} act
 * @property {import('./plan-buttons.js').Start} start
 * @property {(planId: string, version: number, edits: StepEdit[]) => Promise<{ plan: Plan }>} change
 * @property {(planId: string) => Approval | undefined} approvalOf The approval that this plan waits for.
 */

/** The plan of one turn; `element` is hidden until there is one. Its elements are kept and updated. */
export class PlanView {
  #host;
  #mode = h('span', { class: 'plan-mode' });
  #state = h('span', { class: 'plan-state', role: 'status' });
  #count = h('span', { class: 'plan-count' });
  #goal = h('p', { class: 'plan-goal', dir: 'auto' });
  #progress = h('progress', { class: 'plan-progress', 'aria-label': say('page.plan.progress') });
  #rows = new StepRows();
  #note = h('p', { class: 'plan-note', role: 'status', dir: 'auto' });
  #until = h('p', { class: 'quiet' });
  #budget = h('p', { class: 'plan-budget' });
  #buttons;
  /** @type {PlanBar | undefined} */
  #bar;
  #editor;
  /** @type {import('../../../../src/protocol/isomorphic/plan-reducer.js').PlanEventView | undefined} */
  #view;
  element = h('section', {
    class: 'plan',
    role: 'group',
    'aria-label': say('page.plan'),
    tabindex: '-1',
    hidden: true,
  });
  /** Number of events that have changed it. */
  eventCount = 0;

  /** @param {PlanHost} host */
  constructor(host) {
    this.#host = host;
    this.#buttons = new PlanButtons(host.act, host.start);
    this.#editor = new PlanEditor(async (plan, edit) => {
      const result = await host.change(plan.id, plan.version ?? 1, [edit]);
      this.#edited(result.plan);
    });
  }

  /** The plan's id, once the plan is known. */
  get planId() {
    return this.#view?.plan.id;
  }

  /** Descriptions of the steps, to detect a todo list that repeats them. */
  get descriptions() {
    return this.#view?.plan.steps.map(({ description }) => description) ?? [];
  }

  /** @param {AgentEvent} event */
  apply(event) {
    const next = advancePlan(this.#view, event);
    if (next === this.#view || next === undefined) return;
    this.eventCount += 1;
    this.#show(next);
  }

  /**
   * Shows the stored plan, unless events have already shown a newer one.
   * @param {Plan} plan
   * @param {boolean} isNewest
   */
  set(plan, isNewest) {
    if (this.eventCount === 0 || isNewest) this.#show({ plan });
  }

  /**
   * Shows the plan as the page's own change left it, unless its event, or one of a later change, came before the answer.
   * @param {Plan} plan
   */
  #edited(plan) {
    if (this.#view === undefined || (plan.version ?? 1) <= (this.#view.plan.version ?? 1)) return;
    this.eventCount += 1;
    this.#show({ ...this.#view, plan });
  }

  /** Redraws the plan, which may wait for another approval now. */
  redraw() {
    if (this.#view !== undefined) this.#draw(this.#view);
  }

  /**
   * Shows the plan message until the plan itself is known.
   * @param {Element} text
   */
  setText(text) {
    if (this.#view !== undefined) return;
    this.element.replaceChildren(h('p', { class: 'plan-title' }, say('page.plan')), text);
    this.element.hidden = false;
  }

  /** @param {import('../../../../src/protocol/isomorphic/plan-reducer.js').PlanEventView} view */
  #show(view) {
    if (this.#view === undefined) this.#build();
    this.#view = view;
    this.#draw(view);
  }

  #build() {
    const title = h('span', { class: 'plan-title' }, say('page.plan'));
    this.element.replaceChildren(
      h('header', { class: 'plan-head' }, title, this.#mode, this.#state, this.#count),
      this.#goal,
      this.#progress,
      this.#rows.element,
      this.#editor.element,
      this.#note,
      this.#until,
      h('footer', { class: 'plan-foot' }, this.#budget, this.#buttons.element),
    );
    this.element.hidden = false;
    this.#bar = new PlanBar(this.#host, this.element);
    this.element.after(this.#bar.element);
  }

  /**
   * The approval that the shown plan waits for; the list of approvals may be out of date for a moment.
   * @param {Plan} plan
   */
  #approvalOf(plan) {
    const approval = this.#host.approvalOf(plan.id);
    if (approval?.plan?.wait === 'pause') return plan.state === 'paused' ? approval : undefined;
    const step = openStep(plan);
    const isNext =
      plan.state === 'running' && step?.id === approval?.plan?.stepId && step?.status === 'pending';
    return isNext ? approval : undefined;
  }

  /** @param {import('../../../../src/protocol/isomorphic/plan-reducer.js').PlanEventView} view */
  #draw({ plan, note, analysedStepId, recovering }) {
    const approval = this.#approvalOf(plan);
    const isWaiting = approval?.plan?.wait === 'step';
    this.element.className = `plan ${plan.mode} ${plan.state}${recovering ? ' recovering' : ''}${isWaiting ? ' asks' : ''}`;
    changeText(this.#mode, plan.mode === 'planner' ? '' : say(`page.plan.mode_${plan.mode}`));
    this.#mode.className = `plan-mode ${plan.mode}`;
    const state = isWaiting ? say('page.plan.waiting') : stateOf(plan);
    changeText(this.#state, state);
    const settledCount = plan.steps.filter(isSettledStep).length;
    changeText(this.#count, say('page.plan.count', { done: settledCount, all: plan.steps.length }));
    changeText(this.#goal, plan.goal);
    // A chat may have several plans: each has a name of its own.
    this.element.setAttribute('aria-label', `${say('page.plan')}: ${plan.goal}`);
    this.#progress.max = Math.max(1, plan.steps.length);
    this.#progress.value = settledCount;
    this.#rows.show(plan.steps, {
      analysed: analysedStepId,
      asked: isWaiting ? approval.plan?.stepId : undefined,
    });
    changeText(this.#note, plan.state === 'cancelled' ? reasonOf(plan) : (approval?.warning ?? kept(note)));
    const until =
      approval === undefined
        ? []
        : sayParts('page.plan.until', { time: timeElement(approval.expiresAt, nearTime) });
    changeText(this.#until, ...until);
    const corrections = correctionsLeft(plan);
    changeText(
      this.#budget,
      corrections === MAX_CORRECTIONS
        ? ''
        : say('page.plan.corrections', { left: corrections, most: MAX_CORRECTIONS }),
    );
    this.#budget.classList.toggle('few', corrections <= FEW_CORRECTIONS);
    this.#buttons.show(plan, approval);
    this.#bar?.show(plan, approval, state);
    this.#editor.show(plan);
  }
}

/** Why the plan was cancelled. @param {Plan} plan */
function reasonOf({ reason = '', why: cause }) {
  return cause === undefined ? reason : kept(cause);
}

/** @param {Plan} plan */
function stateOf(plan) {
  if (plan.state === 'stored')
    return plan.runs === undefined
      ? say('page.plan.stored')
      : say('page.plan.run_times', { count: plan.runs });
  return endedEarly(plan) ? say('page.plan.ended') : say(`page.plan.state_${plan.state}`);
}

/**
 * Changes a text only where it differs, so that screen readers do not repeat it.
 * @param {HTMLElement} element
 * @param {...(string | HTMLElement)} parts
 */
function changeText(element, ...parts) {
  const text = parts.map((part) => (typeof part === 'string' ? part : part.textContent)).join('');
  if (element.textContent !== text) element.replaceChildren(...parts);
}
