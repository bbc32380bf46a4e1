/** Requests to the gateway, and what their errors mean for people. */
import type { ErrorBody } from '../errors.ts';
import { noteRequest } from './failures/reachability.js';
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

async function reach(path: string, init: RequestInit) {
  try {
    const response = await fetch(path, init);
    noteRequest(true);
    return response;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    noteRequest(false);
    throw new ApiError(0, 'unreachable', say('page.unreachable'));
  }
}

export function pathOf(key: string) {
  return `/v1/sessions/${encodeURIComponent(key)}`;
}

/**
 * Sends a file and reports its progress, which `fetch` does not. Throws `ApiError`, and `AbortError` when `signal`
 * aborts.
 */
function sendFile<Answer>(
  path: string,
  headers: Record<string, string>,
  file: File,
  { signal, progress }: { signal: AbortSignal; progress: (part: number) => void },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', path);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.setRequestHeader('content-type', 'application/octet-stream');
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

/** The requests of one token, or of the sign-in of this browser; all throw `ApiError`. */
export class Requests {
  #token;

  /** @param token undefined = the cookie of a sign-in */
  constructor(token: string | undefined) {
    this.#token = token;
  }

  get #authorization(): Record<string, string> {
    return this.#token === undefined ? pageHeader() : { authorization: `Bearer ${this.#token}` };
  }

  /** Asks for a path; the answer may be an error. */
  reach(path: string) {
    return reach(path, { cache: 'no-store', headers: this.#authorization });
  }

  /** Sends a file and reports its progress; also throws `AbortError`. */
  sendFile<Answer>(
    path: string,
    file: File,
    options: { signal: AbortSignal; progress: (part: number) => void },
  ): Promise<Answer> {
    return sendFile(path, this.#authorization, file, options);
  }

  /**
   * A name for this token, by which tabs with the same token find each other; it reveals nothing about the token.
   */
  async tokenDigest() {
    if (!('subtle' in crypto)) return 'any';
    const digest = await crypto.subtle.digest(
      'SHA-256',
      new TextEncoder().encode(`tabs of ${this.#token ?? 'the cookie'}`),
    );
    return Array.from(new Uint8Array(digest, 0, 8), (byte) => byte.toString(16).padStart(2, '0')).join('');
  }

  async stream(path: string, headers: Record<string, string>, signal: AbortSignal) {
    const response = await this.send('GET', path, undefined, headers, signal);
    if (response.body === null) throw new ApiError(0, 'unreachable', say('page.no_stream'));
    return response.body;
  }

  async json<Answer>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer> {
    const response = await this.send(method, path, body, headers);
    return response.json();
  }

  /** Posts a form. */
  async form<Answer>(path: string, body: FormData): Promise<Answer> {
    const response = await reach(path, {
      method: 'POST',
      headers: this.#authorization,
      cache: 'no-store',
      body,
    });
    if (response.ok) return response.json();
    throw await errorOf(response);
  }

  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
    signal?: AbortSignal,
  ) {
    const all = { ...this.#authorization, 'content-type': 'application/json', ...headers };
    const init: RequestInit = { method, headers: all, cache: 'no-store' };
    if (signal !== undefined) init.signal = signal;
    if (body !== undefined) init.body = JSON.stringify(body);
    const response = await reach(path, init);
    if (response.ok) return response;
    throw await errorOf(response);
  }
}
