/** Requests to services that the operator configured, wherever they are: the `fetch` of clients that use HTTP. */
import { pipeline, Readable, Transform, type TransformCallback } from 'node:stream';
import { Agent, request as send } from 'undici';
import { GatewayError } from '../protocol/errors.ts';
import type { ServiceFetch } from '../protocol/agent/tool.ts';

const CONNECT_TIMEOUT_MS = 10_000;
/** Most bytes of an answer's headers. */
const MAX_HEADER_BYTES = 16 * 1024;
/** Most bytes of an answer, and of one event of a stream, which may be endless as a whole. */
export const MAX_SERVICE_BYTES = 10 * 1024 * 1024;
const NO_BODY = new Set([101, 103, 204, 205, 304]);
/** What ends an event of a stream, and how many bytes of it may be in the previous chunk. */
const EVENT_ENDS = ['\n\n', '\r\n\r\n'];
const MAX_END_BYTES = 3;

/** Makes a `fetch` with its own connections. Redirects are returned and not followed; silence is not an error. */
export function createServiceFetch(maxBytes = MAX_SERVICE_BYTES): ServiceFetch {
  const agent = new Agent({
    connect: { timeout: CONNECT_TIMEOUT_MS },
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  return {
    async request(url, init = {}) {
      const { statusCode, headers, body } = await send(url, {
        dispatcher: agent,
        method: methodOf(init),
        // Limits count the bytes received: a compressed answer could be any size.
        headers: { ...Object.fromEntries(new Headers(init.headers)), 'accept-encoding': 'identity' },
        body: textOf(init.body),
        signal: init.signal ?? null,
      });
      const answerHeaders = new Headers();
      for (const [name, value] of Object.entries(headers)) {
        for (const one of [value ?? []].flat()) answerHeaders.append(name, one);
      }
      if (NO_BODY.has(statusCode)) {
        body.on('error', () => undefined).destroy();
        return new Response(null, { status: statusCode, headers: answerHeaders });
      }
      const isStream = /^text\/event-stream\b/i.test(answerHeaders.get('content-type') ?? '');
      const limiter = boundTo(maxBytes, isStream);
      // If either end closes, so does the other; the reader learns why from its own stream.
      pipeline(body, limiter, () => undefined);
      return new Response(Readable.toWeb(limiter) as ReadableStream, {
        status: statusCode,
        headers: answerHeaders,
      });
    },
    close: () => agent.destroy(),
  };
}

/** Forms and texts; nothing else is sent. */
function textOf(body: RequestInit['body']): string | null {
  return typeof body === 'string' || body instanceof URLSearchParams ? String(body) : null;
}

function methodOf({ method = 'GET' }: RequestInit): 'GET' | 'POST' | 'DELETE' {
  const upper = method.toUpperCase();
  if (upper === 'GET' || upper === 'POST' || upper === 'DELETE') return upper;
  throw new GatewayError('bad_request', `Services cannot be called with ${upper.slice(0, 20)}.`);
}

/** Passes bytes on, and fails after more than `max` of them: in total, or in one event. */
function boundTo(max: number, byEvent: boolean): Transform {
  let bytes = 0;
  let tail = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding: string, callback: TransformCallback) {
      bytes += chunk.length;
      if (byEvent) {
        const window = Buffer.concat([tail, chunk]);
        const end = Math.max(...EVENT_ENDS.map((mark) => window.lastIndexOf(mark)));
        if (end !== -1) bytes = window.length - end;
        tail = window.subarray(-MAX_END_BYTES);
      }
      if (bytes <= max) callback(null, chunk);
      else callback(new GatewayError('too_large', `The service sent more than ${max} bytes at once.`));
    },
  });
}
