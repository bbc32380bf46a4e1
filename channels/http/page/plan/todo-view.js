/** The agent's todo list. */
import { h } from '../dom.js';

/** @typedef {Pick<import('../../../../src/contracts/store/notes.ts').Todo, 'text' | 'status'>} Todo */

/** @type {Record<Todo['status'], string>} */
const LABELS = {
  pending: 'to do',
  in_progress: 'in progress',
  done: 'done',
  failed: 'failed',
  skipped: 'skipped',
};

/** The list; `element` is hidden while it is empty or repeats the plan above it. */
export class TodoView {
  element = h('section', { class: 'todos', 'aria-label': 'To do', hidden: true });

  /**
   * @param {Todo[]} items
   * @param {string[]} planned descriptions of the steps of the plan above
   */
  set(items, planned) {
    const same = items.length === planned.length && items.every(({ text }, n) => text === planned[n]);
    this.element.hidden = items.length === 0 || same;
    const done = items.filter(({ status }) => status === 'done' || status === 'skipped').length;
    this.element.replaceChildren(
      h('p', { class: 'todos-title' }, `To do · ${done} of ${items.length}`),
      h('ul', {}, ...items.map(row)),
    );
  }
}

/** @param {Todo} item */
function row({ text, status }) {
  return h(
    'li',
    { class: `todo ${status}` },
    h('span', { class: 'todo-box', role: 'img', 'aria-label': LABELS[status] }),
    h('span', { class: 'todo-words', dir: 'auto' }, text),
  );
}
