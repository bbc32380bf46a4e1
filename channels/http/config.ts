/** The HTTP channel's settings, and its limits that cannot be set. */

/** Settings of the channel, checked by its manifest. */
export interface HttpConfig {
  /** Address to listen on. */
  host: string;
  /** Port to listen on, 0 = any free one. */
  port: number;
  /** Browser origins that may call besides the gateway's own page, exactly as browsers send them: `https://chat.example.org`. */
  allowedOrigins: string[];
  /** `Host` values that are answered besides loopback and `host`, with the port where it is not the scheme's own. */
  allowedHosts: string[];
}

/** Largest request body, in bytes. */
export const MAX_BODY_BYTES = 1024 * 1024;
/** Deepest nesting of a JSON body. */
export const MAX_JSON_DEPTH = 64;
/** Answer streams open at once, over all tokens. */
export const MAX_STREAMS = 4_096;
/** Sockets open at once; more are refused by the kernel's reset. */
export const MAX_CONNECTIONS = 8_192;
/** All request headers together, in bytes. */
export const MAX_HEADER_BYTES = 16 * 1024;
/** Time a client may take to send its headers, and its whole request. */
export const HEADERS_TIMEOUT_MS = 10_000;
export const REQUEST_TIMEOUT_MS = 30_000;
/** Bytes a stream's reader may lag behind before its connection is closed; it goes on with `Last-Event-ID`. */
export const MAX_STREAM_BACKLOG_BYTES = 256 * 1024;
/** Time a reader may take nothing at all before its connection is closed. */
export const MAX_STREAM_LAG_MS = 10_000;
/** Silence after which a stream is pinged, so that no proxy takes it for dead. */
export const PING_MS = 15_000;
/** Time between two checks of the tokens behind open streams: a revoked one is cut off within a second. */
export const RECHECK_MS = 900;
/** Time between two looks of a waiting answer for a turn without events, which is then read from the store: events may be lost, rows not. */
export const TURN_POLL_MS = 1_000;
/** Time the model server may take to list its models. */
export const MODELS_TIMEOUT_MS = 10_000;
/** Wrong tokens checked per address and minute; also the burst. */
export const WRONG_TOKENS_PER_MINUTE = 20;
/** Addresses the limiter remembers; the one that was quiet longest is dropped first. */
export const MAX_LIMITED_ADDRESSES = 10_000;
/** Longest `Idempotency-Key`. */
export const MAX_IDEMPOTENCY_KEY = 255;
/** Most rows one list answers. */
export const MAX_PAGE_SIZE = 200;
/** Files one message may carry. */
export const MAX_MEDIA = 10;
