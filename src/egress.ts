/** The one word for reading something from the internet: every fetch of the house goes through an `Egress`. */

export interface EgressRequest {
  /** http or https; anything else is refused. */
  url: string;
  /** Sent to the first origin only: a redirect to another origin drops them all. */
  headers?: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

export interface EgressResponse {
  /** Where the answer came from, after redirects. */
  url: string;
  status: number;
  /** As the server named it, lower-cased, or ''. */
  contentType: string;
  /** Decoded; complete, for what exceeds a cap is refused instead of cut. */
  body: Buffer;
}

/**
 * A GET request. Throws `GatewayError`: `bad_url`, `refused_address`, `too_many_redirects`, `too_large`, `too_slow`,
 * `bad_response`, `unreachable` (the only retryable ones are the last and `too_slow`), `aborted`.
 */
export type Egress = (request: EgressRequest) => Promise<EgressResponse>;
