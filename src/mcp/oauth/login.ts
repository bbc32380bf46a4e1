/** `parley mcp login`: a person signs in to a server in their browser, and the gateway stores the result. */
import { randomBytes } from 'node:crypto';
import {
  auth,
  extractWWWAuthenticateParams,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { GatewayError, toGatewayError } from '../../protocol/errors.ts';
import type { ServiceFetch } from '../../protocol/agent/tool.ts';
import { createServer } from 'node:http';
import { clipEnd, oneLine } from '../../lib/text.ts';
import { isPlain, type Logins } from './logins.ts';
import { plain, recorded } from './origins.ts';
import { clientMetadata } from './renewal.ts';

/** Longest reason from an authorization server that is repeated, in UTF-16 units. */
const MAX_REASON_CHARS = 200;

/** How long a person may take, in milliseconds. */
export const LOGIN_MS = 10 * 60_000;

interface LoginDeps {
  logins: Logins;
  request: ServiceFetch['request'];
  /** Shows a line to the person. */
  say: (text: string) => void;
  /** A line that the person writes; undefined if there is no one to ask. Never throws. */
  ask: ((question: string) => Promise<string>) | undefined;
}

/** What the browser brings back; `iss` names who issued the code, and must be who the person was sent to (RFC 9207). */
interface Callback {
  authorizationCode: string;
  iss?: string;
}

/** Signs in to the server of that name. Throws `GatewayError`, or the reason of `signal`. */
export async function login(
  { logins, request, say, ask }: LoginDeps,
  { name, url }: { name: string; url: string },
  signal: AbortSignal,
): Promise<void> {
  const state = randomBytes(16).toString('base64url');
  await using callback = await openCallback(state);
  let verifier = '';
  let client: StoredOAuthClientInformation | undefined;
  let tokens: StoredOAuthTokens | undefined;
  let discovery: OAuthDiscoveryState | undefined;
  const provider: OAuthClientProvider = {
    redirectUrl: callback.url,
    clientMetadata: clientMetadata(callback.url),
    state: () => state,
    // Registered again: the callback address is different each time.
    clientInformation: () => client,
    saveClientInformation: (information) => void (client = information),
    tokens: () => undefined,
    saveTokens: (newTokens) => void (tokens = newTokens),
    saveCodeVerifier: (newVerifier) => void (verifier = newVerifier),
    codeVerifier: () => verifier,
    saveDiscoveryState: (state) => void (discovery = state),
    // The code goes to the server that the person was sent to, whatever is discovered meanwhile.
    discoveryState: () => discovery,
    redirectToAuthorization(address) {
      if (isPlain(address.href)) throw plain(address);
      say(`Open this address in a browser and sign in:\n\n${address.href}\n`);
    },
  };
  const { request: fetchFn, record } = recorded(
    (address, init = {}) => request(address, { ...init, signal }),
    url,
  );
  const authorization = await wantedBy(fetchFn, url);
  const step = (more: Partial<Callback> = {}): Promise<unknown> =>
    auth(provider, { serverUrl: url, fetchFn, ...authorization, ...more }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw failed(error);
    });
  await step();
  await step(await answerOf(callback, ask, signal));
  if (client === undefined || tokens === undefined)
    throw new GatewayError('login_failed', 'The server returned no token: it may not support OAuth.');
  logins.save(name, { url, client, tokens, ...record });
}

/** Where the server sends people to sign in, and for what. */
async function wantedBy(
  request: (address: string, init: RequestInit) => Promise<Response>,
  url: string,
): Promise<{ resourceMetadataUrl?: URL | undefined; scope?: string | undefined }> {
  const answer = await request(url, { headers: { accept: 'text/event-stream' } }).catch((error: unknown) => {
    throw failed(error);
  });
  await answer.body?.cancel();
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(answer);
  return { resourceMetadataUrl, scope };
}

/** The code from the browser on this machine, or from the address that the person copies from another one. */
async function answerOf(
  callback: Awaited<ReturnType<typeof openCallback>>,
  ask: LoginDeps['ask'],
  signal: AbortSignal,
): Promise<Callback> {
  const abort = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  const question = 'If the browser is on another machine, paste the address at which it ends';
  const pasted = ask?.(question).then((address) => {
    callback.acceptAddress(address);
    // If nothing was pasted, or something else, the browser may still arrive.
    return callback.answer;
  });
  return await Promise.race([callback.answer, abort, ...(pasted === undefined ? [] : [pasted])]);
}

function failed(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  const { message } = toGatewayError(error);
  return new GatewayError('login_failed', `Signing in failed: ${message}`, { cause: error });
}

/** Listens on loopback; only an answer with this `state` counts. */
async function openCallback(state: string) {
  const { promise, resolve, reject } = Promise.withResolvers<Callback>();
  // No one may be waiting yet when the browser arrives.
  promise.catch(() => undefined);
  /** Accepts the address at which a browser has arrived, on another machine maybe. False for one that belongs to no sign-in. */
  const acceptAddress = (address: string): boolean => {
    const answer = URL.parse(address, 'http://127.0.0.1')?.searchParams;
    if (answer?.get('state') !== state) return false;
    const code = answer.get('code');
    const iss = answer.get('iss');
    if (code !== null) resolve({ authorizationCode: code, ...(iss !== null && { iss }) });
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
  await new Promise<void>((listening, onError) => {
    server.once('error', onError);
    server.listen(0, '127.0.0.1', listening);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    /** The address to which the browser is sent. */
    url: `http://127.0.0.1:${port}/callback`,
    /** The code of the sign-in. Throws `GatewayError('login_refused')`. */
    answer: promise,
    acceptAddress,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((onClose) => void server.close(onClose));
    },
  };
}

function refusal(reason: string): GatewayError {
  const text = clipEnd(oneLine(reason), MAX_REASON_CHARS);
  return new GatewayError('login_refused', `The server refused the sign-in: ${text}`);
}
