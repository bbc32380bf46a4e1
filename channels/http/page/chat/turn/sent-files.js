/** The files of an answer: in its text where the text shows them, else below it. */
import { h } from '../../dom.js';

/** @typedef {import('../file-views.js').ShownFile} ShownFile */

/** The files of one answer; `element` shows those that its text does not. */
export class SentFiles {
  element = h('div', { class: 'sent-files' });
  #views;
  #owner;
  /** By the number of their message. @type {Map<number, readonly ShownFile[]>} */
  #sent = new Map();
  /** Names of the files in `element`. */
  #below = '';

  /**
   * @param {import('../file-views.js').FileViews} views
   * @param {string} owner the name of its turn among the owners of files
   */
  constructor(views, owner) {
    this.#views = views;
    this.#owner = owner;
  }

  /**
   * @param {number} seq
   * @param {readonly ShownFile[]} files
   */
  set(seq, files) {
    this.#sent.set(seq, files);
  }

  /**
   * Puts each file in its place.
   * @param {HTMLElement} answer
   */
  place(answer) {
    const filesBelow = [...this.#sent].map(([seq, files]) => {
      const owner = `${this.#owner} ${seq}`;
      return { owner, files: this.#views.place(files, owner, answer) };
    });
    const names = filesBelow
      .flatMap(({ owner, files }) => files.map(({ file }) => `${owner} ${file}`))
      .join('\n');
    // Sound stops when its element is moved.
    if (names === this.#below) return;
    this.#below = names;
    this.element.replaceChildren(...filesBelow.flatMap(({ owner, files }) => this.#views.list(files, owner)));
  }
}
