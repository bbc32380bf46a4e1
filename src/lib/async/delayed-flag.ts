/** Records a state only once it lasts: a short one costs no write. */
import type { Clock } from '../clock.ts';

export interface DelayedFlagOptions {
  clock: Clock;
  /** How long the state must last before it is written, in milliseconds; 0 = it is written at once. */
  afterMs: number;
  /** Writes whether the state holds. */
  write: (holds: boolean) => Promise<void>;
  /** Called when the start could not be written; the state then counts as if it had not held. Must not throw. */
  onFailed: (error: unknown) => void;
}

export class DelayedFlag {
  readonly #options: DelayedFlagOptions;
  #cancel: (() => void) | undefined;
  /** The write of the start; undefined while nothing of the state is written. */
  #written: Promise<void> | undefined;

  constructor(options: DelayedFlagOptions) {
    this.#options = options;
  }

  /** The state starts; calling it more than once is harmless. Never throws. */
  begin(): void {
    if (this.#cancel !== undefined) return;
    const { clock, afterMs, write, onFailed } = this.#options;
    const note = (): void => {
      this.#written ??= write(true).catch(onFailed);
    };
    if (afterMs > 0) this.#cancel = clock.after(afterMs, note);
    else note();
  }

  /** The state has ended; when this resolves, readers of the note can see that. Throws what `write` throws. */
  async end(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    const start = this.#written;
    if (start === undefined) return;
    await start;
    this.#written = undefined;
    await this.#options.write(false);
  }
}
