/** The HTTP channel's settings, and its fixed limits. */

/** Settings of the channel, checked by its manifest. */
export interface HttpConfig {
  /** Address to listen on. */
  host: string;
  /** Port to listen on, 0 = any free one. */
  port: number;
  /** Browser origins that may call besides the gateway's own page, as browsers send them: `https://chat.example.org`. */
  allowedOrigins: string[];
  /** `Host` values that are answered besides loopback and `host`, with the port unless it is the scheme's default. */
  allowedHosts: string[];
}

/** Largest request body, in bytes. */
export const MAX_BODY_BYTES = 1024 * 1024;
/** Deepest nesting of a JSON body. */
export const MAX_JSON_DEPTH = 64;
/** Event streams open at once, over all tokens. */
export const MAX_STREAMS = 4_096;
/** Sockets open at once; further connections are reset. */
export const MAX_CONNECTIONS = 8_192;
/** All request headers together, in bytes. */
export const MAX_HEADER_BYTES = 16 * 1024;
/** Time a client may take to send its headers, and its whole request. */
export const HEADERS_TIMEOUT_MS = 10_000;
export const REQUEST_TIMEOUT_MS = 30_000;
/** Bytes that a stream's reader may lag behind before it is disconnected; it can resume with `Last-Event-ID`. */
export const MAX_STREAM_BACKLOG_BYTES = 256 * 1024;
/** Time that a reader may read nothing before it is disconnected. */
export const MAX_STREAM_LAG_MS = 10_000;
/** Silence after which a stream is pinged, so that no proxy closes it. */
export const PING_MS = 15_000;
/** Interval of the check of the tokens of open streams: a revoked one is disconnected within a second. */
export const RECHECK_MS = 900;
/** Interval of the check for a turn without events, which is then read from the store: events may be lost. */
export const TURN_POLL_MS = 1_000;
/** Time the model server may take to list its models. */
export const MODELS_TIMEOUT_MS = 10_000;
/** Wrong tokens checked per address and minute; also the burst size. */
export const WRONG_TOKENS_PER_MINUTE = 20;
/** Addresses that the limiter remembers; the least recently used is dropped first. */
export const MAX_LIMITED_ADDRESSES = 10_000;
/** Longest `Idempotency-Key`. */
export const MAX_IDEMPOTENCY_KEY = 255;
/** Most rows of one list. */
export const MAX_PAGE_SIZE = 200;
/** Files one message may carry. */
export const MAX_MEDIA = 10;
