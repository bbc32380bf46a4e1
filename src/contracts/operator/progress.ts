/** What a start is doing, for the person watching it. */

/** Never throws. */
export interface StartProgress {
  /** A step starts: it is shown once it has lasted a second. */
  step(text: string): void;
  /** Shown at once: the step takes longer, or waits for something. */
  tell(text: string): void;
}
