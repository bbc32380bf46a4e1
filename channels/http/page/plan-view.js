/** A plan as a card: goal, steps with how they stand and who carries them out, and what is happening to it now. */
import { h, icon } from './dom.js';
import { advancePlan } from './plan-state.js';

/** @typedef {import('./follow.js').GatewayEvent} GatewayEvent */
/** @typedef {import('./plan-state.js').Plan} Plan */
/** @typedef {import('./plan-state.js').Step} Step */

/** Said to those who listen, drawn for those who look. @type {Record<import('./plan-state.js').StepStatus, [string, string]>} */
const MARKS = {
  pending: ['to do', ''],
  running: ['running', ''],
  done: ['done', 'M6 12.5l4 4 8-9'],
  failed: ['failed', 'M7 7l10 10M17 7L7 17'],
  skipped: ['skipped', 'M6 8h8a4 4 0 0 1 0 8H8M11 13l-3 3 3 3'],
};
const ZAP = 'M13 3L5 14h6l-1 7 8-11h-6z';
/** @type {Record<string, string>} */
const STATES = { paused: 'paused', completed: 'completed', cancelled: 'cancelled' };

/** The plan of one turn; `element` is empty until there is one. */
export class PlanView {
  element = h('section', { class: 'plan', 'aria-label': 'Plan', hidden: true });
  /** @type {import('./plan-state.js').PlanSight | undefined} */
  #sight;
  /** Events told of it. */
  #told = false;

  /** What the steps say, to know a todo list that says the same. */
  get descriptions() {
    return this.#sight?.plan.steps.map(({ description }) => description) ?? [];
  }

  /** @param {GatewayEvent} event */
  apply(event) {
    const next = advancePlan(this.#sight, event);
    if (next === this.#sight || next === undefined) return;
    this.#sight = next;
    this.#told = true;
    this.#draw(next);
  }

  /**
   * The plan as it was stored a moment ago; what events told of a plan that still runs is newer.
   * @param {Plan} plan
   * @param {boolean} isNewest
   */
  set(plan, isNewest) {
    if (this.#told && !isNewest) return;
    this.#sight = { plan, note: '', recovering: false };
    this.#draw(this.#sight);
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

  /** @param {import('./plan-state.js').PlanSight} sight */
  #draw({ plan, note, analysed, recovering }) {
    const over = plan.steps.filter(({ status }) => status === 'done' || status === 'skipped').length;
    const state = STATES[plan.state] ?? (plan.mode === 'planner' ? '' : plan.mode);
    this.element.className = `plan ${plan.state}${recovering ? ' recovering' : ''}`;
    this.element.replaceChildren(
      h(
        'header',
        { class: 'plan-head' },
        h('span', { class: 'plan-title' }, 'Plan'),
        ...(state === '' ? [] : [h('span', { class: `plan-state ${state}` }, state)]),
        h('span', { class: 'plan-count' }, `${over} of ${plan.steps.length}`),
      ),
      h('p', { class: 'plan-goal', dir: 'auto' }, plan.goal),
      progress(over, plan.steps.length),
      h('ol', { class: 'plan-steps' }, ...plan.steps.map((step) => stepRow(step, step.id === analysed))),
      ...(note === '' ? [] : [h('p', { class: 'plan-note', role: 'status' }, note)]),
    );
    this.element.hidden = false;
  }
}

/**
 * @param {number} over
 * @param {number} all
 */
function progress(over, all) {
  return h('progress', {
    class: 'plan-progress',
    max: Math.max(1, all),
    value: over,
    'aria-label': 'Steps done',
  });
}

/**
 * @param {Step} step
 * @param {boolean} analysed
 */
function stepRow({ index, description, executor, status, attempts }, analysed) {
  const [word, path] = MARKS[status];
  const mark = h('span', { class: 'step-mark', role: 'img', 'aria-label': word });
  if (analysed) mark.append(icon(ZAP));
  else if (path !== '') mark.append(icon(path));
  const by = executor.kind === 'tool' ? executor.tool : executor.kind === 'agent' ? executor.profileId : '';
  return h(
    'li',
    { class: `step ${status}${analysed ? ' analysed' : ''}` },
    mark,
    h('span', { class: 'step-words', dir: 'auto' }, `${index + 1}. ${description}`),
    ...(attempts > 1 ? [h('span', { class: 'step-attempts' }, `attempt ${attempts}`)] : []),
    ...(by === '' ? [] : [h('span', { class: `step-by ${executor.kind}` }, by)]),
  );
}
