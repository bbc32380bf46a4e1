/** The pending approvals of the open chat: a card with buttons for each. */
import { render } from 'preact';
import type { AgentEvent } from '../../../../../src/protocol/event.ts';
import type { Api, Approval } from '../../api.ts';
import { byId } from '../../dom.ts';
import { NewestAnswer } from '../../newest.ts';
import type * as Cards from './approval-card.tsx';

/** The cards, always as the gateway lists them: a reload or another device shows the same. */
export class ApprovalCards {
  readonly #api: Api;
  readonly #showError: (error: unknown) => void;
  readonly #showPlanApprovals: (approvals: Approval[]) => void;
  readonly #list = byId('approvals', HTMLElement);
  #key = '';
  /** The token may decide what is asked. */
  #mayDecide = false;
  readonly #newest = new NewestAnswer();

  /** `showPlanApprovals` receives the approvals of plans, which are shown in their panels. */
  constructor(
    api: Api,
    showError: (error: unknown) => void,
    showPlanApprovals: (approvals: Approval[]) => void,
  ) {
    this.#api = api;
    this.#showError = showError;
    this.#showPlanApprovals = showPlanApprovals;
  }

  /** Switches to another chat. */
  open(key: string): void {
    this.#key = key;
    render(null, this.#list);
    this.#list.hidden = true;
  }

  /** Reloads the list. */
  async refresh(): Promise<void> {
    const key = this.#key;
    const mayShow = this.#newest.begin();
    try {
      const { approvals, mayDecide } = await this.#api.approvals();
      const chatApprovals = approvals.filter(({ session }) => session === key);
      // The script of the cards is loaded with the first question.
      const cards = chatApprovals.length > 0 ? await import('./approval-card.tsx') : undefined;
      if (key !== this.#key || !mayShow()) return;
      this.#mayDecide = mayDecide;
      this.#show(
        chatApprovals.filter(({ plan }) => plan === null),
        cards,
      );
      this.#showPlanApprovals(chatApprovals.filter(({ plan }) => plan !== null));
    } catch (error) {
      this.#showError(error);
    }
  }

  apply({ type }: AgentEvent): void {
    if (['approval_needed', 'approval_decided', 'turn_ended'].includes(type)) void this.refresh();
  }

  #show(approvals: readonly Approval[], cards: typeof Cards | undefined): void {
    const finish = async (note?: string): Promise<void> => {
      if (note !== undefined) this.#showError(note);
      await this.refresh();
    };
    render(
      cards &&
        approvals.map((approval) => (
          <cards.ApprovalCard
            key={approval.id}
            api={this.#api}
            approval={approval}
            mayDecide={this.#mayDecide}
            finish={finish}
          />
        )),
      this.#list,
    );
    this.#list.hidden = approvals.length === 0;
  }
}
