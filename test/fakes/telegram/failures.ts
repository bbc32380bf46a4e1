/** Failures that a test sets up for the next calls of the fake Bot API, and an unreachable one: what callers meet instead of an answer. */
import type { ServerResponse } from 'node:http';

/** `cut` loses the request, `page` is a proxy's answer, `silence` lasts. */
export type Outage = 'cut' | 'page' | 'silence';

/** True for a failure of this kind. */
export function isOutage(kind: string): kind is Outage {
  return kind === 'cut' || kind === 'page' || kind === 'silence';
}

/** Treats a call as the outage does; `status` is that of the page. */
export function giveNoAnswer(kind: Outage, status: number | undefined, response: ServerResponse): void {
  if (kind === 'cut') response.socket?.destroy();
  if (kind === 'page')
    response.writeHead(status ?? 502, { 'content-type': 'text/html' }).end('<h1>Bad Gateway</h1>');
}

/** How the next matching call fails; `drop` loses the answer of a call that was applied. */
export interface Failure {
  kind: Outage | 'drop' | 'delay' | 'status';
  /** Only calls of this method; default any but `getUpdates`. */
  method?: string;
  /** How many calls; default 1. */
  times?: number;
  /** For `delay`, and for `status` 429: milliseconds. */
  ms?: number;
  /** For `status`: the HTTP status, with the server's body for it; default 500. For `page`; default 502. */
  status?: number;
  /** For `status`: the description in that body. */
  description?: string;
}

export class Failures {
  #failures: Failure[] = [];

  add(failure: Failure): void {
    this.#failures.push({ times: 1, ...failure });
  }

  /** The failure of this call, if it has one. */
  next(method: string): Failure | undefined {
    const failure = this.#failures.find(
      (entry) => (entry.method ?? (method === 'getUpdates' ? '' : method)) === method,
    );
    if (!failure) return undefined;
    failure.times = (failure.times ?? 1) - 1;
    if (failure.times <= 0) this.#failures = this.#failures.filter((entry) => entry !== failure);
    return failure;
  }
}
