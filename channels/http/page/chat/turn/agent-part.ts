/** A subagent in an answer: its task and current tool in one line, its steps folded below. */
import type { EventBody } from '../../../../../src/protocol/event.ts';
import { h, icon } from '../../dom.ts';
import { say } from '../../texts.ts';

/** The steps of a subagent: the parts of an answer, as for a turn. */
interface Steps {
  element: Element;
  apply: (event: EventBody) => unknown;
  finish: () => void;
}

/** One subagent, with its steps as a separate answer. */
export class AgentPart {
  #steps;
  #activity = h('span', { class: 'agent-doing' });
  #state = h('span', { class: 'tool-state' }, say('page.part.working'));
  #task;
  /** Names of the running tools, by call. */
  #running: Map<string, string> = new Map();
  element;

  constructor(profile: string, task: string, steps: Steps) {
    this.#steps = steps;
    this.#task = task;
    this.#activity.textContent = task;
    this.element = h(
      'details',
      { class: 'agent running' },
      h(
        'summary',
        {},
        icon('M9 6l6 6-6 6'),
        h('span', { class: 'agent-name' }, profile),
        this.#activity,
        this.#state,
      ),
      h(
        'div',
        { class: 'agent-steps' },
        h('p', { class: 'tool-label' }, say('page.part.task')),
        h('p', { dir: 'auto' }, task),
        steps.element,
      ),
    );
  }

  apply(event: EventBody) {
    this.#steps.apply(event);
    if (event.type === 'tool_call') this.#running.set(event.toolCallId, event.name);
    if (event.type === 'tool_result') this.#running.delete(event.toolCallId);
    const tool = [...this.#running.values()].at(-1);
    this.#activity.textContent = tool === undefined ? this.#task : tool;
    this.#activity.classList.toggle('at-tool', tool !== undefined);
    if (event.type === 'approval_needed') this.#setWaiting(true);
    // The end of any call: a person decided, or the gateway continued without one.
    if (event.type === 'approval_decided' || event.type === 'tool_result') this.#setWaiting(false);
    if (event.type === 'subagent_completed') this.#finish(event.completedNormally);
  }

  /** @param isWaiting A person is asked about one of its calls. */
  #setWaiting(isWaiting: boolean) {
    this.#state.textContent = isWaiting ? say('page.row.waiting') : say('page.part.working');
    this.element.classList.toggle('waiting', isWaiting);
  }

  #finish(isDone: boolean) {
    this.#steps.finish();
    this.#running.clear();
    this.element.classList.remove('waiting');
    this.#activity.textContent = this.#task;
    this.#activity.classList.remove('at-tool');
    this.#state.textContent = isDone ? say('page.part.done') : say('page.part.unfinished');
    this.element.classList.replace('running', isDone ? 'done' : 'failed');
  }
}
