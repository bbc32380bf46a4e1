/** The files of an answer: in its text where the text shows them, else below it. */
import type { ShownFile, FileViews } from '../file-views.ts';
import { h } from '../../dom.ts';

/** The files of one answer; `element` shows those that its text does not. */
export class SentFiles {
  element = h('div', { class: 'sent-files' });
  #views;
  #owner;
  /** By the number of their message. */
  #sent: Map<number, readonly ShownFile[]> = new Map();
  /** Names of the files in `element`. */
  #below = '';

  /** @param owner the name of its turn among the owners of files */
  constructor(views: FileViews, owner: string) {
    this.#views = views;
    this.#owner = owner;
  }

  set(seq: number, files: readonly ShownFile[]) {
    this.#sent.set(seq, files);
  }

  /** Puts each file in its place. */
  place(answer: HTMLElement) {
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
