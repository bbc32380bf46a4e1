/** The parts of an answer besides its text: thinking, tool calls, notes. */
import type { EventBody, TurnEndReason } from '../../../../../src/protocol/event.ts';
import { h, icon } from '../../dom.ts';
import { drawMarkdown } from '../../markdown/view.ts';
import { number, say } from '../../texts.ts';
import { timeElement } from '../../times.ts';

/** Characters shown of arguments and results; the model may have read more. */
const MAX_SHOWN = 20_000;

/** The model's thinking, or the text of other work named by `title`, folded. */
export class ThinkingPart {
  #subject;
  #title;
  #text = document.createTextNode('');
  #startedAt = Date.now();
  element;

  constructor(title?: string) {
    this.#subject = title;
    this.#title = h('span', { dir: 'auto' }, title ?? say('page.part.thinking'));
    this.element = h(
      'details',
      { class: 'thinking running' },
      h('summary', {}, icon('M9 6l6 6-6 6'), this.#title),
      h('div', { class: 'thinking-text', dir: 'auto' }, this.#text),
    );
  }

  append(delta: string) {
    this.#text.appendData(delta);
  }

  /**
   * Ends it.
   * @param wasSeen its time is known, because it was followed from its beginning
   */
  finish(wasSeen: boolean) {
    const seconds = Math.round((Date.now() - this.#startedAt) / 1_000);
    if (this.#subject === undefined)
      this.#title.textContent = !wasSeen
        ? say('page.part.thought')
        : seconds < 1
          ? say('page.part.thought_moment')
          : say('page.part.thought_for', { count: seconds });
    else if (seconds >= 1) this.#title.textContent = `${this.#subject} · ${seconds} s`;
    this.element.classList.remove('running');
  }
}

/** A tool call, folded, with its arguments and, once it is done, its result. */
export class ToolPart {
  #state = h('span', { class: 'tool-state' }, say('page.part.running'));
  #decided = h('p', { class: 'tool-decided', hidden: true });
  #body = h('div', { class: 'tool-body' });
  #name;
  #args;
  /** True once a subagent works for this call. */
  #hasAgent = false;
  element;

  constructor(name: string, args: Record<string, unknown>) {
    this.#name = name;
    this.#args = args;
    this.#body.append(
      h('p', { class: 'tool-label' }, say('page.part.arguments')),
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
    this.element = h('div', { class: 'tool running' }, h('details', {}, summary, this.#body), this.#decided);
  }

  /** True until the result has come. */
  get isRunning() {
    return this.element.classList.contains('running');
  }

  /** True while this call of that tool waits for a subagent with this task. */
  isWaitingFor(name: string, task: string) {
    if (this.#hasAgent || this.#name !== name || !this.isRunning) return false;
    return this.#args['task'] === undefined || this.#args['task'] === task;
  }

  /** Shows the subagent that works for this call. */
  attach(agent: Element) {
    this.#hasAgent = true;
    this.element.append(agent);
  }

  finish(result: string, isError: boolean) {
    this.element.classList.remove('running', 'waiting');
    this.element.classList.add(isError ? 'failed' : 'done');
    this.#state.textContent = isError ? say('page.part.failed') : say('page.part.done');
    this.#body.append(
      h('p', { class: 'tool-label' }, isError ? say('page.part.error') : say('page.part.result')),
      h('pre', { tabindex: '0' }, clip(result)),
    );
  }

  /** Shows the progress of the call, in the words of its tool. */
  setProgress(text: string) {
    if (this.isRunning) this.#state.textContent = text;
  }

  /** Marks the call while a person is asked about it. */
  markWaiting() {
    if (!this.isRunning) return;
    this.#state.textContent = say('page.row.waiting');
    this.element.classList.add('waiting');
  }

  /** Shows who decided about the call, and when. */
  setDecision({
    decision,
    how: cause = 'person',
    by,
    decidedAt,
    reason,
  }: Extract<EventBody, { type: 'approval_decided' }>) {
    this.element.classList.remove('waiting');
    if (this.isRunning) this.#state.textContent = say('page.part.running');
    this.#decided.hidden = false;
    const at = decidedAt === undefined ? [] : [', ', timeElement(decidedAt)];
    const reasonText = reason === undefined ? '' : say('page.part.reason', { reason });
    this.#decided.replaceChildren(decidedBy(decision, cause, by), ...at, reasonText);
  }

  /** Marks the call when the turn ended before its result. */
  markUnfinished() {
    if (!this.element.classList.contains('running')) return;
    this.element.classList.remove('running', 'waiting');
    this.#state.textContent = say('page.part.unfinished');
  }
}

function decidedBy(decision: string, cause: 'person' | 'expiry' | 'stop', by?: string) {
  if (cause === 'expiry') return say('page.part.expired');
  if (cause === 'stop') return say('page.part.stopped');
  if (decision === 'approved')
    return by === undefined ? say('page.part.approved') : say('page.part.approved_by', { by });
  return by === undefined ? say('page.part.denied') : say('page.part.denied_by', { by });
}

/** What a summary of the context did, as a note; sizes in tokens. */
export function compressed(before: number, after: number) {
  return say('page.part.compressed', { before: number(before), after: number(after) });
}

/** A note of the gateway in an answer, in Markdown; each of its lines stands alone. */
export function note(text: string) {
  return h('div', { class: 'turn-note md' }, ...drawMarkdown(text));
}

/**
 * The arguments of a call in a line, in an order that is the same after a reload: the database sorts names by their length.
 */
function preview(args: Record<string, unknown>) {
  const plainArgs = Object.entries(args).filter(([, value]) => typeof value !== 'object');
  const inOrder = plainArgs.toSorted(
    ([one], [other]) =>
      Number(other === 'action') - Number(one === 'action') ||
      one.length - other.length ||
      (one < other ? -1 : 1),
  );
  return inOrder
    .map(([, value]) => value)
    .join(' ')
    .slice(0, 80);
}

function clip(text: string) {
  return text.length <= MAX_SHOWN
    ? text
    : `${text.slice(0, MAX_SHOWN)}\n${say('page.part.clipped', { count: text.length - MAX_SHOWN })}`;
}

/** Shown where a turn ended without a text. */
export const ENDINGS: Partial<Record<TurnEndReason, string>> = {
  stopped: say('page.part.ended_stopped'),
  interrupted: say('page.part.ended_interrupted'),
};

/** Moving dots, while an answer is being made. */
export function workingDots() {
  const label = { class: 'dots', role: 'img', 'aria-label': say('page.part.dots') };
  return h('span', label, h('i'), h('i'), h('i'));
}
