/** Requests without a token, ticket or signature so far, for whose bytes the gateway waits. */
import { MAX_STRANGERS, MIN_STRANGER_BYTES_PER_S, STRANGER_BODY_MS } from '../config.ts';
import { HttpError } from '../errors.ts';

const SECOND_MS = 1_000;

/** A few for each address: past its limit the oldest is given up, so that one that arrives whole is answered. */
export class Strangers {
  /** By address, oldest first. */
  readonly #waiting = new Map<string, Set<(error: HttpError) => void>>();

  /** Waits for a request of this address until the returned function is called; `refuse` gives it up. */
  wait(address: string, refuse: (error: HttpError) => void): () => void {
    const waiting = this.#waiting.get(address) ?? new Set();
    this.#waiting.set(address, waiting);
    // A function of its own for each, so that no two are one entry.
    const entry = (error: HttpError): void => refuse(error);
    waiting.add(entry);
    const [oldest] = waiting;
    if (waiting.size > MAX_STRANGERS && oldest !== undefined) {
      waiting.delete(oldest);
      oldest(tooMany());
    }
    return () => {
      waiting.delete(entry);
      if (waiting.size === 0 && this.#waiting.get(address) === waiting) this.#waiting.delete(address);
    };
  }

  /** As `wait`, for a body, which must arrive in time and steadily; `size` tells how much of it has. */
  waitForBody(address: string, size: () => number, refuse: (error: HttpError) => void): () => void {
    const end = this.wait(address, refuse);
    let seconds = 0;
    const timer = setInterval(() => {
      seconds += 1;
      const isLate = seconds * SECOND_MS >= STRANGER_BODY_MS;
      // The first second is for the network's own repeats.
      if (isLate || size() < (seconds - 1) * MIN_STRANGER_BYTES_PER_S) refuse(tooSlow());
    }, SECOND_MS);
    return () => {
      clearInterval(timer);
      end();
    };
  }
}

/** The error for a request that has not arrived in the time it has. */
export function tooSlow(): HttpError {
  return new HttpError(408, 'request_timeout', 'The request took too long to arrive.');
}

function tooMany(): HttpError {
  const text = `More than ${MAX_STRANGERS} requests without a token were arriving from this address; try again soon.`;
  return new HttpError(429, 'too_many_requests', text, { retryAfterMs: SECOND_MS });
}
