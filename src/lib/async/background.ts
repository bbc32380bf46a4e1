/** Work that runs in the background of its caller: failures are reported, and at shutdown the rest can be awaited. */

/** Holds only unfinished work. */
export class BackgroundWork {
  readonly #running = new Set<Promise<void>>();
  readonly #failed: (error: unknown, name: string) => void;

  /** `failed` is called with each error and the name of its work. */
  constructor(onFailure: (error: unknown, name: string) => void) {
    this.#failed = onFailure;
  }

  /** Lets work run on its own. Never throws. */
  run(name: string, work: Promise<void>): void {
    const task = work
      .catch((error: unknown) => this.#failed(error, name))
      .finally(() => {
        this.#running.delete(task);
      });
    this.#running.add(task);
  }

  /** How much work is unfinished. */
  get size(): number {
    return this.#running.size;
  }

  /** The unfinished work; none of it rejects. */
  get running(): Promise<void>[] {
    return [...this.#running];
  }
}
