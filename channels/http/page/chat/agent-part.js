/** A subagent on screen: its task and what it is at in one line, its steps folded behind it. */
import { h, icon } from '../dom.js';

/** @typedef {import('../../../../src/contracts/event.ts').AgentEvent} AgentEvent */

/** One subagent; its steps are an answer of their own. */
export class AgentPart {
  #steps;
  #doing = h('span', { class: 'agent-doing' });
  #state = h('span', { class: 'tool-state' }, 'working…');
  #task;
  /** What it does now, by tool call. @type {Map<string, string>} */
  #running = new Map();
  element;

  /**
   * @param {string} profile
   * @param {string} task
   * @param {import('./answer-parts.js').AnswerParts} steps
   */
  constructor(profile, task, steps) {
    this.#steps = steps;
    this.#task = task;
    this.#doing.textContent = task;
    this.element = h(
      'details',
      { class: 'agent running' },
      h(
        'summary',
        {},
        icon('M9 6l6 6-6 6'),
        h('span', { class: 'agent-name' }, profile),
        this.#doing,
        this.#state,
      ),
      h(
        'div',
        { class: 'agent-steps' },
        h('p', { class: 'tool-label' }, 'Task'),
        h('p', { dir: 'auto' }, task),
        steps.element,
      ),
    );
  }

  /** @param {AgentEvent} event */
  apply(event) {
    this.#steps.apply(event);
    if (event.type === 'tool_call') this.#running.set(event.toolCallId, event.name);
    if (event.type === 'tool_result') this.#running.delete(event.toolCallId);
    const tool = [...this.#running.values()].at(-1);
    this.#doing.textContent = tool === undefined ? this.#task : tool;
    this.#doing.classList.toggle('at-tool', tool !== undefined);
    if (event.type === 'subagent_completed') this.#end(event.completedNormally);
  }

  /** @param {boolean} well */
  #end(well) {
    this.#steps.end();
    this.#running.clear();
    this.#doing.textContent = this.#task;
    this.#doing.classList.remove('at-tool');
    this.#state.textContent = well ? 'done' : 'not finished';
    this.element.classList.replace('running', well ? 'done' : 'failed');
  }
}
