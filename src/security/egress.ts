/** The only outbound HTTP of tools: requests to public addresses, checked at every hop and connected to the checked address. */
import { lookup, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, type Dispatcher, request as send } from 'undici';
import type { Egress, EgressRequest, EgressResponse } from '../protocol/agent/tool.ts';
import { GatewayError, errorCode } from '../protocol/errors.ts';
import { isPublicAddress, isPublicName } from './egress-addresses.ts';
import { ACCEPT_ENCODING, type BodyLimits, readBody, tooSlow } from './egress-body.ts';

/** An address of a name. */
interface ResolvedAddress {
  address: string;
  family: number;
}

/** Time for one query to one name server, and how often a query is sent. */
const QUESTION_MS = 2_000;

const QUESTIONS = 2;

/** Answers that mean the name has no address of this family. */
const NO_ADDRESS: ReadonlySet<string> = new Set(['ENODATA', 'ENOTFOUND']);

export interface EgressLimits extends BodyLimits {
  /** Milliseconds from a hop's first step to its headers. */
  headersMs: number;
  /** Milliseconds for everything, redirects and body included. */
  totalMs: number;
}

const EGRESS_LIMITS: EgressLimits = {
  headersMs: 10_000,
  totalMs: 20_000,
  wireBytes: 2 * 1024 * 1024,
  decodedBytes: 8 * 1024 * 1024,
  windowMs: 5_000,
  minBytes: 1_024,
};
/** Redirects followed for one request. */
export const MAX_REDIRECTS = 5;
/** Longest URL requested, in UTF-16 units. */
export const MAX_URL_CHARS = 2_048;
/** Most bytes of an answer's headers. */
const MAX_HEADER_BYTES = 16 * 1024;
const USER_AGENT = 'Parley (self-hosted chat gateway)';

export interface EgressOptions {
  /** Ports besides 80 and 443. */
  ports?: () => readonly number[];
  /** Origins of services that the operator configured, allowed whatever their address. Redirects elsewhere are checked. */
  allow?: readonly string[];
  /** Origins that may receive data, under the same rules about addresses as all others. */
  posts?: readonly string[];
  /** Resolves a name; by default the system's lookup for `allow`, and a resolver of public names for the rest. */
  resolve?: (hostname: string) => Promise<ResolvedAddress[]>;
  limits?: Partial<EgressLimits>;
}

/** The function for all fetches. Proxies of the environment are not used: they would resolve names unchecked. */
export function createEgress(options: EgressOptions = {}): Egress {
  const limits = { ...EGRESS_LIMITS, ...options.limits };
  return async (request) => {
    const total = AbortSignal.timeout(limits.totalMs);
    const signal = AbortSignal.any([request.signal, total]);
    try {
      return await follow(request, signal, options, limits);
    } catch (error) {
      if (request.signal.aborted)
        throw new GatewayError('aborted', 'The request was stopped.', { cause: error });
      if (total.aborted) throw tooSlow();
      throw converted(error);
    }
  };
}

/** The function for posts to one address; a `private` one may be on this machine or in a private network. */
export function egressTo(address: string, isPrivate = false): Egress {
  const { origin } = new URL(address);
  return createEgress(isPrivate ? { allow: [origin] } : { posts: [origin] });
}

async function follow(
  request: EgressRequest,
  signal: AbortSignal,
  options: EgressOptions,
  limits: EgressLimits,
): Promise<EgressResponse> {
  let url = parseUrl(request.url);
  const { origin } = url;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    const payload = url.origin === origin ? request : {};
    const answer = await askOnce(url, payload, signal, options, limits);
    if (!(answer instanceof URL)) return answer;
    url = answer;
  }
  throw new GatewayError('too_many_redirects', `The page redirects more than ${MAX_REDIRECTS} times.`);
}

/** One hop: the answer, or where it redirects to. The connection belongs to the hop and ends with it. */
async function askOnce(
  url: URL,
  { headers, json, bytes }: Pick<EgressRequest, 'headers' | 'json' | 'bytes'>,
  signal: AbortSignal,
  options: EgressOptions,
  limits: EgressLimits,
): Promise<EgressResponse | URL> {
  const maySend = [...(options.allow ?? []), ...(options.posts ?? [])].includes(url.origin);
  const body = json === undefined ? bytes : JSON.stringify(json);
  if (body !== undefined && !maySend)
    throw new GatewayError('refused_address', 'Data can be sent only to configured services.');
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(tooSlow()), limits.headersMs);
  const hopSignal = AbortSignal.any([signal, late.signal]);
  const type = json === undefined ? {} : { 'content-type': 'application/json' };
  let agent: Agent | undefined;
  try {
    agent = connectingTo(await checkedAddresses(url, options, hopSignal));
    const answer = await send(url, {
      dispatcher: agent,
      signal: hopSignal,
      headers: { 'user-agent': USER_AGENT, 'accept-encoding': ACCEPT_ENCODING, ...type, ...headers },
      ...(body !== undefined && { method: 'POST', body }),
    });
    clearTimeout(timer);
    const redirect = body === undefined ? redirectOf(url, answer) : undefined;
    return redirect ?? (await complete(url, answer, limits));
  } finally {
    clearTimeout(timer);
    await agent?.destroy();
  }
}

