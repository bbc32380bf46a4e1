/** Whether a platform accepts early calls: tried with one call at first, and not again for a while once it refused some. */
import { AFTER_BURST_MS } from './place-limit.ts';

/**
 * This many places refused within `AFTER_BURST_MS` mean that the platform accepts no bursts at all; fewer refusals
 * concern only those places.
 */
export const REFUSED_PLACES = 2;

interface Kind {
  /** An early call was accepted: more may follow at once. */
  proven: boolean;
  /** Early calls in flight. */
  inFlight: number;
  /** The last places refused, with the time; at most `REFUSED_PLACES`. */
  refused: Map<string, number>;
}

/** There are few kinds of places: a channel has one for each bucket that it declares. */
export class BurstTrust {
  readonly #kinds = new Map<string, Kind>();

  /** True while places of this kind may be called early. */
  allowed(kind: string, now: number): boolean {
    const { proven, inFlight, refused } = this.#kind(kind);
    const recent = [...refused.values()].filter((at) => now - at < AFTER_BURST_MS);
    return recent.length < REFUSED_PLACES && (proven || inFlight === 0);
  }

  /** Records that an early call starts. */
  start(kind: string): void {
    this.#kind(kind).inFlight++;
  }

  /** Records that an early call is over; `taken`: the platform did not refuse it. */
  end(kind: string, taken: boolean): void {
    const known = this.#kind(kind);
    known.inFlight--;
    known.proven ||= taken;
  }

  /** Records that an early call was refused. */
  refuse(kind: string, key: string, now: number): void {
    const known = this.#kind(kind);
    known.inFlight--;
    known.proven = false;
    known.refused.delete(key);
    known.refused.set(key, now);
    const [oldest] = known.refused.keys();
    if (known.refused.size > REFUSED_PLACES && oldest !== undefined) known.refused.delete(oldest);
  }

  #kind(name: string): Kind {
    const known = this.#kinds.get(name);
    if (known !== undefined) return known;
    const made = { proven: false, inFlight: 0, refused: new Map<string, number>() };
    this.#kinds.set(name, made);
    return made;
  }
}
