/** HTTP for grammY: a foreign answer keeps its status, and a lost answer says whether the request was written. */
import {
  type Agent,
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as httpRequest,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { readText } from '../../src/lib/async/http-stream.ts';
import { errorCode } from '../../src/protocol/errors.ts';

/** An answer that did not come from the Bot API: a proxy's page, or a text that is cut off. */
export class ForeignAnswer extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`status ${status} without the Bot API's JSON`);
    this.name = 'ForeignAnswer';
    this.status = status;
  }
}

/** There was no answer. `wasWritten`: the request may have reached the server. */
export class NoAnswer extends Error {
  readonly code: string;
  readonly written: boolean;

  constructor(cause: unknown, wasWritten: boolean) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'NoAnswer';
    this.code = errorCode(cause);
    this.written = wasWritten;
  }
}

/** The request as grammY writes it; the channel only listens to its signal. */
export interface BotApiRequest {
  method: string;
  headers: OutgoingHttpHeaders;
  /** A stream carries a file. */
  body: string | ReadableStream<Uint8Array>;
  signal: AbortSignal;
}

/** grammY's `fetch` over `agent`; grammY reads only `json`, which never rejects. Throws `NoAnswer` and `ForeignAnswer`. */
export function createFetch(agent: Agent) {
  return async (
    url: string,
    { method, headers, body, signal }: BotApiRequest,
  ): Promise<{ json(): Promise<unknown> }> => {
    const open = url.startsWith('http:') ? httpRequest : httpsRequest;
    const call = open(url, { agent, method, headers });
    const isWritten = watchWriting(call);
    const stop = (): void => void call.destroy(new Error('no answer in time, or stopped'));
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop);
    try {
      const answer = await exchange(call, body);
      return { json: () => Promise.resolve(answer) };
    } catch (error) {
      throw error instanceof ForeignAnswer ? error : new NoAnswer(error, isWritten());
    } finally {
      signal.removeEventListener('abort', stop);
    }
  };
}

/** Writes the request and reads the whole answer. Rejects with the error of the connection or of the body. */
async function exchange(call: ClientRequest, body: BotApiRequest['body']): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  call.on('error', reject);
  call.on('response', resolve);
  if (typeof body === 'string') call.end(body);
  else pipeline(body, call).catch(reject);
  const response = await promise;
  return readAnswer(response.statusCode ?? 0, await readText(response));
}

/** Returns what reports whether the server may have received the whole request: connected, and all written. */
function watchWriting(call: ClientRequest): () => boolean {
  let connected = false;
  call.on('socket', (socket) => {
    if (call.reusedSocket) connected = true;
    else socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => (connected = true));
  });
  return () => connected && call.writableEnded;
}

/** The Bot API's answer: an object with `ok`. Throws `ForeignAnswer` for anything else. */
function readAnswer(status: number, body: string): unknown {
  try {
    const answer: unknown = JSON.parse(body);
    if (typeof answer === 'object' && answer !== null && 'ok' in answer) return answer;
  } catch {
    // Not JSON: the error below reports it, with the status.
  }
  throw new ForeignAnswer(status);
}
