/** Work that runs beside its caller: what fails is told, and whoever ends can wait for the rest. */

/** Holds only what has not ended. */
export class BackgroundWork {
  readonly #running = new Set<Promise<void>>();
  readonly #failed: (error: unknown, name: string) => void;

  /** `failed` is told of each error with the name of its work. */
  constructor(failed: (error: unknown, name: string) => void) {
    this.#failed = failed;
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

  /** What has not ended yet; none of it rejects. */
  get running(): Promise<void>[] {
    return [...this.#running];
  }
}
