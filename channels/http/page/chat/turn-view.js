/** One turn on screen: the message and its answer, which grows by events and ends as the stored text. */
import { AnswerParts } from './answer-parts.js';
import { copyButton, h, shortTime } from '../dom.js';
import { LiveMarkdown } from '../markdown/view.js';
import { PlanView } from '../plan/plan-view.js';
import { TodoView } from '../plan/todo-view.js';

/** @typedef {import('../../../../src/contracts/event.ts').AgentEvent} AgentEvent */
/** @typedef {import('../api.js').Message} Message */
/** @typedef {import('../../../../src/contracts/event.ts').TurnEndReason} TurnEndReason */

/** Shown where a turn ended without a text. @type {Partial<Record<TurnEndReason, string>>} */
const ENDINGS = {
  stopped: 'Stopped.',
  interrupted: 'This answer was interrupted.',
};

/** A message and its answer; `element` goes into the conversation. */
export class TurnView {
  /** Place in the conversation: the first message's number; one not yet accepted comes last. */
  seq = Infinity;
  /** The number it was last placed by. @type {number | undefined} */
  placedAt;
  /** @type {'unknown' | 'waiting' | 'running' | 'ended'} */
  state = 'unknown';
  #onResize;
  #asked = h('div', { class: 'asked' });
  #plan;
  #todos = new TodoView();
  #answer;
  #status = h('p', { class: 'turn-status', hidden: true });
  #foot = h('div', { class: 'turn-foot', hidden: true });
  element;

  /**
   * @param {() => void} onResize called when the view may have become taller
   * @param {import('../plan/plan-view.js').PlanHost} planHost
   */
  constructor(onResize, planHost) {
    this.#onResize = onResize;
    this.#plan = new PlanView(planHost);
    this.#answer = new AnswerParts(onResize);
    this.element = h(
      'article',
      { class: 'turn' },
      this.#asked,
      this.#plan.element,
      this.#todos.element,
      this.#answer.element,
      this.#status,
      this.#foot,
    );
  }

  /** True while there is nothing of it to see; a text is drawn with the next frame. */
  get isBlank() {
    return this.text === '' && this.element.textContent.trim() === '';
  }

  /** All text of the answer so far. */
  get text() {
    return this.#answer.text;
  }

  /**
   * The person's message as it is stored.
   * @param {{ seq: number, content: string, senderName?: string | null }} message
   */
  setAsked({ seq, content, senderName }) {
    this.seq = Math.min(this.seq, seq);
    this.#asked.replaceChildren(
      ...(senderName ? [h('p', { class: 'sender' }, senderName)] : []),
      bubble(content),
    );
    this.#asked.classList.remove('sending', 'unsent');
  }

  /** @param {string} content */
  setSending(content) {
    this.#asked.replaceChildren(bubble(content));
    this.#asked.classList.add('sending');
    this.#asked.classList.remove('unsent');
  }

  /**
   * @param {string} why
   * @param {() => void} again
   */
  setUnsent(why, again) {
    this.#asked.classList.replace('sending', 'unsent');
    const retry = h('button', { type: 'button', class: 'text-button', onclick: again }, 'Try again');
    this.#asked.append(h('p', { class: 'error-text' }, `Not sent: ${why} `, retry));
  }

  /**
   * The plan the answer follows, as it was written.
   * @param {Message} message
   */
  setPlan(message) {
    this.seq = Math.min(this.seq, message.seq);
    const text = new LiveMarkdown(this.#onResize);
    text.set(message.content);
    this.#plan.setText(text.element);
  }

  /** The id of its plan, once that is known. */
  get planId() {
    return this.#plan.planId;
  }

  /** Number of events that changed its plan. */
  get planEventCount() {
    return this.#plan.eventCount;
  }

  /** Redraws its plan, which may wait for another approval now. */
  redrawPlan() {
    this.#plan.redraw();
    this.#onResize();
  }

  /**
   * The plan as the store has it; `isNewest` when events were missed.
   * @param {import('../../../../src/contracts/plan.ts').Plan} plan
   * @param {boolean} isNewest
   */
  setPlanState(plan, isNewest) {
    this.#plan.set(plan, isNewest || this.state === 'ended');
    this.#onResize();
  }

  /**
   * The answer as it is stored.
   * @param {Message} message
   */
  setAnswer(message) {
    this.seq = Math.min(this.seq, message.seq);
    this.#answer.setStored(message.content, message.isError);
    const copy = copyButton(() => message.content, 'Copy the answer');
    this.#foot.replaceChildren(
      h('time', { datetime: message.createdAt }, shortTime(message.createdAt)),
      copy,
    );
    this.#foot.hidden = false;
  }

  /**
   * Accepted, but others of the session are before it.
   * @param {number} before
   */
  showQueuePosition(before) {
    this.#setStatus(
      before === 1
        ? 'Waiting: one message is before this one.'
        : `Waiting: ${before} messages are before this one.`,
    );
  }

  /** The message has become part of the turn before it. */
  markJoined() {
    this.state = 'ended';
    this.#setStatus('Answered together with the message before.');
  }

  /** @param {AgentEvent} event */
  apply(event) {
    if (event.isSubagent === true || event.type.startsWith('subagent_')) this.#answer.applyNested(event);
    else this.#applyOwn(event);
    this.#onResize();
  }

  /**
   * A remark of the gateway under the answer so far.
   * @param {string} text
   */
  remark(text) {
    this.#answer.remark(text);
    this.#onResize();
  }

  /** @param {AgentEvent} event */
  #applyOwn(event) {
    const activity = this.#answer.apply(event);
    if (activity !== undefined) {
      this.#setStatus('', activity === 'idle');
      return;
    }
    this.#plan.apply(event);
    switch (event.type) {
      case 'turn_started':
        this.state = 'running';
        this.#setStatus('', true);
        break;
      case 'todo_changed':
        this.#todos.set(event.items, this.#plan.descriptions);
        break;
      case 'context_compressed':
        this.#answer.remark(compressed(event.before, event.after));
        break;
      case 'profile_switched':
        this.#answer.remark(`Now working as “${event.profileId}”.`);
        break;
      case 'notice':
        this.#answer.remark(event.text);
        break;
      case 'turn_ended':
        this.#finish(event.reason);
        break;
      default:
    }
  }

  /** @param {TurnEndReason} reason */
  #finish(reason) {
    this.state = 'ended';
    this.#setStatus('');
    this.#answer.finish();
    const ending = ENDINGS[reason];
    if (ending !== undefined && this.text === '') this.#answer.remark(ending);
  }

  /**
   * A line under the answer; with `dots`, three of them while nothing else moves.
   * @param {string} text
   * @param {boolean} [dots]
   */
  #setStatus(text, dots = false) {
    this.#status.replaceChildren(
      ...(dots
        ? [h('span', { class: 'dots', 'aria-label': 'Working on the answer' }, h('i'), h('i'), h('i'))]
        : [text]),
    );
    this.#status.hidden = !dots && text === '';
  }
}

/**
 * @param {number} before
 * @param {number} after
 */
function compressed(before, after) {
  return `Earlier messages were summarised: about ${before.toLocaleString()} tokens are ${after.toLocaleString()} now.`;
}

/** @param {string} content */
function bubble(content) {
  return h('div', { class: 'bubble', dir: 'auto' }, content);
}
