/** Requests to the gateway, and what their errors mean for people; all reject with `ApiError`. */
import type { ErrorBody } from '../errors.ts';
import { noteRequest } from './failures/reachability.ts';
import { listed, refusal, say, type TextRef } from './texts.ts';

/** The gateway answered with an error, or could not be reached (`status` 0). */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  /** What is wrong, where the gateway says so for each field. */
  readonly problems: readonly TextRef[];

  constructor(status: number, code: string, message: string, problems: readonly TextRef[] = []) {
    super(message);
    this.status = status;
    this.code = code;
    this.problems = problems;
  }

  /**
   * The gateway does not accept this, such as a message that is too long or came too fast. What may succeed without a
   * change, as when the connection is lost, is not a refusal.
   */
  get isRefusal() {
    return this.status >= 400 && this.status < 500;
  }

  /** The gateway could not be reached: a banner says so. */
  get isUnreachable() {
    return this.code === 'unreachable';
  }
}

/** The error that an answer reports. */
export async function errorOf(response: Response): Promise<ApiError> {
  return readError(response.status, await response.text());
}

function readError(status: number, text: string) {
  try {
    const { error }: ErrorBody = JSON.parse(text);
    const message = listed(error.problems) ?? refusal(error.code, error.message);
    return new ApiError(status, error.code, message, error.problems);
  } catch {
    // The answer of a proxy may not be JSON.
    return new ApiError(status, 'unknown', say('page.answered', { status }));
  }
}

/**
 * The page's part of a session's secret, which no other port of this host can read: browsers send the cookie with the
 * other part to all of them.
 */
const PAGE_KEY = 'parley-page-key';

/** The header with which the gateway takes the cookie of a sign-in; no other site can send it. */
export function pageHeader() {
  return { 'x-parley-page': localStorage.getItem(PAGE_KEY) ?? '1' };
}

/** @param key undefined = this browser is signed out */
export function keepPageKey(key: string | undefined) {
  if (key === undefined) localStorage.removeItem(PAGE_KEY);
  else localStorage.setItem(PAGE_KEY, key);
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** A new random id. Pages over plain HTTP have no `crypto.randomUUID`. */
export function randomId(): string {
  return hex(crypto.getRandomValues(new Uint8Array(16)));
}

/** The token that signs requests; undefined = the cookie of a sign-in. */
let token: string | undefined;

/** Signs the requests to come with a token; undefined = with the cookie of a sign-in. */
export function signWith(next: string | undefined): void {
  token = next;
}

function authorization(): Record<string, string> {
  return token === undefined ? pageHeader() : { authorization: `Bearer ${token}` };
}

/** A name for this token, by which tabs with the same token find each other; it reveals nothing about the token. */
export async function tokenDigest(): Promise<string> {
  if (!('subtle' in crypto)) return 'any';
  const text = new TextEncoder().encode(`tabs of ${token ?? 'the cookie'}`);
  return hex(new Uint8Array(await crypto.subtle.digest('SHA-256', text), 0, 8));
}

interface Init extends Omit<RequestInit, 'headers'> {
  headers?: Record<string, string>;
}

/** The answer to a request, which may be an error. */
export async function reach(path: string, { headers, ...init }: Init = {}): Promise<Response> {
  try {
    const all = { ...authorization(), ...headers };
    const response = await fetch(path, { ...init, cache: 'no-store', headers: all });
    noteRequest(true);
    return response;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    noteRequest(false);
    throw new ApiError(0, 'unreachable', say('page.unreachable'));
  }
}

/** The answer to a request that was accepted. */
export async function send(path: string, init?: Init): Promise<Response> {
  const response = await reach(path, init);
  if (response.ok) return response;
  throw await errorOf(response);
}

/** Sends a body as JSON, and reads the answer as such. */
export async function ask<Answer>(
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
  signal?: AbortSignal,
): Promise<Answer> {
  const response = await send(path, {
    method,
    ...(signal && { signal }),
    headers: { 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return response.json();
}

/** A stream of events. Not an EventSource, which could send the token only in the address. */
export async function stream(path: string, init: Init): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const { body } = await send(path, init);
  if (body === null) throw new ApiError(0, 'unreachable', say('page.no_stream'));
  return body;
}

/** Sends a file and reports its progress, 0 to 1, which `fetch` does not. Rejects with `AbortError` when `signal` aborts. */
export function sendFile<Answer>(
  path: string,
  file: File,
  { signal, progress }: { signal: AbortSignal; progress: (part: number) => void },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', path);
    const headers = { ...authorization(), 'content-type': 'application/octet-stream' };
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.addEventListener('progress', ({ loaded, total }) =>
      progress(total === 0 ? 0 : loaded / total),
    );
    request.addEventListener('load', () => {
      const { status, responseText } = request;
      if (status >= 200 && status < 300) resolve(JSON.parse(responseText));
      else reject(readError(status, responseText));
    });
    request.addEventListener('error', () =>
      reject(new ApiError(0, 'unreachable', say('page.unreachable.file'))),
    );
    request.addEventListener('abort', () => reject(new DOMException('No longer wanted.', 'AbortError')));
    signal.addEventListener('abort', () => request.abort(), { once: true });
    request.send(file);
  });
}
