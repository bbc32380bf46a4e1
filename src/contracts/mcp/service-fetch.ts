/** HTTP to services that the operator configured, for clients that speak their own protocol. */

/**
 * Requests as `fetch` makes them, to services that the operator configured; `close` ends its connections and never
 * throws.
 */
export interface ServiceFetch {
  request: (url: string | URL, init?: RequestInit) => Promise<Response>;
  close: () => Promise<void>;
}