function redirectOf(url: URL, answer: Dispatcher.ResponseData): URL | undefined {
  const location = headerOf(answer, 'location');
  if (![301, 302, 303, 307, 308].includes(answer.statusCode) || location === '') return undefined;
  // The connection is closed with the body unread: an error on it does not matter.
  answer.body.on('error', () => undefined).destroy();
  return parseUrl(location, url);
}

async function complete(
  url: URL,
  answer: Dispatcher.ResponseData,
  limits: EgressLimits,
): Promise<EgressResponse> {
  const body = await readBody(answer.body, headerOf(answer, 'content-encoding'), limits);
  const contentType = headerOf(answer, 'content-type').toLowerCase();
  const etag = headerOf(answer, 'etag');
  return { url: url.href, status: answer.statusCode, contentType, body, ...(etag !== '' && { etag }) };
}

/** Repeated headers are joined, so that two encodings are seen as two. */
function headerOf(answer: Dispatcher.ResponseData, name: string): string {
  const value = answer.headers[name];
  return Array.isArray(value) ? value.join(', ') : (value ?? '');
}

function parseUrl(text: string, relativeTo?: URL): URL {
  const url = text.length > MAX_URL_CHARS ? null : URL.parse(text, relativeTo?.href);
  if (url === null)
    throw new GatewayError('bad_url', `That is not a URL of at most ${MAX_URL_CHARS} characters.`);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new GatewayError('bad_url', 'Only http and https URLs are supported.');
  }
  if (url.username !== '' || url.password !== '') {
    throw new GatewayError('bad_url', 'URLs with a user name or password are not supported.');
  }
  return url;
}

/** All addresses of the host; if one is not public, all are refused, because the next try could pick it. */
async function checkedAddresses(
  url: URL,
  options: EgressOptions,
  signal: AbortSignal,
): Promise<ResolvedAddress[]> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  const isAllowed = options.allow?.includes(url.origin) ?? false;
  if (!isAllowed && ![80, 443, ...(options.ports?.() ?? [])].includes(port)) {
    throw new GatewayError('refused_address', `Port ${port} is not allowed; only 80 and 443 are.`);
  }
  const family = isIP(host);
  if (family === 0 && !isAllowed && !isPublicName(host)) throw notPublic(url);
  const resolve = options.resolve ?? (isAllowed ? systemResolve : publicResolve);
  const addresses = family === 0 ? await unlessAborted(resolve(host), signal) : [{ address: host, family }];
  if (addresses.length === 0)
    throw new GatewayError('unreachable', `${url.hostname} has no address.`, { retryable: true });
  if (!isAllowed && !addresses.every(({ address }) => isPublicAddress(address))) throw notPublic(url);
  return addresses;
}

const publicResolve = createPublicResolver();

/** Also knows names of the hosts file, such as the operator's own services have. */
function systemResolve(hostname: string): Promise<ResolvedAddress[]> {
  return lookup(hostname, { all: true });
}

function notPublic(url: URL): GatewayError {
  return new GatewayError('refused_address', `${url.hostname} is not a public address of the internet.`);
}

/** A lookup cannot be aborted; its late answer is ignored. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const cancellation = Promise.withResolvers<never>();
  const end = (): void => cancellation.reject(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  try {
    signal.throwIfAborted();
    return await Promise.race([work, cancellation.promise]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** Connects only to the given addresses: the name is not resolved a second time. */
function connectingTo(addresses: ResolvedAddress[]): Agent {
  const fixedLookup: LookupFunction = (_hostname, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, addresses);
    else callback(null, first?.address ?? '', first?.family);
  };
  return new Agent({
    connect: { lookup: fixedLookup },
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

function converted(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  const code = errorCode(error) || 'unknown';
  if (/^(UND_ERR_HEADERS_OVERFLOW|HPE_|Z_|ERR__ERROR_|ERR_BROTLI|ERR_PADDING)/.test(code)) {
    return new GatewayError('bad_response', `The server sent an answer that cannot be read (${code}).`, {
      cause: error,
    });
  }
  return new GatewayError('unreachable', `The server cannot be reached (${code}).`, {
    retryable: true,
    cause: error,
  });
}

/**
 * Makes the resolver: all addresses of a name, none if it does not exist. The hosts file and search domains do not count.
 * Rejects if no name server answers in time. `servers` default to the system's.
 */
export function createPublicResolver(
  options: { servers?: readonly string[]; questionMs?: number } = {},
): (hostname: string) => Promise<ResolvedAddress[]> {
  return async (hostname) => {
    // New for each name: the machine's name servers may have changed.
    const resolver = new Resolver({ timeout: options.questionMs ?? QUESTION_MS, tries: QUESTIONS });
    if (options.servers !== undefined) resolver.setServers(options.servers);
    const [four, six] = await Promise.all([
      resolver.resolve4(hostname).catch(unlessNoAddress),
      resolver.resolve6(hostname).catch(unlessNoAddress),
    ]);
    return [
      ...four.map((address) => ({ address, family: 4 })),
      ...six.map((address) => ({ address, family: 6 })),
    ];
  };
}

function unlessNoAddress(error: unknown): string[] {
  if (error instanceof Error && 'code' in error && NO_ADDRESS.has(String(error.code))) return [];
  throw error;
}
