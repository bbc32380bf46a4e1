/** What a filter remembers between two characters of an answer. */
import type { ModelHabits } from '../learned.ts';
import type { FilteredOutput } from './filtered-output.ts';
import { type Place, START, TEXT } from './places.ts';

/** The longest text held back because it may be a tool call, in UTF-16 units; a longer one is text. */
export const MAX_HELD_CALL = 64 * 1024;
/** The longest run of blanks, marks or a header held back, in UTF-16 units; a longer one is text. */
export const MAX_HELD_MARKS = 1_024;

export class FilterState {
  readonly out: FilteredOutput;
  readonly habits: Pick<ModelHabits, 'startsInThought'>;
  place: Place = START;
  /** Backticks in a row just before, and the character before them. */
  ticks = 0;
  beforeTicks = '';
  /** The last character of the answer; empty at its beginning and after a mark. */
  previous = '';
  /** The character before the mark that is being read. */
  beforeMark = '';
  speaksOfMarkup = false;
  /** What ends the text of the answer, if its beginning was marked. */
  wrapperEnd = '';
  /** The model continued past the end of its own turn. */
  over = false;
  /** In pieces that are joined once. */
  #held: string[] = [];
  #heldChars = 0;

  constructor(out: FilteredOutput, habits: FilterState['habits']) {
    this.out = out;
    this.habits = habits;
  }

  get isHolding(): boolean {
    return this.#heldChars > 0;
  }

  /** Holds text back. More than `max` cannot be markup: all of it is text. */
  hold(text: string, max = Infinity): void {
    this.#held.push(text);
    this.#heldChars += text.length;
    if (this.#heldChars > max) this.giveUp();
  }

  /** Returns what was held and stops holding it. */
  release(): string {
    const held = this.#held.join('');
    this.#held = [];
    this.#heldChars = 0;
    return held;
  }

  /** What was held is text. */
  giveUp(): void {
    // Only an answer about markup has marks that mean nothing.
    this.speaksOfMarkup ||= this.place.at === 'calls';
    this.out.text(this.release());
    this.place = TEXT;
  }
}
