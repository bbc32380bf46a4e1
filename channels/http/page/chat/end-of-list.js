/** Keeps the newest message in view while an answer grows, unless the reader has scrolled away from the end. */
import { byId } from '../dom.js';

/** Within this distance of the end, the view follows a growing answer. */
const NEAR_END_PX = 120;
/** Within this distance of the beginning, earlier messages are loaded. */
const NEAR_BEGINNING_PX = 40;

/** The scroll position of the conversation. */
export class EndOfList {
  isAtEnd = true;
  #scroller = byId('scroller', HTMLElement);
  #atBeginning;

  /**
   * @param {AbortSignal} signal ends it
   * @param {() => void} atBeginning called when the reader comes near the oldest message
   */
  constructor(signal, atBeginning) {
    this.#atBeginning = atBeginning;
    this.#scroller.addEventListener('scroll', () => this.look(), { signal, passive: true });
    byId('to-bottom', HTMLElement).addEventListener('click', () => this.go(), { signal });
  }

  /** Goes to the newest message, and follows it. */
  go() {
    this.isAtEnd = true;
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  /** Stays at the end, if the reader was there. */
  keep() {
    if (this.isAtEnd) this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  /** Runs `change`, which adds something above; what is read stays where it is. @param {() => void} change */
  keepPlace(change) {
    const fromEnd = this.#scroller.scrollHeight - this.#scroller.scrollTop;
    change();
    // Texts are drawn in the next frame; their height is known only then.
    requestAnimationFrame(() => (this.#scroller.scrollTop = this.#scroller.scrollHeight - fromEnd));
  }

  /** Notes where the reader is. */
  look() {
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    this.isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
    byId('to-bottom', HTMLElement).hidden = this.isAtEnd;
    if (scrollTop < NEAR_BEGINNING_PX) this.#atBeginning();
  }
}
