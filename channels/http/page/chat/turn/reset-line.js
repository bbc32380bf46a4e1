/** The lines between the conversations of a chat: the model does not read what is above. */
import { h } from '../../dom.js';
import { dayAndClock, say } from '../../texts.js';
import { timeElement } from '../../times.js';

/** @typedef {import('../../api.js').Reset} Reset */

/** Among the turns of a list, at its place by number. */
export class ResetLine {
  /** The `seq` by which it was placed last. @type {number | undefined} */
  placedAt;

  /** @param {Reset} reset */
  constructor({ after, at }) {
    this.at = at;
    /** Commands after this message are placed at a half: those that were sent later are below the line. */
    this.seq = after + 0.25;
    this.element = h(
      'p',
      { class: 'reset-line' },
      h('span', {}, say('page.chat.reset'), ' · ', timeElement(at, dayAndClock)),
    );
  }
}

/** Those of one chat. */
export class ResetLines {
  #list;
  /** By the number of the message before. @type {Map<number, ResetLine>} */
  #shown = new Map();

  /** @param {{ place(line: ResetLine): void, remove(line: ResetLine): void }} list */
  constructor(list) {
    this.#list = list;
  }

  /**
   * Shows those that are not shown yet; a repeated `/new` moves its line.
   * @param {readonly Reset[]} resets
   */
  show(resets) {
    for (const reset of resets) {
      const knownLine = this.#shown.get(reset.after);
      if (knownLine?.at === reset.at) continue;
      if (knownLine !== undefined) this.#list.remove(knownLine);
      const line = new ResetLine(reset);
      this.#shown.set(reset.after, line);
      this.#list.place(line);
    }
  }
}
