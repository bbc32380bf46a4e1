/** Keeps the newest message in view while an answer grows, unless the reader has scrolled away from the end. */
import { byId } from '../dom.ts';

/** Within this distance of the end, the view follows a growing answer. */
const NEAR_END_PX = 120;
/** Within this distance of the beginning, earlier messages are loaded. */
const NEAR_BEGINNING_PX = 40;

/** The scroll position of the conversation. */
export class EndOfList {
  isAtEnd = true;
  /** Where the view was when it was last checked or moved. */
  #top = 0;
  #scroller = byId('scroller', HTMLElement);
  #atBeginning;

  /**
   * @param signal ends it
   * @param atBeginning called when the reader comes near the oldest message
   */
  constructor(signal: AbortSignal, atBeginning: () => void) {
    this.#atBeginning = atBeginning;
    this.#scroller.addEventListener('scroll', () => this.look(), { signal, passive: true });
    byId('to-bottom', HTMLElement).addEventListener('click', () => this.go(), { signal });
    // It is called between layout and paint: reading the height then costs nothing, once a frame.
    const sizes = new ResizeObserver(() => this.#keep());
    sizes.observe(this.#scroller);
    sizes.observe(byId('transcript', HTMLElement));
    signal.addEventListener('abort', () => sizes.disconnect(), { once: true });
  }

  /** Goes to the newest message, and follows it. */
  go() {
    this.#setAtEnd(true);
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
    this.#top = this.#scroller.scrollTop;
  }

  /** Stops following the newest message: another one is going to be shown. */
  leave() {
    this.#setAtEnd(false);
  }

  /** Goes to a turn, by its selector, once it is drawn, and marks it. Texts above it are drawn in the next frames, and move it. */
  goTo(selector: string) {
    this.leave();
    requestAnimationFrame(() => {
      const turn = document.querySelector<HTMLElement>(selector);
      if (turn !== null) this.#show(turn);
    });
  }

  #show(turn: HTMLElement) {
    for (const marked of document.querySelectorAll('.turn.found')) marked.classList.remove('found');
    turn.classList.add('found');
    turn.tabIndex = -1;
    turn.focus({ preventScroll: true });
    const show = () => {
      turn.scrollIntoView({ block: 'start' });
      this.#top = this.#scroller.scrollTop;
    };
    show();
    requestAnimationFrame(() => requestAnimationFrame(show));
  }

  /**
   * Stays at the end, if the reader was there and has not been taken elsewhere, such as by the browser's own search.
   */
  #keep() {
    if (this.#scroller.scrollTop < this.#top) this.look();
    if (this.isAtEnd) this.go();
  }

  #setAtEnd(isAtEnd: boolean) {
    this.isAtEnd = isAtEnd;
    this.#scroller.classList.toggle('at-end', isAtEnd);
    byId('to-bottom', HTMLElement).hidden = isAtEnd;
  }

  /** Runs `change`, which adds something above; what is read stays where it is. */
  keepPlace(change: () => void) {
    const fromEnd = this.#scroller.scrollHeight - this.#scroller.scrollTop;
    change();
    // Texts are drawn in the next frame; their height is known only then.
    requestAnimationFrame(() => (this.#scroller.scrollTop = this.#scroller.scrollHeight - fromEnd));
  }

  /**
   * Notes where the reader is. Only a reader who scrolled up leaves the end: the event of this page's own scrolling
   * comes with the next frame, when much more may follow below.
   */
  look() {
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    const isNear = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
    const stays = this.isAtEnd && scrollTop >= this.#top;
    this.#top = scrollTop;
    this.#setAtEnd(isNear || stays);
    if (scrollTop < NEAR_BEGINNING_PX) this.#atBeginning();
  }
}
