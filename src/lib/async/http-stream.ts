/** HTTP requests whose answers are read as streams. `toError` converts the errors of the connection. */
import {
  type ClientRequest,
  type IncomingMessage,
  request as httpRequest,
  type RequestOptions,
} from 'node:http';
import { request as httpsRequest } from 'node:https';

/**
 * Sends a request; returns the answer, whatever its status. The connection closes after `options.timeout` milliseconds
 * without data, or when `options.signal` aborts. Throws what `toError` returns.
 */
export async function openResponse(
  url: URL,
  options: RequestOptions,
  body: Uint8Array | undefined,
  toError: (error: unknown) => unknown,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  let call: ClientRequest;
  try {
    call = (url.protocol === 'http:' ? httpRequest : httpsRequest)(url, options);
  } catch (error) {
    throw toError(error);
  }
  call.on('timeout', () => call.destroy(new Error('no data arrived')));
  call.on('response', resolve);
  call.on('error', (error) => reject(toError(error)));
  call.end(body);
  return await promise;
}

/** Largest answer of the API of a network that is read, in bytes: to parse one keeps everything else waiting. */
export const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** An answer is longer than `MAX_ANSWER_BYTES`. */
export class LongAnswer extends Error {
  constructor() {
    super(`The answer has more than ${MAX_ANSWER_BYTES} bytes.`);
    this.name = 'LongAnswer';
  }
}

/** A whole body as text; the connection is closed for one that is too long. Throws `LongAnswer`, and errors of the connection. */
export async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw new LongAnswer();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** An answer of `fetch` that has arrived whole, so that a limit on the time of the call covers its body. Throws like `readText`. */
export async function wholeAnswer({ body, status, statusText, headers }: ArrivingAnswer): Promise<Response> {
  const text = body === null ? '' : await readText(body);
  return new Response(NO_BODY.has(status) ? null : text, { status, statusText, headers: [...headers] });
}

interface ArrivingAnswer {
  body: AsyncIterable<Uint8Array> | null;
  status: number;
  statusText: string;
  headers: Iterable<[string, string]>;
}

/** Statuses of answers without a body (RFC 9110). */
const NO_BODY = new Set([101, 103, 204, 205, 304]);

/** The bytes of an answer. Throws what `toError` returns. */
export async function* readChunks(
  response: IncomingMessage,
  toError: (error: unknown) => unknown,
): AsyncGenerator<Uint8Array> {
  try {
    // `yield*` would let the connection's own errors through.
    for await (const chunk of response) yield chunk as Uint8Array;
  } catch (error) {
    throw toError(error);
  }
}
