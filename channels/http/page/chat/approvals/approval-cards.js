/** The pending approvals of the open chat: a card with buttons for each. */
import { approvalCard } from './approval-card.js';
import { byId } from '../../dom.ts';
import { NewestAnswer } from '../../newest.ts';

/** @typedef {import('../../../../../src/protocol/event.ts').AgentEvent} AgentEvent */
/** @typedef {import('../../api.ts').Approval} Approval */

/** The cards, always as the gateway lists them: a reload or another device shows the same. */
export class ApprovalCards {
  #api;
  #showError;
  #showPlanApprovals;
  #list = byId('approvals', HTMLElement);
  #key = '';
  /** The token may decide what is asked. */
  #mayDecide = false;
  #newest = new NewestAnswer();

  /**
   * @param {import('../../api.ts').Api} api
   * @param {(error: unknown) => void} showError
   * @param {(approvals: Approval[]) => void} showPlanApprovals receives the approvals of plans, which are shown in their panels
   */
  constructor(api, showError, showPlanApprovals) {
    this.#api = api;
    this.#showError = showError;
    this.#showPlanApprovals = showPlanApprovals;
  }

  /**
   * Switches to another chat.
   * @param {string} key
   */
  open(key) {
    this.#key = key;
    this.#show([]);
  }

  /** Reloads the list. */
  async refresh() {
    const key = this.#key;
    const mayShow = this.#newest.begin();
    try {
      const { approvals, mayDecide } = await this.#api.approvals();
      if (key !== this.#key || !mayShow()) return;
      this.#mayDecide = mayDecide;
      const chatApprovals = approvals.filter(({ session }) => session === key);
      this.#show(chatApprovals.filter(({ plan }) => plan === null));
      this.#showPlanApprovals(chatApprovals.filter(({ plan }) => plan !== null));
    } catch (error) {
      this.#showError(error);
    }
  }

  /** @param {string} [note] */
  async #decided(note) {
    if (note !== undefined) this.#showError(note);
    await this.refresh();
  }

  /** @param {AgentEvent} event */
  apply({ type }) {
    if (['approval_needed', 'approval_decided', 'turn_ended'].includes(type)) void this.refresh();
  }

  /** @param {Approval[]} approvals */
  #show(approvals) {
    const cards = new Map([...this.#list.children].map((card) => [card.getAttribute('data-approval'), card]));
    this.#list.replaceChildren(
      ...approvals.map(
        (approval) =>
          cards.get(approval.id) ??
          approvalCard(this.#api, approval, this.#mayDecide, (note) => this.#decided(note)),
      ),
    );
    this.#list.hidden = approvals.length === 0;
  }
}
