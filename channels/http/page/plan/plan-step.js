/** One step of a plan as a row: its status, description, executor, and why it was changed. */
import { h, icon } from '../dom.ts';
import { say } from '../texts.ts';

/** @typedef {import('../../../../src/protocol/agent/plan.ts').PlanStep} PlanStep */

/** The status for screen readers, and the path of its icon. @type {Record<import('../../../../src/protocol/agent/plan.ts').StepStatus, [string, string]>} */
const MARKS = {
  pending: [say('page.step.pending'), ''],
  running: [say('page.step.running'), ''],
  done: [say('page.step.done'), 'M6 12.5l4 4 8-9'],
  failed: [say('page.step.failed'), 'M7 7l10 10M17 7L7 17'],
  skipped: [say('page.step.skipped'), 'M6 8h8a4 4 0 0 1 0 8H8M11 13l-3 3 3 3'],
};
const ZAP = 'M13 3L5 14h6l-1 7 8-11h-6z';

/** The rows of one plan. An unchanged row keeps its element, so that its animation does not restart. */
export class StepRows {
  element = h('ol', { class: 'plan-steps' });
  /** Rows by their content. @type {Map<string, Element>} */
  #rows = new Map();

  /**
   * @param {readonly PlanStep[]} steps
   * @param {{ analysed?: string | undefined, asked?: string | undefined }} at the step the agent thinks about, and the one a
   *   person is asked about
   */
  show(steps, { analysed, asked: askedId }) {
    /** @type {Map<string, Element>} */
    const rows = new Map();
    for (const step of steps) {
      const special = step.id === analysed ? 'analysed' : step.id === askedId ? 'in-question' : '';
      const key = JSON.stringify([step, special]);
      rows.set(key, this.#rows.get(key) ?? stepRow(step, special));
    }
    this.#rows = rows;
    const elements = [...rows.values()];
    for (const row of this.element.querySelectorAll(':scope > li')) if (!elements.includes(row)) row.remove();
    for (const [place, row] of elements.entries()) {
      if (this.element.children[place] !== row)
        this.element.insertBefore(row, this.element.children[place] ?? null);
    }
  }
}

/**
 * @param {PlanStep} step
 * @param {'' | 'analysed' | 'in-question'} special
 */
function stepRow({ index, description, executor, status, attempts, revision }, special) {
  const [label, path] = MARKS[status];
  const mark = h('span', { class: 'step-mark', role: 'img', 'aria-label': label });
  if (special === 'analysed') mark.append(icon(ZAP));
  else if (path !== '') mark.append(icon(path));
  const by = executor.kind === 'tool' ? executor.tool : executor.kind === 'agent' ? executor.profileId : '';
  const meta = [
    ...(attempts > 1
      ? [h('span', { class: 'step-attempts' }, say('page.step.attempt', { number: attempts }))]
      : []),
    ...(by === '' ? [] : [h('span', { class: `step-by ${executor.kind}` }, by)]),
  ];
  return h(
    'li',
    {
      class: `step ${status} ${special}`,
      'aria-current': (status === 'running' || special !== '') && 'step',
    },
    mark,
    h('span', { class: 'step-text', dir: 'auto' }, `${index + 1}. ${description}`),
    ...(meta.length === 0 ? [] : [h('span', { class: 'step-meta' }, ...meta)]),
    ...(revision === undefined ? [] : [h('span', { class: 'step-revision', dir: 'auto' }, revision)]),
  );
}
