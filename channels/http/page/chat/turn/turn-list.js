/**
 * The turns of a conversation in order, in groups that the browser lays out only near the view: a growing answer costs
 * the same below ten turns and below thousands. All of them stay in the document, so that search, selection and screen
 * readers find them.
 */
import { h } from '../../dom.js';
import { ResetLine } from './reset-line.js';
import { TurnView } from './turn-view.js';

/** Turns in one group. */
export const GROUP_TURNS = 25;

/** @typedef {TurnView | ResetLine} Placed */

/** Turns and the lines between them by their `seq`, shown in `place`. */
export class TurnList {
  #place;
  /** In the order in which they are shown. @type {Placed[]} */
  #placed = [];

  /** @param {Element} place holds the groups, after what it already holds */
  constructor(place) {
    this.#place = place;
  }

  /** The turns that are placed, in order. @type {readonly TurnView[]} */
  get turns() {
    return this.#placed.filter((placed) => placed instanceof TurnView);
  }

  /** The lines between the turns, in order. @type {readonly ResetLine[]} */
  get lines() {
    return this.#placed.filter((placed) => placed instanceof ResetLine);
  }

  /**
   * The number of the last turn that has one, or of the last of these lines if it is below.
   * @param {readonly ResetLine[]} lines
   */
  lastSeq(lines) {
    const seqs = [...this.turns.map(({ seq }) => seq), ...lines.map(({ seq }) => seq)];
    return Math.max(0, ...seqs.filter((seq) => seq !== Infinity));
  }

  /**
   * Puts a turn in its place by number; nothing happens when it is already there.
   * @param {Placed} turn
   */
  place(turn) {
    if (turn.placedAt === turn.seq) return;
    if (turn.placedAt !== undefined) this.remove(turn);
    turn.placedAt = turn.seq;
    // Nearly always that is the end, or the beginning while earlier ones are loaded.
    const index = this.#placed.findLastIndex(({ seq }) => seq <= turn.seq) + 1;
    this.#show(turn, this.#placed[index - 1], this.#placed[index]);
    this.#placed.splice(index, 0, turn);
  }

  /** @param {Placed} turn */
  remove(turn) {
    const group = turn.element.parentElement;
    turn.element.remove();
    turn.placedAt = undefined;
    if (group?.childElementCount === 0) group.remove();
    this.#placed = this.#placed.filter((other) => other !== turn);
  }

  /**
   * @param {Placed} turn
   * @param {Placed | undefined} before
   * @param {Placed | undefined} after
   */
  #show(turn, before, after) {
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

/** @param {Element | null | undefined} group */
function hasRoom(group) {
  return group instanceof Element && group.childElementCount < GROUP_TURNS;
}

/**
 * A group that is laid out at first wherever it is: its height is known from then on, so that nothing moves when it comes
 * into view.
 * @param {Element} turn
 */
function newGroup(turn) {
  const group = h('div', { class: 'turns new' }, turn);
  // The texts are drawn in the first frame.
  requestAnimationFrame(() => requestAnimationFrame(() => group.classList.remove('new')));
  return group;
}
