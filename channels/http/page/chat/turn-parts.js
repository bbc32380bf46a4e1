/** The pieces of an answer besides its text: thinking, tool calls, remarks. */
import { h, icon } from '../dom.js';

/** Arguments and results are shown up to here; the model saw what it saw. */
const MAX_SHOWN = 20_000;

/** What the model thinks before it speaks, or says of a work beside the answer (`title`): folded, for whoever wants to look. */
export class ThinkingPart {
  #about;
  #title;
  #text = document.createTextNode('');
  #began = Date.now();
  element;

  /** @param {string} [title] */
  constructor(title) {
    this.#about = title;
    this.#title = h('span', { dir: 'auto' }, title ?? 'Thinking…');
    this.element = h(
      'details',
      { class: 'thinking running' },
      h('summary', {}, icon('M9 6l6 6-6 6'), this.#title),
      h('div', { class: 'thinking-text', dir: 'auto' }, this.#text),
    );
  }

  /** @param {string} delta */
  append(delta) {
    this.#text.appendData(delta);
  }

  finish() {
    const seconds = Math.round((Date.now() - this.#began) / 1_000);
    if (this.#about === undefined)
      this.#title.textContent = seconds < 1 ? 'Thought for a moment' : `Thought for ${seconds} s`;
    else if (seconds >= 1) this.#title.textContent = `${this.#about} · ${seconds} s`;
    this.element.classList.remove('running');
  }
}

/** A tool call: waiting until its result is there, then folded with arguments and result inside. */
export class ToolPart {
  #state = h('span', { class: 'tool-state' }, 'running…');
  #body = h('div', { class: 'tool-body' });
  #name;
  #args;
  /** A subagent works for this call. */
  #taken = false;
  element;

  /**
   * @param {string} name
   * @param {Record<string, unknown>} args
   */
  constructor(name, args) {
    this.#name = name;
    this.#args = args;
    this.#body.append(
      h('p', { class: 'tool-label' }, 'Arguments'),
      h('pre', { tabindex: '0' }, clip(JSON.stringify(args, null, 2))),
    );
    const summary = h(
      'summary',
      {},
      icon('M9 6l6 6-6 6'),
      h('code', {}, name),
      h('span', { class: 'tool-args' }, preview(args)),
      this.#state,
    );
    this.element = h('div', { class: 'tool running' }, h('details', {}, summary, this.#body));
  }

  /** True until its result is there. */
  get waits() {
    return this.element.classList.contains('running');
  }

  /**
   * True while this call of that tool waits for somebody who does this.
   * @param {string} name
   * @param {string} task
   */
  awaits(name, task) {
    if (this.#taken || this.#name !== name || !this.waits) return false;
    return this.#args['task'] === undefined || this.#args['task'] === task;
  }

  /**
   * Shows who works for this call.
   * @param {Element} worker
   */
  adopt(worker) {
    this.#taken = true;
    this.element.append(worker);
  }

  /**
   * @param {string} result
   * @param {boolean} isError
   */
  finish(result, isError) {
    this.element.classList.remove('running');
    this.element.classList.add(isError ? 'failed' : 'done');
    this.#state.textContent = isError ? 'failed' : 'done';
    this.#body.append(
      h('p', { class: 'tool-label' }, isError ? 'Error' : 'Result'),
      h('pre', { tabindex: '0' }, clip(result)),
    );
  }

  /** The turn ended before a result came. */
  abandon() {
    if (!this.element.classList.contains('running')) return;
    this.element.classList.remove('running');
    this.#state.textContent = 'not finished';
  }
}

/**
 * A remark of the gateway in the middle of an answer.
 * @param {string} text
 */
export function note(text) {
  return h('p', { class: 'turn-note' }, text);
}

/** @param {Record<string, unknown>} args */
function preview(args) {
  const values = Object.values(args).filter((value) => typeof value !== 'object');
  return values.join(' ').slice(0, 80);
}

/** @param {string} text */
function clip(text) {
  return text.length <= MAX_SHOWN
    ? text
    : `${text.slice(0, MAX_SHOWN)}\n… ${text.length - MAX_SHOWN} more characters`;
}
