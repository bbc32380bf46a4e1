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
