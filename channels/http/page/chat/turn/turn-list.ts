/**
 * The turns of a conversation in order, in groups that the browser lays out only near the view: a growing answer costs
 * the same below ten turns and below thousands. All of them stay in the document, so that search, selection and screen
 * readers find them.
 */
import { h } from '../../dom.ts';
import { ResetLine } from './reset-line.ts';
import { TurnView } from './turn-view.ts';

/** Turns in one group. */
export const GROUP_TURNS = 25;

type Placed = TurnView | ResetLine;

/** Turns and the lines between them by their `seq`, shown in `place`. */
export class TurnList {
  #place;
  /** In the order in which they are shown. */
  #placed: Placed[] = [];

  /** @param place holds the groups, after what it already holds */
  constructor(place: Element) {
    this.#place = place;
  }

  /** The turns that are placed, in order. */
  get turns() {
    return this.#placed.filter((placed) => placed instanceof TurnView);
  }

  /** The lines between the turns, in order. */
  get lines() {
    return this.#placed.filter((placed) => placed instanceof ResetLine);
  }

  /** The number of the last turn that has one, or of the last of these lines if it is below. */
  lastSeq(lines: readonly ResetLine[]) {
    const seqs = [...this.turns.map(({ seq }) => seq), ...lines.map(({ seq }) => seq)];
    return Math.max(0, ...seqs.filter((seq) => seq !== Infinity));
  }

  /** Puts a turn in its place by number; nothing happens when it is already there. */
  place(turn: Placed) {
    if (turn.placedAt === turn.seq) return;
    if (turn.placedAt !== undefined) this.remove(turn);
    turn.placedAt = turn.seq;
    // Nearly always that is the end, or the beginning while earlier ones are loaded.
    const index = this.#placed.findLastIndex(({ seq }) => seq <= turn.seq) + 1;
    this.#show(turn, this.#placed[index - 1], this.#placed[index]);
    this.#placed.splice(index, 0, turn);
  }

  remove(turn: Placed) {
    const group = turn.element.parentElement;
    turn.element.remove();
    turn.placedAt = undefined;
    if (group?.childElementCount === 0) group.remove();
    this.#placed = this.#placed.filter((other) => other !== turn);
  }

  #show(turn: Placed, before: Placed | undefined, after: Placed | undefined) {
    const ofBefore = before?.element.parentElement;
    const ofAfter = after?.element.parentElement;
    if (before !== undefined && (ofBefore === ofAfter || hasRoom(ofBefore))) {
      before.element.after(turn.element);
    } else if (after !== undefined && hasRoom(ofAfter)) {
      after.element.before(turn.element);
    } else {
      const group = newGroup(turn.element);
      if (ofBefore instanceof Element) ofBefore.after(group);
      else if (ofAfter instanceof Element) ofAfter.before(group);
      else this.#place.append(group);
    }
  }
}

function hasRoom(group: Element | null | undefined) {
  return group instanceof Element && group.childElementCount < GROUP_TURNS;
}

/**
 * A group that is laid out at first wherever it is: its height is known from then on, so that nothing moves when it comes
 * into view.
 */
function newGroup(turn: Element) {
  const group = h('div', { class: 'turns new' }, turn);
  // The texts are drawn in the first frame.
  requestAnimationFrame(() => requestAnimationFrame(() => group.classList.remove('new')));
  return group;
}
