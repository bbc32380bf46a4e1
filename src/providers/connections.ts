/** HTTP to one model server: kept connections without undici's limits on silence, closed as soon as a call ends early. */
import { Agent, buildConnector } from 'undici';
import type { ProviderError } from '../protocol/errors.ts';
import { type Answer, BodyAnswer, PacketJoiner, stoppedCall } from './answers/answer.ts';
import { readRetryAfter, type Refusal } from './refusals.ts';

/** One request, relative to the server's address. */
export interface ServerRequest {
  method: 'GET' | 'POST';
  path: string;
  /** Sent as JSON. */
  body?: object;
}

interface Connections {
  /**
   * Sends a request; returns the 200 answer, whose body is still arriving. `refusalError` is for other statuses,
   * `lossError` for a failed connection, before or after the head. Throws `ProviderError`.
   */
  send(
    request: ServerRequest,
    signal: AbortSignal,
    refusalError: (refusal: Refusal) => ProviderError,
    lossError: (error: unknown, hasHead: boolean) => ProviderError,
  ): Promise<Answer>;
  /** Ends open calls and kept connections. Never throws. */
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** How much of a refusal is read; the rest of the body is ignored. */
const MAX_REFUSAL_BYTES = 64 * 1024;

/**
 * A pool of connections to `url`; `headers` go with every request. It has no timeouts: a long prefill is silent, and
 * turns have their own. Without `loopDelayMs` (the recent event loop delay) packets are never joined.
 */
export function createConnections(
  url: string,
  headers: Readonly<Record<string, string>>,
  loopDelayMs?: () => number,
): Connections {
  const joiner = new PacketJoiner(loopDelayMs);
  const { origin, pathname } = new URL(url);
  const folder = pathname.replace(/\/$/, '');
  const { agent, isStale } = createAgent();

  const ask = async ({ method, path, body }: ServerRequest, signal: AbortSignal) =>
    await agent.request({
      origin,
      path: folder + path,
      method,
      headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
      body: body === undefined ? null : jsonOf(body),
      signal,
    });

  return {
    async send(request, signal, refusalError, lossError) {
      if (signal.aborted) throw stoppedCall(signal);
      const closing = new AbortController();
      const stop = (): void => closing.abort();
      signal.addEventListener('abort', stop, { once: true });
      const release = (): void => signal.removeEventListener('abort', stop);
      try {
        const response = await ask(request, closing.signal).catch((error: unknown) => {
          // The server closed an idle connection while this request was in flight: it has not seen it.
          if (closing.signal.aborted || !isStale(error)) throw error;
          return ask(request, closing.signal);
        });
        const isDelimited = 'content-length' in response.headers || 'transfer-encoding' in response.headers;
        const answer = new BodyAnswer(response.body, { signal, lossError, isDelimited, joiner }, release);
        if (response.statusCode === 200) return answer;
        const retryAfterMs = readRetryAfter(response.headers, Date.now());
        throw refusalError({ status: response.statusCode, text: await readRefusal(answer), retryAfterMs });
      } catch (error) {
        release();
        throw signal.aborted ? stoppedCall(signal) : lossError(error, false);
      }
    },
    close: () => agent.destroy(),
  };
}

const toolTexts = new WeakMap<object, string>();

/** A body as JSON. Tools are the same list in every call and the longest part of a short one: their text is cached. */
function jsonOf(body: object): string {
  const { tools, ...rest }: { tools?: unknown } = body;
  if (typeof tools !== 'object' || tools === null) return JSON.stringify(body);
  let text = toolTexts.get(tools);
  if (text === undefined) {
    text = JSON.stringify(tools);
    toolTexts.set(tools, text);
  }
  const others = JSON.stringify(rest);
  return others === '{}' ? `{"tools":${text}}` : `${others.slice(0, -1)},"tools":${text}}`;
}

/** An agent that remembers which errors ended a connection that had served an answer before. */
function createAgent(): { agent: Agent; isStale: (error: unknown) => boolean } {
  const staleErrors = new WeakSet<object>();
  const connect = buildConnector({ timeout: CONNECT_TIMEOUT_MS, allowH2: false });
  const agent = new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    // HTTP/1.1 only: there, ending a call closes a connection, which is what frees the GPU.
    allowH2: false,
    connect: (options, callback) =>
      connect(options, (...results) => {
        const [, socket] = results;
        socket?.once('error', (error) => {
          if (socket.bytesRead > 0) staleErrors.add(error);
        });
        callback(...results);
      }),
  });
  return {
    agent,
    isStale: (error) => typeof error === 'object' && error !== null && staleErrors.has(error),
  };
}

/** The start of a body that says why a request was refused. */
async function readRefusal(answer: Answer): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for (;;) {
    const packet = await answer.read();
    if (packet === undefined) break;
    parts.push(packet);
    bytes += packet.length;
    if (bytes > MAX_REFUSAL_BYTES) break;
  }
  answer.end(bytes <= MAX_REFUSAL_BYTES);
  return Buffer.concat(parts).toString('utf8', 0, MAX_REFUSAL_BYTES);
}
