/**
 * What waits for a decision in any chat: a button with the number, the questions in a dialog, and a notification.
 */
import { signal } from '@preact/signals';
import type { Approval, Api } from '../api.ts';
import { byId, h } from '../dom.ts';
import { NewestAnswer } from '../newest.ts';
import { planQuestion } from './plan-question.ts';
import { WaitingElsewhere } from './waiting-elsewhere.ts';
import { say } from '../texts.ts';

/** How many questions wait for a decision. */
export const waitingCount = signal(0);

/** Events of many chats at once are one request. */
const RELOAD_AFTER_MS = 250;

interface InboxHost {
  open: (key: string) => void;
  titleOf: (key: string) => string;
  showError: (error: unknown) => void;
}

/** The questions of all chats that this token sees. */
export class Inbox {
  #api;
  #host;
  #button = byId('open-inbox', HTMLButtonElement);
  #dialog = byId('inbox', HTMLDialogElement);
  #list = byId('inbox-list', HTMLElement);
  #elsewhere;
  #notify = byId('inbox-notify', HTMLButtonElement);
  /** Ids of the questions that were there before; undefined before the first answer. */
  #known: Set<string> | undefined;
  #waiting: Approval[] = [];
  #mayDecide = false;
  #isDue = false;
  #newest = new NewestAnswer();

  constructor(api: Api, host: InboxHost) {
    this.#api = api;
    this.#host = host;
    const openInbox = () => {
      this.#dialog.showModal();
      this.#draw();
    };
    this.#elsewhere = new WaitingElsewhere({ titleOf: host.titleOf, openInbox });
    this.#button.addEventListener('click', openInbox);
    this.#dialog.addEventListener('close', () => this.#draw());
    byId('close-inbox', HTMLElement).addEventListener('click', () => this.#dialog.close());
    this.#notify.addEventListener('click', () => void this.#allow());
    this.#showNotify();
  }

  /** The same questions where the list of chats, and with it the button, is hidden. */
  get elsewhere() {
    return this.#elsewhere;
  }

  /** @param type of an event of any chat */
  apply(type: string) {
    const isAbout = type === 'approval_needed' || type === 'approval_decided';
    const mayEnd =
      (this.#known?.size ?? 0) > 0 && ['turn_started', 'turn_ended', 'session_deleted'].includes(type);
    if (isAbout || mayEnd) this.refreshSoon();
  }

  /** Loads the questions again soon. */
  refreshSoon() {
    if (this.#isDue) return;
    this.#isDue = true;
    setTimeout(() => {
      this.#isDue = false;
      void this.refresh();
    }, RELOAD_AFTER_MS);
  }

  async refresh() {
    const mayShow = this.#newest.begin();
    try {
      const { approvals, mayDecide } = await this.#api.approvals();
      if (mayShow()) this.#show(approvals, mayDecide);
    } catch (error) {
      this.#host.showError(error);
    }
  }

  #show(approvals: Approval[], mayDecide: boolean) {
    const fresh = approvals.filter(({ id }) => this.#known?.has(id) === false);
    this.#known = new Set(approvals.map(({ id }) => id));
    const count = approvals.length;
    this.#button.hidden = count === 0;
    this.#button.textContent = say('page.inbox.count', { count });
    waitingCount.value = count;
    this.#elsewhere.show(approvals);
    this.#waiting = approvals;
    this.#mayDecide = mayDecide;
    if (count === 0) this.#dialog.close();
    this.#draw();
    for (const approval of fresh) this.#tell(approval);
  }

  /** Draws the questions while the dialog is open; a card that is known stays as it is. */
  #draw() {
    const approvals = this.#dialog.open ? this.#waiting : [];
    const rows = new Map([...this.#list.children].map((row) => [row.getAttribute('data-approval'), row]));
    this.#list.replaceChildren(...approvals.map((approval) => rows.get(approval.id) ?? this.#row(approval)));
  }

  #row(approval: Approval) {
    const go = () => {
      this.#dialog.close();
      this.#host.open(approval.session);
    };
    const name = this.#host.titleOf(approval.session);
    const head = h(
      'button',
      { type: 'button', class: 'text-button', dir: 'auto', onclick: go },
      say('page.inbox.in', { name }),
    );
    const card =
      approval.plan === null
        ? [this.#card(approval)]
        : planQuestion(this.#api, approval.plan, this.#mayDecide, (error) => void this.#decided(error));
    return h('div', { class: 'inbox-item', 'data-approval': approval.id }, head, ...card);
  }

  /** The place of a card, whose script is loaded with the first question. */
  #card(approval: Approval) {
    const place = h('div');
    import('../chat/approvals/approval-card.tsx').then(({ approvalCard }) => {
      place.append(approvalCard(this.#api, approval, this.#mayDecide, (note) => this.#decided(note)));
    }, this.#host.showError);
    return place;
  }

  async #decided(note?: unknown) {
    if (note !== undefined) this.#host.showError(note);
    await this.refresh();
  }

  #tell({ id, tool, session }: Approval) {
    if (!document.hidden || !('Notification' in window) || Notification.permission !== 'granted') return;
    const notification = new Notification(say('page.inbox.notice'), {
      body: say('page.inbox.notice_of', { tool, name: this.#host.titleOf(session) }),
      // A push about the same question takes its place.
      tag: `approval_needed:${id}`,
    });
    notification.addEventListener('click', () => {
      window.focus();
      this.#host.open(session);
    });
  }

  async #allow() {
    await Notification.requestPermission();
    this.#showNotify();
  }

  #showNotify() {
    this.#notify.hidden = !('Notification' in window) || Notification.permission !== 'default';
  }
}
