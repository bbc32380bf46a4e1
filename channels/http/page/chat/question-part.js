/** The message of a turn: its sender, its files and its text, also while it is being sent. */
import { h } from '../dom.js';

/** @typedef {import('./file-views.js').ShownFile} ShownFile */

/** One message of a person or of the gateway, shown in `element`. */
export class QuestionPart {
  element = h('div', { class: 'asked' });
  #files;
  #owner;
  /** Files of the message, which are stored only once its turn has begun. @type {readonly ShownFile[]} */
  #attachments = [];

  /**
   * @param {import('./file-views.js').FileViews} files
   * @param {string} owner the name of its turn among the owners of files
   */
  constructor(files, owner) {
    this.#files = files;
    this.#owner = owner;
  }

  /**
   * Shows the stored message.
   * @param {{ content: string, senderName?: string | null, attachments?: readonly ShownFile[] }} message
   */
  set({ content, senderName, attachments = [] }) {
    if (attachments.length > 0) this.#attachments = attachments;
    this.element.replaceChildren(
      ...(senderName ? [h('p', { class: 'sender' }, senderName)] : []),
      ...this.#shownFiles(),
      ...messageText(content),
    );
    this.element.classList.remove('sending', 'unsent');
  }

  /**
   * @param {string} content
   * @param {readonly ShownFile[]} attachments
   */
  setSending(content, attachments) {
    this.#attachments = attachments;
    this.element.replaceChildren(...this.#shownFiles(), ...messageText(content));
    this.element.classList.add('sending');
    this.element.classList.remove('unsent');
  }

  /**
   * @param {string} why
   * @param {() => void} retry
   */
  setUnsent(why, retry) {
    this.element.classList.replace('sending', 'unsent');
    const button = h('button', { type: 'button', class: 'text-button', onclick: retry }, 'Try again');
    this.element.append(h('p', { class: 'error-text' }, `Not sent: ${why} `, button));
  }

  #shownFiles() {
    return this.#files.list(this.#attachments, `${this.#owner} asked`);
  }
}

/**
 * The text of a message; nothing for one that only brings files.
 * @param {string} content
 */
function messageText(content) {
  return content.trim() === '' ? [] : [h('div', { class: 'message-text', dir: 'auto' }, content)];
}
