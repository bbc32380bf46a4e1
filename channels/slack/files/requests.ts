/** Requests to Slack's file servers, which are not methods of its API: bytes in, bytes out. */
import {
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as httpRequest,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { ChannelError, channelUnavailable } from '../../../src/protocol/errors.ts';
import { rateLimited } from '../errors.ts';

export interface FileRequest {
  url: URL;
  method: 'GET' | 'POST';
  headers?: OutgoingHttpHeaders;
  body?: Uint8Array;
  signal?: AbortSignal | undefined;
  silenceMs: number;
}

/** Returns the answer with status 200. Throws `ChannelError`. */
export async function requestFile(call: FileRequest): Promise<IncomingMessage> {
  const response = await open(call);
  const status = response.statusCode ?? 0;
  if (status === 200) return response;
  response.destroy();
  if (status === 429) throw rateLimited(Math.max(1, Number(response.headers['retry-after']) || 1) * 1_000);
  if (status >= 500) throw channelUnavailable(`Slack answered the request for a file with status ${status}.`);
  // Without the scope files:read, Slack redirects to its sign-in page.
  if (status >= 300 && status < 400)
    throw new ChannelError(
      'rejected',
      'Slack shows this file only to people: give the bot the scope files:read.',
    );
  throw gone();
}

export function gone(cause?: unknown): ChannelError {
  return new ChannelError('rejected', 'Slack no longer has this file. Please send it again.', { cause });
}

/** Includes only the name of the cause: its request contains the token. */
export function cutOff(error: unknown): ChannelError {
  const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
  return channelUnavailable(`The file did not come through between Slack and here${code}.`);
}

/**
 * True for an address of Slack's own file servers, or of the other server that implements its API: no other server
 * may get the token or the bytes.
 */
export function isFileServer(url: URL, apiRoot: string | undefined): boolean {
  if (apiRoot !== undefined) return url.origin === URL.parse(apiRoot)?.origin;
  return url.protocol === 'https:' && url.host === 'files.slack.com';
}

async function open({
  url,
  method,
  headers = {},
  body,
  signal,
  silenceMs,
}: FileRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = url.protocol === 'http:' ? httpRequest : httpsRequest;
  const length = body === undefined ? {} : { 'content-length': body.length };
  let call: ClientRequest;
  try {
    call = request(url, {
      method,
      headers: { ...headers, ...length },
      timeout: silenceMs,
      ...(signal !== undefined && { signal }),
    });
  } catch (error) {
    throw cutOff(error);
  }
  call.on('timeout', () => call.destroy(new Error('nothing came')));
  call.on('response', resolve);
  call.on('error', (error) => reject(cutOff(error)));
  call.end(body);
  return await promise;
}
