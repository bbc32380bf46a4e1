/** Keeps the newest message in view while an answer grows, unless the reader has scrolled away from the end. */
import { signal } from '@preact/signals';

/** Within this distance of the end, the view follows a growing answer. */
const NEAR_END_PX = 120;
/** Within this distance of the beginning, earlier messages are loaded. */
const NEAR_BEGINNING_PX = 40;

/** The scroll position of the conversation. */
export class EndOfList {
  readonly isAtEnd = signal(true);
  /** Where the view was when it was last checked or moved. */
  #top = 0;
  /** Undefined until the conversation is drawn. */
  #scroller: HTMLElement | undefined;
  readonly #atBeginning: () => void;

  /** @param atBeginning called when the reader comes near the oldest message */
  constructor(atBeginning: () => void) {
    this.#atBeginning = atBeginning;
  }

  /** The conversation is drawn here, as `content`; returns the function that ends it. */
  attach(scroller: HTMLElement, content: HTMLElement): () => void {
    this.#scroller = scroller;
    const look = (): void => this.look();
    scroller.addEventListener('scroll', look, { passive: true });
    // It is called between layout and paint: reading the height then costs nothing, once a frame.
    const sizes = new ResizeObserver(() => this.#keep());
    sizes.observe(scroller);
    sizes.observe(content);
    this.look();
    return () => {
      this.#scroller = undefined;
      scroller.removeEventListener('scroll', look);
      sizes.disconnect();
    };
  }

  /** Goes to the newest message, and follows it. */
  go(): void {
    this.isAtEnd.value = true;
    if (this.#scroller === undefined) return;
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
    this.#top = this.#scroller.scrollTop;
  }

  /** Stops following the newest message: another one is going to be shown. */
  leave(): void {
    this.isAtEnd.value = false;
  }

  /** Goes to a turn, by its selector, once it is drawn, and marks it. Texts above it are drawn in the next frames, and move it. */
  goTo(selector: string): void {
    this.leave();
    requestAnimationFrame(() => {
      const turn = document.querySelector<HTMLElement>(selector);
      if (turn !== null) this.#show(turn);
    });
  }

  #show(turn: HTMLElement): void {
    for (const marked of document.querySelectorAll('.turn.found')) marked.classList.remove('found');
    turn.classList.add('found');
    turn.tabIndex = -1;
    turn.focus({ preventScroll: true });
    const show = (): void => {
      turn.scrollIntoView({ block: 'start' });
      this.#top = this.#scroller?.scrollTop ?? 0;
    };
    show();
    requestAnimationFrame(() => requestAnimationFrame(show));
  }

  /**
   * Stays at the end, if the reader was there and has not been taken elsewhere, such as by the browser's own search.
   */
  #keep(): void {
    if ((this.#scroller?.scrollTop ?? 0) < this.#top) this.look();
    if (this.isAtEnd.peek()) this.go();
  }

  /** Runs `change`, which adds something above; what is read stays where it is. */
  keepPlace(change: () => void): void {
    const scroller = this.#scroller;
    const fromEnd = scroller && scroller.scrollHeight - scroller.scrollTop;
    change();
    if (scroller === undefined || fromEnd === undefined) return;
    // Texts are drawn in the next frame; their height is known only then.
    requestAnimationFrame(() => (scroller.scrollTop = scroller.scrollHeight - fromEnd));
  }

  /**
   * Notes where the reader is. Only a reader who scrolled up leaves the end: the event of this page's own scrolling
   * comes with the next frame, when much more may follow below.
   */
  look(): void {
    if (this.#scroller === undefined) return;
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    const isNear = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
    const stays = this.isAtEnd.peek() && scrollTop >= this.#top;
    this.#top = scrollTop;
    this.isAtEnd.value = isNear || stays;
    if (scrollTop < NEAR_BEGINNING_PX) this.#atBeginning();
  }
}
