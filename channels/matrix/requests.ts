/** Requests to a homeserver: bytes in, bytes out, over the connections of one agent. */
import { channelUnavailable } from '../../src/contracts/errors.ts';
import {
  Agent as HttpAgent,
  type ClientRequest,
  type IncomingMessage,
  request as httpRequest,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { LostAnswer } from './errors.ts';

export interface RawRequest {
  url: URL;
  method: 'GET' | 'POST' | 'PUT';
  headers: Record<string, string>;
  body?: Uint8Array | undefined;
  /** A connection that transfers nothing for this long is closed, in milliseconds. */
  silenceMs: number;
  signal?: AbortSignal | undefined;
}

const agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };

/**
 * Returns the answer, whatever its status. Throws `ChannelError` with `LostAnswer` as its cause, or the signal's
 * reason.
 */
export async function openRequest({
  url,
  body,
  silenceMs,
  signal,
  ...more
}: RawRequest): Promise<IncomingMessage> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const isPlain = url.protocol === 'http:';
  const options = {
    ...more,
    agent: isPlain ? agents.http : agents.https,
    headers: { ...more.headers, ...(body !== undefined && { 'content-length': String(body.length) }) },
    timeout: silenceMs,
    ...(signal !== undefined && { signal }),
  };
  const call: ClientRequest = (isPlain ? httpRequest : httpsRequest)(url, options);
  call.on('timeout', () => call.destroy(new Error('nothing came')));
  call.on('response', resolve);
  call.on('error', (error) => reject(signal?.aborted === true ? signal.reason : lost(error)));
  call.end(body);
  return await promise;
}

/** The whole body of an answer as text. Throws like `openRequest`, and `ChannelError` if it exceeds `maxBytes`. */
export async function readBody(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response) {
      chunks.push(chunk as Buffer);
      bytes += (chunk as Buffer).length;
      if (bytes > maxBytes) break;
    }
  } catch (error) {
    throw lost(error);
  }
  if (bytes > maxBytes)
    throw channelUnavailable('The Matrix homeserver gave an answer that is too large to read.');
  return Buffer.concat(chunks).toString('utf8');
}

/** Includes only the name of the cause: its request contains the token. */
function lost(error: unknown): Error {
  const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
  const what = `The Matrix homeserver cannot be reached${code}; the call is tried again.`;
  return channelUnavailable(what, new LostAnswer(`no answer${code}`));
}
