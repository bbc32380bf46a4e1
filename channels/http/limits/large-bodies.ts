/** How many requests with large bodies are held in memory at once: those that carry files as base64. */
import type { ServerResponse } from 'node:http';
import { MAX_LARGE_BODIES } from '../config.ts';
import { HttpError } from '../errors.ts';

/** The large bodies held now. */
export class LargeBodies {
  #held = 0;

  /** Counts a body until its answer has ended. Throws `HttpError` 503 when there are too many. */
  hold(outgoing: ServerResponse): void {
    if (this.#held >= MAX_LARGE_BODIES) {
      const text =
        'Too many large requests are being answered; try again soon, or upload the file to a session.';
      throw new HttpError(503, 'too_many_large_bodies', text, { retryAfterMs: 2_000 });
    }
    this.#held += 1;
    outgoing.once('close', () => (this.#held -= 1));
  }
}
