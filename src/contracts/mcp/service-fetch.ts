/** HTTP to services that the operator has named, for clients that bring a protocol of their own. */

/** Requests as `fetch` makes them, to services that the operator has named; `close` ends its connections and never throws. */
export interface ServiceFetch {
  request: (url: string | URL, init?: RequestInit) => Promise<Response>;
  close: () => Promise<void>;
}
