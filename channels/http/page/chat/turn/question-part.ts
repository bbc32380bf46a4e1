/** The message of a turn: its sender, its files and its text, also while it is being sent. */
import type { ShownFile, FileViews } from '../file-views.ts';
import { ApiError, type Message } from '../../api.ts';
import { h } from '../../dom.ts';
import { foldedText } from './long-text.ts';
import { editField, pencil } from './turn-acts.ts';
import { say } from '../../texts.ts';
import { messageOf } from '../../failures/in-place.ts';

/** A question as it is shown: a stored message, or what is known about one that was just sent. */
export type ShownQuestion = Pick<Message, 'seq' | 'content'> &
  Partial<Pick<Message, 'role' | 'turnId' | 'leftOut' | 'senderName'>> & {
    attachments?: readonly ShownFile[];
  };

/** One message of a person or of the gateway, shown in `element`. */
export class QuestionPart {
  element = h('div', { class: 'asked' });
  #files;
  #owner;
  /** Files of the message, which are stored only once its turn has begun. */
  #attachments: readonly ShownFile[] = [];

  /** @param owner the name of its turn among the owners of files */
  constructor(files: FileViews, owner: string) {
    this.#files = files;
    this.#owner = owner;
  }

  /** Shows the stored message. */
  set(message: ShownQuestion) {
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

  #edit(message: ShownQuestion) {
    const { seq, content } = message;
    const files = this.#attachments.map(({ file }) => file);
    const close = () => {
      this.element.replaceChildren();
      this.set(message);
    };
    this.element.replaceChildren(editField({ seq, content, files }, close));
  }

  setSending(content: string, attachments: readonly ShownFile[]) {
    this.#attachments = attachments;
    this.element.replaceChildren(...this.#shownFiles(), ...messageText(content));
    this.element.classList.add('sending');
    this.element.classList.remove('unsent');
  }

  setUnsent(error: unknown, retry: () => void) {
    this.element.classList.replace('sending', 'unsent');
    const button = h('button', { type: 'button', class: 'text-button', onclick: retry }, say('page.again'));
    this.element.append(h('p', { class: 'error-text' }, `${whyUnsent(error)} `, button));
  }

  #shownFiles() {
    return this.#files.list(this.#attachments, `${this.#owner} asked`);
  }
}

/** That it was not sent, and why; the banner says that there is no connection. */
function whyUnsent(error: unknown) {
  if (error instanceof ApiError && error.isUnreachable) return say('page.question.not_sent');
  return say('page.question.unsent', { why: messageOf(error) });
}

/** The text of a message; nothing for one that only brings files. */
function messageText(content: string) {
  return content.trim() === '' ? [] : foldedText(content);
}
