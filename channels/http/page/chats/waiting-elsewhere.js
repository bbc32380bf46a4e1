/**
 * Decisions that wait, for a phone, where the list of chats is hidden: a number on the buttons that show the list, and a
 * line above the open chat when others wait.
 */
import { byId, h, icon } from '../dom.js';
import { say } from '../texts.js';

/** @typedef {import('../api.js').Approval} Approval */

/** The line and the numbers, as the inbox knows what waits. */
export class WaitingElsewhere {
  #titleOf;
  #line = byId('waiting-elsewhere', HTMLElement);
  #text = h('span', { class: 'waiting-text', dir: 'auto' });
  /** @type {Approval[]} */
  #waiting = [];
  #openKey = '';

  /** @param {{ titleOf: (key: string) => string, openInbox: () => void }} host */
  constructor({ titleOf, openInbox }) {
    this.#titleOf = titleOf;
    this.#line.append(h('button', { type: 'button', onclick: openInbox }, this.#text, icon('M9 6l6 6-6 6')));
  }

  /** @param {Approval[]} approvals in all chats */
  show(approvals) {
    this.#waiting = approvals;
    for (const button of document.querySelectorAll('.menu-button')) this.#label(button);
    this.redraw();
  }

  /**
   * What waits in the open chat is shown there.
   * @param {string} key
   */
  openChat(key) {
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

  /**
   * Adds the number to a button that shows the list of chats.
   * @template {Element} Button
   * @param {Button} button
   */
  labelled(button) {
    button.classList.add('menu-button');
    this.#label(button);
    return button;
  }

  /** @param {Element} button */
  #label(button) {
    const count = this.#waiting.length;
    const label = count === 0 ? say('page.sidebar.show') : say('page.sidebar.show_waiting', { count });
    button.setAttribute('aria-label', label);
    button.querySelector('.waiting-count')?.remove();
    if (count > 0) button.append(h('span', { class: 'waiting-count', 'aria-hidden': 'true' }, `${count}`));
  }

  /** @param {Approval[]} approvals */
  #textOf(approvals) {
    const count = approvals.length;
    const [session, ...others] = new Set(approvals.map((approval) => approval.session));
    if (session === undefined) return '';
    return others.length === 0
      ? say('page.inbox.needed_in', { count, name: this.#titleOf(session) })
      : say('page.inbox.needed_elsewhere', { count });
  }
}
