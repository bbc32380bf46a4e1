/** The message of a turn: its sender, its files and its text, also while it is being sent. */
import { ApiError } from '../../api.js';
import { isBannerShown } from '../../failures/reachability.js';
import { h } from '../../dom.js';
import { foldedText } from './long-text.js';
import { editField, pencil } from './turn-acts.js';
import { say } from '../../texts.js';
import { messageOf } from '../../failures/in-place.js';

/** @typedef {import('../file-views.js').ShownFile} ShownFile */
/** @typedef {import('../../api.js').Message} Message */

/**
 * A question as it is shown: a stored message, or what is known about one that was just sent.
 * @typedef {Pick<Message, 'seq' | 'content'> & Partial<Pick<Message, 'role' | 'turnId' | 'leftOut' | 'senderName'>> & { attachments?: readonly ShownFile[] }} ShownQuestion
 */

/** One message of a person or of the gateway, shown in `element`. */
export class QuestionPart {
  element = h('div', { class: 'asked' });
  #files;
  #owner;
  /** Files of the message, which are stored only once its turn has begun. @type {readonly ShownFile[]} */
  #attachments = [];

  /**
   * @param {import('../file-views.js').FileViews} files
   * @param {string} owner the name of its turn among the owners of files
   */
  constructor(files, owner) {
    this.#files = files;
    this.#owner = owner;
  }

  /**
   * Shows the stored message.
   * @param {ShownQuestion} message
   */
  set(message) {
    const { content, senderName, attachments = [] } = message;
    if (attachments.length > 0) this.#attachments = attachments;
    // A message is not redrawn while a person edits it.
    if (this.element.querySelector('.edit-question') !== null) return;
    this.element.replaceChildren(
      ...(senderName ? [h('p', { class: 'sender' }, senderName)] : []),
      ...this.#shownFiles(),
      ...messageText(content),
      ...(message.role === 'user' ? [pencil(() => this.#edit(message))] : []),
    );
    this.element.classList.remove('sending', 'unsent');
  }

  /** @param {ShownQuestion} message */
  #edit(message) {
    const { seq, content } = message;
    const files = this.#attachments.map(({ file }) => file);
    const close = () => {
      this.element.replaceChildren();
      this.set(message);
    };
    this.element.replaceChildren(editField({ seq, content, files }, close));
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
   * @param {unknown} error
   * @param {() => void} retry
   */
  setUnsent(error, retry) {
    this.element.classList.replace('sending', 'unsent');
    const button = h('button', { type: 'button', class: 'text-button', onclick: retry }, say('page.again'));
    this.element.append(h('p', { class: 'error-text' }, `${whyUnsent(error)} `, button));
  }

  #shownFiles() {
    return this.#files.list(this.#attachments, `${this.#owner} asked`);
  }
}

/**
 * That it was not sent, and why, where the banner about the connection does not say it.
 * @param {unknown} error
 */
function whyUnsent(error) {
  if (error instanceof ApiError && error.isUnreachable && isBannerShown())
    return say('page.question.not_sent');
  return say('page.question.unsent', { why: messageOf(error) });
}

/**
 * The text of a message; nothing for one that only brings files.
 * @param {string} content
 */
function messageText(content) {
  return content.trim() === '' ? [] : foldedText(content);
}
