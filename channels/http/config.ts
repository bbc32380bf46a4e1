/** The HTTP channel's settings, and its fixed limits. */
import { z } from 'zod';
import { isNetwork } from './limits/client-address.ts';

const limit = (fallback: number, meaning: string) =>
  z.int().min(1).max(1_000_000).default(fallback).describe(meaning);

/** `channels.http` of config.json. */
export const settings = z.strictObject({
  /** As browsers send them. */
  allowedOrigins: z
    .array(z.url())
    .default([])
    .describe('other web pages that may call, such as `https://chat.example.org`'),
  /** With the port, unless it is the scheme's default. */
  allowedHosts: z
    .array(z.string().min(1))
    .default([])
    .describe(
      'names the gateway answers to besides loopback and `HOST`, such as `chat.example.org` behind a proxy',
    ),
  trustedProxies: z
    .array(z.string().refine(isNetwork, 'must be an address or a network such as 10.0.0.0/8'))
    .max(100)
    .default([])
    .describe(
      'addresses or networks of proxies in front of the gateway, such as `["10.0.0.2"]`; only these are trusted with `X-Forwarded-For`, for limits per address, and with the header of `proxySignIn`',
    ),
  a2a: z
    .strictObject({
      enabled: z
        .boolean()
        .default(false)
        .describe('[other agents](agents.md#other-agents) may use the bot; its card is then public'),
      name: z.string().min(1).max(200).default('Parley').describe('name on the card'),
      description: z
        .string()
        .min(1)
        .max(2_000)
        .default('A chat bot that answers messages and carries out tasks.')
        .describe('what the card says of the bot'),
      url: z
        .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
        .transform((url) => url.replace(/\/+$/, ''))
        .optional()
        .describe('address on the card, without `/a2a`; unset = the one of the request'),
    })
    .prefault({}),
  /** Admins have no such limits, and a reserve of what all share. */
  limits: z
    .strictObject({
      socketsPerAddress: limit(2_048, 'connections of one address that have carried no valid token'),
      socketsPerToken: limit(
        2_048,
        'connections of one token; beyond that, idle ones are closed and further requests refused',
      ),
      streamsPerToken: limit(1_024, 'open streams of one token'),
      /** Completions without a session count as well. */
      turnsPerToken: limit(128, 'sessions of one token that may have a running turn at a time'),
      sessionsPerToken: limit(5_000, 'sessions that one token may own'),
      /** Also how many it may send at once. */
      messagesPerMinute: limit(1_200, 'messages one token may send in a minute'),
    })
    .prefault({}),
});

/** The settings with what comes from the environment. */
export interface HttpConfig extends z.output<typeof settings> {
  host: string;
  /** 0 = any free one. */
  port: number;
}

/** What one address or one token without `admin` may use. */
export type HttpLimits = HttpConfig['limits'];

