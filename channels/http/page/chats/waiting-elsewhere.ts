/**
 * Decisions that wait, for a phone, where the list of chats is hidden: a number on the buttons that show the list, and a
 * line above the open chat when others wait.
 */
import type { Approval } from '../api.ts';
import { byId, h, icon } from '../dom.ts';
import { say } from '../texts.ts';

/** The line and the numbers, as the inbox knows what waits. */
export class WaitingElsewhere {
  #titleOf;
  #line = byId('waiting-elsewhere', HTMLElement);
  #text = h('span', { class: 'waiting-text', dir: 'auto' });
  #waiting: Approval[] = [];
  #openKey = '';

  constructor({ titleOf, openInbox }: { titleOf: (key: string) => string; openInbox: () => void }) {
    this.#titleOf = titleOf;
    this.#line.append(h('button', { type: 'button', onclick: openInbox }, this.#text, icon('M9 6l6 6-6 6')));
  }

  /** @param approvals in all chats */
  show(approvals: Approval[]) {
    this.#waiting = approvals;
    for (const button of document.querySelectorAll('.menu-button')) this.#label(button);
    this.redraw();
  }

  /** What waits in the open chat is shown there. */
  openChat(key: string) {
    this.#openKey = key;
    this.redraw();
  }

  /** Draws the line again: a chat may have another name. */
  redraw() {
    const otherApprovals = this.#waiting.filter(({ session }) => session !== this.#openKey);
    const text = this.#textOf(otherApprovals);
    this.#line.hidden = otherApprovals.length === 0;
    // A screen reader says the line again whenever its text is set.
    if (this.#text.textContent !== text) this.#text.textContent = text;
  }

  /** Adds the number to a button that shows the list of chats. */
  labelled<Button extends Element>(button: Button) {
    button.classList.add('menu-button');
    this.#label(button);
    return button;
  }

  #label(button: Element) {
    const count = this.#waiting.length;
    const label = count === 0 ? say('page.sidebar.show') : say('page.sidebar.show_waiting', { count });
    button.setAttribute('aria-label', label);
    button.querySelector('.waiting-count')?.remove();
    if (count > 0) button.append(h('span', { class: 'waiting-count', 'aria-hidden': 'true' }, `${count}`));
  }

  #textOf(approvals: Approval[]) {
    const count = approvals.length;
    const [session, ...others] = new Set(approvals.map((approval) => approval.session));
    if (session === undefined) return '';
    return others.length === 0
      ? say('page.inbox.needed_in', { count, name: this.#titleOf(session) })
      : say('page.inbox.needed_elsewhere', { count });
  }
}
