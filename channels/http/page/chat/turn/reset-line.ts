/** The lines between the conversations of a chat: the model does not read what is above. */
import type { Reset } from '../../api.ts';
import { h } from '../../dom.ts';
import { dayAndClock, say } from '../../texts.ts';
import { timeElement } from '../../times.ts';

/** Among the turns of a list, at its place by number. */
export class ResetLine {
  /** The `seq` by which it was placed last. */
  placedAt: number | undefined;

  readonly at: string;
  /** Commands after this message are placed at a half: those that were sent later are below the line. */
  readonly seq: number;
  readonly element: HTMLElement;

  constructor({ after, at }: Reset) {
    this.at = at;
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
  /** By the number of the message before. */
  #shown: Map<number, ResetLine> = new Map();

  constructor(list: { place(line: ResetLine): void; remove(line: ResetLine): void }) {
    this.#list = list;
  }

  /** Shows those that are not shown yet; a repeated `/new` moves its line. */
  show(resets: readonly Reset[]) {
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
