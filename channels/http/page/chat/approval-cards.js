/** What waits for a person in the open chat: a card for each question, with its buttons, until it is decided. */
import { ApiError } from '../api.js';
import { byId, h } from '../dom.js';

/** @typedef {import('../../../../src/contracts/event.ts').AgentEvent} AgentEvent */
/** @typedef {import('../api.js').Approval} Approval */

/** One for the whole visit; the list is the gateway's, so a reload or another device shows the same. */
export class ApprovalCards {
  #api;
  #complain;
  #ofPlans;
  #list = byId('approvals', HTMLElement);
  #key = '';
  /** Which reading of the list is the newest: an older one may come later. */
  #readings = 0;

  /**
   * @param {import('../api.js').Api} api
   * @param {(error: unknown) => void} complain
   * @param {(waits: Approval[]) => void} ofPlans takes the questions of plans: their panels ask them
   */
  constructor(api, complain, ofPlans) {
    this.#api = api;
    this.#complain = complain;
    this.#ofPlans = ofPlans;
  }

  /**
   * Another chat is open.
   * @param {string} key
   */
  open(key) {
    this.#key = key;
    this.#show([]);
  }

  /** Reads anew what waits here. */
  async refresh() {
    const key = this.#key;
    const reading = (this.#readings += 1);
    try {
      const waiting = await this.#api.approvals();
      if (key !== this.#key || reading !== this.#readings) return;
      const here = waiting.filter(({ session }) => session === key);
      this.#show(here.filter(({ plan }) => plan === null));
      this.#ofPlans(here.filter(({ plan }) => plan !== null));
    } catch (error) {
      this.#complain(error);
    }
  }

  /** @param {AgentEvent} event */
  apply({ type }) {
    if (['approval_needed', 'approval_decided', 'turn_ended'].includes(type)) void this.refresh();
  }

  /** @param {Approval[]} waiting */
  #show(waiting) {
    const known = new Map([...this.#list.children].map((card) => [card.id, card]));
    this.#list.replaceChildren(
      ...waiting.map((approval) => known.get(`approval-${approval.id}`) ?? this.#card(approval)),
    );
    this.#list.hidden = waiting.length === 0;
  }

  /** @param {Approval} approval */
  #card({ id, tool, args, warning, expiresAt }) {
    const fault = h('p', { class: 'error-text', role: 'alert' });
    const buttons = [
      h('button', { type: 'button', class: 'primary', onclick: () => void decide('approved') }, 'Approve'),
      h('button', { type: 'button', class: 'danger', onclick: () => void decide('denied') }, 'Deny'),
    ];
    /** @param {import('../api.js').ApprovalDecision} decision */
    const decide = async (decision) => {
      for (const button of buttons) button.disabled = true;
      try {
        await this.#api.decideApproval(id, decision);
      } catch (error) {
        // Somebody else was faster, or it is too late: the list says how it stands.
        if (!(error instanceof ApiError && error.status < 500 && error.status !== 0)) {
          fault.textContent = error instanceof Error ? error.message : String(error);
          for (const button of buttons) button.disabled = false;
          return;
        }
      }
      await this.refresh();
    };
    const until = new Date(expiresAt).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
    return h(
      'section',
      { id: `approval-${id}`, class: 'approval', 'aria-label': `Question about ${tool}` },
      h('p', { class: 'approval-title' }, 'May I do this? ', h('code', {}, tool)),
      h('pre', { tabindex: '0' }, visible(JSON.stringify(args, null, 2))),
      h('p', {}, warning),
      h(
        'div',
        { class: 'approval-foot' },
        ...buttons,
        h('span', { class: 'quiet' }, `Without an answer by ${until} it is not done.`),
      ),
      fault,
    );
  }
}

/**
 * Characters that are not seen, or that turn the text around them, by their numbers: what is read is what runs.
 * @param {string} text
 */
function visible(text) {
  return text.replaceAll(
    /[^\P{C}\n]|[\p{Zl}\p{Zp}\u3164\u115f\u1160\u2800]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
