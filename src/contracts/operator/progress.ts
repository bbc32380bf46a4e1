/** What a start is doing, for the person who watches it. */

/** Never throws. */
export interface StartProgress {
  /** A step begins: it is named once it has lasted a second. */
  step(text: string): void;
  /** Named at once: the step takes longer, or waits for something. */
  tell(text: string): void;
}
