/** Approvals that the open chat waits for: a card for each, with its buttons, until it is decided. */
import { ApiError } from '../api.js';
import { byId, h } from '../dom.js';

/** @typedef {import('../../../../src/contracts/event.ts').AgentEvent} AgentEvent */
/** @typedef {import('../api.js').Approval} Approval */

/** The cards; one for the whole visit. The list is the gateway's, so a reload or another device shows the same. */
export class ApprovalCards {
  #api;
  #showError;
  #showPlanApprovals;
  #list = byId('approvals', HTMLElement);
  #key = '';
  /** Number of the newest reading of the list: an older one may arrive later. */
  #readings = 0;

  /**
   * @param {import('../api.js').Api} api
   * @param {(error: unknown) => void} showError
   * @param {(approvals: Approval[]) => void} showPlanApprovals gets those of plans: their panels show them
   */
  constructor(api, showError, showPlanApprovals) {
    this.#api = api;
    this.#showError = showError;
    this.#showPlanApprovals = showPlanApprovals;
  }

  /**
   * Another chat is open.
   * @param {string} key
   */
  open(key) {
    this.#key = key;
    this.#show([]);
  }

  /** Reads the list again. */
  async refresh() {
    const key = this.#key;
    const reading = (this.#readings += 1);
    try {
      const waiting = await this.#api.approvals();
      if (key !== this.#key || reading !== this.#readings) return;
      const here = waiting.filter(({ session }) => session === key);
      this.#show(here.filter(({ plan }) => plan === null));
      this.#showPlanApprovals(here.filter(({ plan }) => plan !== null));
    } catch (error) {
      this.#showError(error);
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
    const errorText = h('p', { class: 'error-text', role: 'alert' });
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
        // Somebody else was faster, or it is too late: the list shows the outcome.
        if (!(error instanceof ApiError && error.status < 500 && error.status !== 0)) {
          errorText.textContent = error instanceof Error ? error.message : String(error);
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
      h('pre', { tabindex: '0' }, withVisibleCharacters(JSON.stringify(args, null, 2))),
      h('p', {}, warning),
      h(
        'div',
        { class: 'approval-foot' },
        ...buttons,
        h('span', { class: 'quiet' }, `Without an answer by ${until} it is not done.`),
      ),
      errorText,
    );
  }
}

/**
 * The text with characters that are invisible or change its direction as numbers: what is read is what runs.
 * @param {string} text
 */
function withVisibleCharacters(text) {
  return text.replaceAll(
    /[^\P{C}\n]|[\p{Zl}\p{Zp}\u3164\u115f\u1160\u2800]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