/** Largest request body, in bytes. */
export const MAX_BODY_BYTES = 1024 * 1024;
/** Largest body of a request whose messages may carry files as base64, in bytes: a file of about 12 MB. */
export const MAX_INLINE_BODY_BYTES = 16 * 1024 * 1024;
/** Messages or items of one completion or response. */
export const MAX_MESSAGES = 8_192;
/** Files that a request without a session may carry. */
export const MAX_INLINE_FILES = 20;
/** Values in a body's objects and lists: many small ones would stall the process. */
export const MAX_JSON_VALUES = 100_000;
/** Bodies of more than `MAX_BODY_BYTES` that are held at once. */
export const MAX_LARGE_BODIES = 8;
/** Event streams open at once, over all tokens. */
export const MAX_STREAMS = 4_096;
/** How many of these only admins may open. */
export const RESERVED_STREAMS = 64;
/** Sockets open at once: at this limit a new connection closes an idle one, first those without a valid token. */
export const MAX_CONNECTIONS = 8_192;
/** How many of these tokens without `admin` leave to others: to admins, and to callers whose token is not known yet. */
export const RESERVED_CONNECTIONS = 1_024;
/** Requests of one address for whose bytes the gateway waits before it knows their caller. */
export const MAX_STRANGERS = 64;
/** Time that a body has before its caller is known, and the bytes a second that must arrive of it. */
export const STRANGER_BODY_MS = 5_000;
export const MIN_STRANGER_BYTES_PER_S = 1_024;
/** A connection is not closed for its holder's limits before this time. */
export const MIN_IDLE_MS = 1_000;
/** The part of this gateway's concurrent turns that tokens without `admin` leave to the others. */
export const RESERVED_TURNS = 1 / 8;
/** All request headers together, in bytes. */
export const MAX_HEADER_BYTES = 16 * 1024;
/** Time a client may take to send its headers, and a request without a file. */
export const HEADERS_TIMEOUT_MS = 10_000;
export const REQUEST_TIMEOUT_MS = 30_000;
/** Time a file may take to arrive, and the longest silence of its sender. */
export const UPLOAD_TIMEOUT_MS = 10 * 60_000;
export const UPLOAD_STALL_MS = 30_000;
/** Files that may arrive at once for one token, and for all. */
export const MAX_UPLOADS_PER_TOKEN = 8;
export const MAX_UPLOADS = 64;
/** What a form may hold besides its file, in bytes. */
export const MAX_FORM_BYTES = 64 * 1024;
/** Time that an idle connection is kept for the next request: longer than proxies keep theirs (nginx: 60 s). */
export const KEEP_ALIVE_MS = 75_000;
/** Bytes that a stream's reader may lag behind before it is disconnected; it can resume with `Last-Event-ID`. */
export const MAX_STREAM_BACKLOG_BYTES = 256 * 1024;
/** Time that a reader may read nothing before it is disconnected. */
export const MAX_STREAM_LAG_MS = 10_000;
/** Silence after which a stream is pinged, so that no proxy closes it. */
export const PING_MS = 15_000;
/** Interval of the check of the tokens of open streams: a revoked one is disconnected within a second. */
export const RECHECK_MS = 400;
/** Largest body that is read only to keep its connection, in bytes. */
export const MAX_DRAINED_BYTES = 64 * 1024;
/** Bytes of a body that are discarded after the answer, and how long its client has to read that. */
export const MAX_DISCARDED_BYTES = 256 * 1024;
export const MAX_LINGER_MS = 500;
/** Interval of the check for a turn without events, which is then read from the store: events may be lost. */
export const TURN_POLL_MS = 1_000;
/** Time the model server may take to list its models. */
export const MODELS_TIMEOUT_MS = 10_000;
/** Wrong tokens per address and minute that are answered with 401, further ones with 429; also the burst size. */
export const WRONG_TOKENS_PER_MINUTE = 20;
/** Addresses that the limiter remembers; the least recently used is dropped first. */
export const MAX_LIMITED_ADDRESSES = 10_000;
/** Longest list of header names that a preflight may ask for, in characters. */
export const MAX_ASKED_HEADERS = 1_024;
/** Longest `Idempotency-Key`. */
export const MAX_IDEMPOTENCY_KEY = 255;
/** Most rows in one list. */
export const MAX_PAGE_SIZE = 200;
/** Longest name of a file in a message, in UTF-16 units. */
export const MAX_FILE_REFERENCE = 400;
/** Tools that a caller may bring. */
export const MAX_TOOLS = 128;
/** Texts that may end an answer. */
export const MAX_STOPS = 16;
/** Tokens whose likelihood a caller may change. */
export const MAX_LOGIT_BIASES = 1_024;
/** Longest system text that a caller may add to a session, in UTF-16 units. */
export const MAX_INSTRUCTIONS = 100_000;
/** Texts of one request for vectors. */
export const MAX_EMBEDDED_TEXTS = 2_048;
/** Time in which a WebSocket without a token in its headers must send one. */
export const WEBSOCKET_AUTH_MS = 5_000;
/** Sessions that one WebSocket may follow. */
export const MAX_SUBSCRIPTIONS = 100;
/** Frames of a WebSocket that wait for those before them. */
export const MAX_WAITING_FRAMES = 64;
