/** Checks whether Telegram answers, with a harmless call, before a call whose repetition users would see. */

export class Reachability {
  readonly #ask: () => Promise<unknown>;
  #answers = false;
  #asking: Promise<void> | undefined;

  /** `ask` makes a call that is safe to repeat. */
  constructor(ask: () => Promise<unknown>) {
    this.#ask = ask;
  }

  /** Telegram has answered a call. */
  noteAnswer(): void {
    this.#answers = true;
  }

  /** A call has failed in a way that other calls may, too. */
  noteFailure(): void {
    this.#answers = false;
  }

  /** Resolves once Telegram answers; concurrent callers share one request. Throws its error. */
  async ensure(): Promise<void> {
    if (this.#answers) return;
    this.#asking ??= this.#question();
    await this.#asking;
  }

  async #question(): Promise<void> {
    try {
      await this.#ask();
      this.#answers = true;
    } finally {
      this.#asking = undefined;
    }
  }
}
