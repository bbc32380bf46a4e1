/** What waits for a person in the open chat: a card for each question, with its buttons, until it is decided. */
import { ApiError } from './api.js';
import { byId, h } from './dom.js';

/** @typedef {import('./follow.js').GatewayEvent} GatewayEvent */
/** @typedef {{ id: string, session: string, tool: string, args: unknown, warning: string, expiresAt: string, plan: { wait: string } | null }} Approval */

/** What the buttons of a plan's waits are called. @type {Record<string, [string, string]>} */
const PLAN_WORDS = { step: ['Run', 'Skip'], pause: ['Resume', 'Stop'] };

/** One for the whole visit; the list is the gateway's, so a reload or another device shows the same. */
export class ApprovalCards {
  #api;
  #complain;
  #list = byId('approvals', HTMLElement);
  #key = '';

  /**
   * @param {import('./api.js').Api} api
   * @param {(error: unknown) => void} complain
   */
  constructor(api, complain) {
    this.#api = api;
    this.#complain = complain;
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
    try {
      const waiting = await this.#api.approvals();
      if (key === this.#key) this.#show(waiting.filter(({ session }) => session === key));
    } catch (error) {
      this.#complain(error);
    }
  }

  /** @param {GatewayEvent} event */
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
  #card({ id, tool, args, warning, expiresAt, plan }) {
    const [yes, no] = PLAN_WORDS[plan?.wait ?? ''] ?? ['Approve', 'Deny'];
    const fault = h('p', { class: 'error-text', role: 'alert' });
    const buttons = [
      h('button', { type: 'button', class: 'primary', onclick: () => void decide('approved') }, yes),
      h('button', { type: 'button', class: 'danger', onclick: () => void decide('denied') }, no),
    ];
    /** @param {'approved' | 'denied'} decision */
    const decide = async (decision) => {
      for (const button of buttons) button.disabled = true;
      try {
        await this.#api.decide(id, decision);
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
      h('p', { class: 'approval-title' }, plan ? 'Your turn: ' : 'May I do this? ', h('code', {}, tool)),
      ...(plan ? [] : [h('pre', { tabindex: '0' }, visible(JSON.stringify(args, null, 2)))]),
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
