/**
 * Work for one chat, a piece at a time: posted side by side, a later message could arrive before an earlier one.
 */

export class InOrder {
  /** The newest piece of work of each chat that has some. */
  #newest: Map<string, Promise<void>> = new Map();

  /**
   * Does the work after that which was given before for the same chat, however it ended. Rejects as `work` does.
   */
  async run(key: string, work: () => Promise<void>) {
    const before = this.#newest.get(key) ?? Promise.resolve();
    const task = before.then(work, work);
    this.#newest.set(key, task);
    try {
      await task;
    } finally {
      if (this.#newest.get(key) === task) this.#newest.delete(key);
    }
  }
}
