/** HTTP to a model server: a `fetch` per call that carries the turn's signal, waits without limit and filters what comes back. */
import { Agent, buildConnector } from 'undici';
import { Exchange } from './exchange.ts';
import type { CallRules } from './exchange.ts';

/** One call: its `fetch`, and `end`, which closes the connection unless the answer is complete. Never throws. */
export interface OpenCall {
  fetch: typeof fetch;
  end(): void;
}

export interface Transport {
  open(rules: CallRules): OpenCall;
  /** Ends open calls and pooled connections. Never throws. */
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 10_000;

/** A pool of connections without undici's 300 s limits on headers and body: a long prefill is silent, and the turn has its own timers. */
export function createTransport(): Transport {
  /** Errors of connections that had served an answer before. */
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
    open(rules) {
      let current: Exchange | undefined;
      const send = (url: URL, init: RequestInit | undefined): Promise<Response> => {
        current = new Exchange(rules);
        return current.send(agent, url, init);
      };
      return {
        async fetch(input, init) {
          const url = new URL(input instanceof Request ? input.url : input);
          try {
            return await send(url, init);
          } catch (error) {
            // The server closed an idle connection while this request was on its way: nobody has seen it yet.
            const stale = current?.answered === false && isObject(error) && staleErrors.has(causeOf(error));
            if (!stale || rules.signal.aborted) throw error;
            return send(url, init);
          }
        },
        end: () => current?.end(),
      };
    },
    close: () => agent.destroy(),
  };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function causeOf(error: object): object {
  return 'cause' in error && isObject(error.cause) ? error.cause : error;
}
