/** A small cache with limits on age and size. */

/** Keeps at most `max` values for `ttlMs` each; the oldest goes first. `clockMs` is any clock in milliseconds. */
export class TtlCache<Value> {
  readonly #entries = new Map<string, { value: Value; until: number }>();
  readonly #ttlMs: number;
  readonly #max: number;
  readonly #clockMs: () => number;

  constructor(ttlMs: number, max: number, clockMs: () => number) {
    this.#ttlMs = ttlMs;
    this.#max = max;
    this.#clockMs = clockMs;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.until > this.#clockMs()) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, until: this.#clockMs() + this.#ttlMs });
    if (this.#entries.size <= this.#max) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      break;
    }
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** The values that are kept now, oldest first. */
  values(): Value[] {
    const now = this.#clockMs();
    return [...this.#entries.values()].filter(({ until }) => until > now).map(({ value }) => value);
  }

  get size(): number {
    return this.#entries.size;
  }
}
