/** A running plan in one line, with its buttons: in view while the panel itself has scrolled away. */
import { h } from '../dom.ts';
import { isOpenPlan, openStep } from '../../../../src/protocol/isomorphic/plan-reducer.js';
import { PlanButtons } from './plan-buttons.js';
import { say } from '../texts.ts';

/** @typedef {import('../../../../src/protocol/agent/plan.ts').Plan} Plan */

/** The line of one plan; `element` follows its panel and takes up no height. */
export class PlanBar {
  #state = h('span', { class: 'plan-state' });
  #step = h('span', { class: 'plan-now', dir: 'auto' });
  #buttons;
  #line;
  element;
  /** The panel is above the view. */
  #isPast = false;
  #isOpen = false;

  /**
   * @param {{ act: import('./plan-buttons.js').Act, start: import('./plan-buttons.js').Start }} host
   * @param {Element} panel
   */
  constructor(host, panel) {
    this.#buttons = new PlanButtons(host.act, host.start);
    this.#line = h(
      'section',
      { class: 'plan-line', 'aria-label': say('page.plan.now'), tabindex: '-1', hidden: true },
      this.#state,
      this.#step,
      this.#buttons.element,
    );
    this.element = h('div', { class: 'plan-bar' }, this.#line);
    new IntersectionObserver(
      ([entry]) => {
        if (entry === undefined) return;
        const { isIntersecting, boundingClientRect, rootBounds } = entry;
        this.#isPast = !isIntersecting && boundingClientRect.bottom <= (rootBounds?.top ?? 0);
        this.#place();
      },
      { root: panel.closest('.scroller') },
    ).observe(panel);
  }

  /**
   * @param {Plan} plan
   * @param {import('../api.ts').Approval | undefined} approval the approval that the plan waits for
   * @param {string} state in words
   */
  show(plan, approval, state) {
    const step = openStep(plan);
    const nth = plan.steps.findIndex(({ id }) => id === step?.id) + 1;
    this.#line.className = `plan-line ${plan.state}`;
    this.#state.textContent = state;
    this.#step.textContent =
      step === undefined
        ? plan.goal
        : say('page.plan.at', { nth, all: plan.steps.length, step: step.description });
    this.#buttons.show(plan, approval);
    this.#isOpen = isOpenPlan(plan) && plan.state !== 'stored';
    this.#place();
  }

  #place() {
    this.#line.hidden = !this.#isPast || !this.#isOpen;
  }
}
