/** The line between two conversations of a chat: the model does not read what is above. */
import { h } from '../../dom.js';
import { dayAndClock, say } from '../../texts.js';
import { timeElement } from '../../times.js';

/** Among the turns of a list, at its place by number. */
export class ResetLine {
  /** The `seq` by which it was placed last. @type {number | undefined} */
  placedAt;

  /** @param {import('../../api.js').Reset} reset */
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
