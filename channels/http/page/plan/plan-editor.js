/** The controls that change the steps of a plan before they begin: reword, move, drop, add. */
import { h } from '../dom.ts';
import { say } from '../texts.ts';
import { messageOf } from '../failures/in-place.ts';

/** @typedef {import('../../../../src/protocol/agent/plan.ts').Plan} Plan */
/** @typedef {import('../../../../src/protocol/agent/plan.ts').PlanStep} PlanStep */
/** @typedef {import('../../../../src/protocol/agent/plan.ts').StepEdit} StepEdit */
/**
 * @callback Change Changes the plan of this version; throws an error with a message for the user.
 * @param {Plan} plan
 * @param {StepEdit} edit
 * @returns {Promise<void>}
 */

/** Longest description of a step; the gateway refuses a longer one. */
const MAX_DESCRIPTION = 280;

/** One list of controls, closed until someone opens it. Each change is sent at once. */
export class PlanEditor {
  #change;
  #list = h('ol', { class: 'plan-edit-steps' });
  #text = h('input', {
    type: 'text',
    maxlength: MAX_DESCRIPTION,
    'aria-label': say('page.plan.new_step'),
    placeholder: say('page.plan.new_step'),
  });
  #said = h('p', { class: 'plan-said', role: 'status' });
  /** @type {Plan | undefined} */
  #plan;
  /** The steps that the rows were made for. */
  #shown = '';
  /** The change made last: resolved once it is made or refused. */
  #sent = Promise.resolve(true);
  element = h('details', { class: 'plan-editor', hidden: true });

  /** @param {Change} change */
  constructor(change) {
    this.#change = change;
    const add = h(
      'form',
      { class: 'plan-edit-add', onsubmit: (event) => void this.#add(event) },
      this.#text,
      h('button', { type: 'submit' }, say('page.plan.add_step')),
    );
    this.element.append(h('summary', {}, say('page.plan.edit')), this.#list, add, this.#said);
  }

  /**
   * Shows the steps that can be changed; hidden if there are none.
   * @param {Plan} plan
   */
  show(plan) {
    this.#plan = plan;
    const steps = editable(plan);
    this.element.hidden = !mayEdit(plan);
    const snapshot = JSON.stringify([plan.version, steps]);
    if (snapshot === this.#shown) return;
    this.#shown = snapshot;
    const focused = this.#list.contains(document.activeElement) ? document.activeElement?.id : undefined;
    const typed = typedIn(document.activeElement);
    this.#list.replaceChildren(
      ...steps.map((step, place) => this.#row(step, steps[place - 1], steps[place + 1])),
    );
    // The rows are new: the focus returns to the control that had it, or to the text of the new step.
    if (focused === undefined) return;
    const target = document.getElementById(focused);
    // A change that arrives while a person types does not take what they have typed.
    if (target instanceof HTMLInputElement && typed !== undefined) target.value = typed;
    if (target instanceof HTMLElement && !target.hasAttribute('disabled')) target.focus();
    else this.#text.focus();
  }

  /**
   * @param {PlanStep} step
   * @param {PlanStep | undefined} previous
   * @param {PlanStep | undefined} following
   */
  #row(step, previous, following) {
    const number = step.index + 1;
    const id = `edit-${this.#plan?.id}-${step.id}`;
    /** @param {string} label @param {string} symbol @param {StepEdit | undefined} edit */
    const button = (label, symbol, edit) =>
      h(
        'button',
        {
          type: 'button',
          id: `${id}-${symbol}`,
          'aria-label': label,
          disabled: edit === undefined,
          onclick: () => void (edit && this.#send(edit)),
        },
        symbol,
      );
    const text = h('input', {
      type: 'text',
      id: `${id}-text`,
      value: step.description,
      maxlength: MAX_DESCRIPTION,
      'aria-label': say('page.plan.step_text', { number }),
    });
    text.dataset['stored'] = step.description;
    text.addEventListener('change', () => {
      if (text.value.trim() !== step.description)
        void this.#send({ op: 'reword', step: step.id, description: text.value });
    });
    return h(
      'li',
      {},
      text,
      button(
        say('page.plan.up', { number }),
        '↑',
        previous && { op: 'move', step: step.id, before: previous.id },
      ),
      button(
        say('page.plan.down', { number }),
        '↓',
        following && { op: 'move', step: step.id, after: following.id },
      ),
      button(say('page.plan.drop', { number }), '✕', { op: 'drop', step: step.id }),
    );
  }

  /** @param {Event} event */
  async #add(event) {
    event.preventDefault();
    const description = this.#text.value.trim();
    if (description === '') return;
    if (await this.#send({ op: 'add', description })) this.#text.value = '';
  }

  /**
   * True when the change was made; otherwise the reason is shown. A change made while another is on its way follows it.
   * @param {StepEdit} edit
   * @returns {Promise<boolean>}
   */
  #send(edit) {
    const outcome = this.#sent.then(() => this.#make(edit));
    this.#sent = outcome;
    return outcome;
  }

  /**
   * @param {StepEdit} edit
   * @returns {Promise<boolean>} never rejected
   */
  async #make(edit) {
    if (this.#plan === undefined) return false;
    try {
      await this.#change(this.#plan, edit);
      this.#say(say('page.plan.changed'), false);
      return true;
    } catch (error) {
      this.#say(messageOf(error), true);
      return false;
    }
  }

  /**
   * @param {string} text
   * @param {boolean} isRefusal
   */
  #say(text, isRefusal) {
    this.#said.textContent = text;
    this.#said.classList.toggle('refused', isRefusal);
  }
}

/**
 * What a person has typed into this field and not sent yet; undefined for anything else.
 * @param {Element | null} field
 */
function typedIn(field) {
  if (!(field instanceof HTMLInputElement)) return undefined;
  return field.value === field.dataset['stored'] ? undefined : field.value;
}

/** @param {Plan} plan */
function mayEdit({ state, mode }) {
  return state === 'stored' || (state === 'paused' && mode !== 'planner');
}

/** @param {Plan} plan */
function editable(plan) {
  if (!mayEdit(plan)) return [];
  return plan.steps.filter(
    ({ status, attempts }) => plan.state === 'stored' || (status === 'pending' && attempts === 0),
  );
}
