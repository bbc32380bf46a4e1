/** HTTP to one model server: kept connections without undici's limits on silence, closed as soon as a call ends early. */
import { Agent, buildConnector } from 'undici';
import type { ProviderError } from '../../protocol/errors.ts';
import { type Answer, createAnswer, stoppedCall } from '../answers/answer.ts';
import { PacketJoiner } from '../answers/packet-joiner.ts';
import { readRetryAfter, type Refusal } from '../refusals.ts';

/** One request, relative to the server's address. */
export interface ServerRequest {
  method: 'GET' | 'POST';
  path: string;
  /** An object is sent as JSON, a text (already JSON) unchanged. */
  body?: object | string;
}

/** What one call needs from its connection. */
export interface CallRules {
  signal: AbortSignal;
  /** The error for a status other than 200. */
  refused(refusal: Refusal): ProviderError;
  /** The error for a connection that failed; `answered` tells whether the head of an answer had arrived. */
  lost(error: unknown, answered: boolean): ProviderError;
}

export interface Connections {
  /** The path of the server's address, to which paths of requests are added: empty, or `/v1` for instance. */
  readonly folder: string;
  /** Sends a request and returns the 200 answer, whose body is still arriving. Throws `ProviderError`. */
  send(request: ServerRequest, rules: CallRules): Promise<Answer>;
  /** Ends open calls and kept connections. Never throws. */
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** How much of a refusal is read; the rest of the body is ignored. */
const MAX_REFUSAL_BYTES = 64 * 1024;

/**
 * A pool of connections to `url`; `headers` go with every request. A long prefill is silent, and the turn has its own timers.
 * `loopDelayMs` is the recent delay of the event loop; absent, packets are never joined.
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
      body: body === undefined ? null : typeof body === 'string' ? body : jsonOf(body),
      signal,
    });

  return {
    folder,
    async send(request, rules) {
      if (rules.signal.aborted) throw stoppedCall(rules.signal);
      const closing = new AbortController();
      const stop = (): void => closing.abort();
      rules.signal.addEventListener('abort', stop, { once: true });
      const release = (): void => rules.signal.removeEventListener('abort', stop);
      try {
        const {
          statusCode,
          headers: said,
          body,
        } = await ask(request, closing.signal).catch((error: unknown) => {
          // The server closed an idle connection while this request was in flight: it has not seen it.
          if (closing.signal.aborted || !isStale(error)) throw error;
          return ask(request, closing.signal);
        });
        const isDelimited = 'content-length' in said || 'transfer-encoding' in said;
        const answer = createAnswer(body, { ...rules, isDelimited, joiner }, release);
        if (statusCode === 200) return answer;
        const retryAfterMs = readRetryAfter(said, Date.now());
        throw rules.refused({ status: statusCode, text: await readRefusal(answer), retryAfterMs });
      } catch (error) {
        release();
        throw rules.signal.aborted ? stoppedCall(rules.signal) : rules.lost(error, false);
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
      connect(options, (...opened) => {
        const [, socket] = opened;
        socket?.once('error', (error) => {
          if (socket.bytesRead > 0) staleErrors.add(error);
        });
        callback(...opened);
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
