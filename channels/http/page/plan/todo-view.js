/** The agent's todo list. */
import { h } from '../dom.ts';
import { say } from '../texts.ts';

/** @typedef {Pick<import('../../../../src/protocol/store/notes.ts').Todo, 'text' | 'status'>} Todo */

/** @type {Record<Todo['status'], string>} */
const LABELS = {
  pending: say('page.step.pending'),
  in_progress: say('page.step.in_progress'),
  done: say('page.step.done'),
  failed: say('page.step.failed'),
  skipped: say('page.step.skipped'),
};

/** The list; `element` is hidden while it is empty or repeats the plan above it. */
export class TodoView {
  element = h('section', { class: 'todos', 'aria-label': say('page.todos'), hidden: true });

  /**
   * @param {Todo[]} items
   * @param {string[]} planned descriptions of the steps of the plan above
   */
  set(items, planned) {
    const same = items.length === planned.length && items.every(({ text }, n) => text === planned[n]);
    this.element.hidden = items.length === 0 || same;
    const doneCount = items.filter(({ status }) => status === 'done' || status === 'skipped').length;
    this.element.replaceChildren(
      h('p', { class: 'todos-title' }, say('page.todos.done', { done: doneCount, all: items.length })),
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
    h('span', { class: 'todo-text', dir: 'auto' }, text),
  );
}
