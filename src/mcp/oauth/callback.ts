/** Where the browser arrives after a sign-in: a small server on this machine, for one answer. */
import { createServer } from 'node:http';
import { GatewayError } from '../../contracts/errors.ts';
import { clipEnd, oneLine } from '../../lib/text.ts';

/** Longest reason from an authorization server that is repeated, in UTF-16 units. */
const MAX_REASON_CHARS = 200;

/** Waits for the browser. */
export interface Callback extends AsyncDisposable {
  /** The address to which the browser is sent. */
  readonly url: string;
  /** The code of the sign-in. Throws `GatewayError('login_refused')`. */
  readonly code: Promise<string>;
  /**
   * Accepts the address at which a browser has arrived on another machine. False for one that belongs to no sign-in.
   */
  acceptAddress(address: string): boolean;
}

/** Listens on loopback; only an answer with this `state` counts. */
export async function openCallback(state: string): Promise<Callback> {
  const { promise: code, resolve, reject } = Promise.withResolvers<string>();
  // No one may be waiting yet when the browser arrives.
  code.catch(() => undefined);
  const acceptAddress = (address: string): boolean => {
    const answer = URL.parse(address, 'http://127.0.0.1')?.searchParams;
    if (answer?.get('state') !== state) return false;
    const given = answer.get('code');
    if (given !== null) resolve(given);
    else reject(refusal(answer.get('error_description') ?? answer.get('error') ?? 'no reason was given'));
    return true;
  };
  const server = createServer((request, response) => {
    const isAnswer = request.method === 'GET' && acceptAddress(request.url ?? '/');
    response.writeHead(isAnswer ? 200 : 400, { 'content-type': 'text/plain; charset=utf-8' });
    response.end(
      isAnswer ? 'You can close this window: Parley has the answer.' : 'This is not an answer to a sign-in.',
    );
  });
  await new Promise<void>((listening, failed) => {
    server.once('error', failed);
    server.listen(0, '127.0.0.1', listening);
  });
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  return {
    url: `http://127.0.0.1:${port}/callback`,
    code,
    acceptAddress,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => void server.close(closed));
    },
  };
}

function refusal(reason: string): GatewayError {
  const said = clipEnd(oneLine(reason), MAX_REASON_CHARS);
  return new GatewayError('login_refused', `The server refused the sign-in: ${said}`);
}
