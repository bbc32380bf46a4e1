/** Requests to the gateway, and what their errors mean for people. */
import { noteRequest } from './failures/reachability.js';
import { listed, refusal, say } from './texts.js';

/** The gateway answered with an error, or could not be reached (`status` 0). */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} message
   */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
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

/**
 * The error that an answer reports.
 * @param {Response} response
 * @returns {Promise<ApiError>}
 */
export async function errorOf(response) {
  return readError(response.status, await response.text());
}

/**
 * @param {number} status
 * @param {string} text
 */
function readError(status, text) {
  try {
    /** @type {import('../errors.ts').ErrorBody} */
    const { error } = JSON.parse(text);
    const message = listed(error.problems) ?? refusal(error.code, error.message);
    return new ApiError(status, error.code, message);
  } catch {
    // The answer of a proxy may not be JSON.
    return new ApiError(status, 'unknown', say('page.answered', { status }));
  }
}

/**
 * @param {string} path
 * @param {RequestInit} init
 */
async function reach(path, init) {
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

/** @param {string} key */
export function pathOf(key) {
  return `/v1/sessions/${encodeURIComponent(key)}`;
}

/**
 * Sends a file and reports its progress, which `fetch` does not. Throws `ApiError`, and `AbortError` when `signal`
 * aborts.
 * @template Answer
 * @param {string} path
 * @param {Record<string, string>} headers
 * @param {File} file
 * @param {{ signal: AbortSignal, progress: (part: number) => void }} how
 * @returns {Promise<Answer>}
 */
function sendFile(path, headers, file, { signal, progress }) {
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

/** @param {string | undefined} key undefined = this browser is signed out */
export function keepPageKey(key) {
  if (key === undefined) localStorage.removeItem(PAGE_KEY);
  else localStorage.setItem(PAGE_KEY, key);
}

/** The requests of one token, or of the sign-in of this browser; all throw `ApiError`. */
export class Requests {
  #token;

  /** @param {string | undefined} token undefined = the cookie of a sign-in */
  constructor(token) {
    this.#token = token;
  }

  /** @returns {Record<string, string>} */
  get #authorization() {
    return this.#token === undefined ? pageHeader() : { authorization: `Bearer ${this.#token}` };
  }

  /**
   * Asks for a path; the answer may be an error.
   * @param {string} path
   */
  reach(path) {
    return reach(path, { cache: 'no-store', headers: this.#authorization });
  }

  /**
   * Sends a file and reports its progress; also throws `AbortError`.
   * @template Answer
   * @param {string} path
   * @param {File} file
   * @param {{ signal: AbortSignal, progress: (part: number) => void }} options
   * @returns {Promise<Answer>}
   */
  sendFile(path, file, options) {
    return sendFile(path, this.#authorization, file, options);
  }

  /** A name for this token, by which tabs with the same token find each other; it reveals nothing about the token. */
  async tokenDigest() {
    if (!('subtle' in crypto)) return 'any';
    const digest = await crypto.subtle.digest(
      'SHA-256',
      new TextEncoder().encode(`tabs of ${this.#token ?? 'the cookie'}`),
    );
    return Array.from(new Uint8Array(digest, 0, 8), (byte) => byte.toString(16).padStart(2, '0')).join('');
  }

  /**
   * @param {string} path
   * @param {Record<string, string>} headers
   * @param {AbortSignal} signal
   */
  async stream(path, headers, signal) {
    const response = await this.send('GET', path, undefined, headers, signal);
    if (response.body === null) throw new ApiError(0, 'unreachable', say('page.no_stream'));
    return response.body;
  }

  /**
   * @template Answer
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @param {Record<string, string>} [headers]
   * @returns {Promise<Answer>}
   */
  async json(method, path, body, headers) {
    const response = await this.send(method, path, body, headers);
    return response.json();
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @param {Record<string, string>} [headers]
   * @param {AbortSignal} [signal]
   */
  async send(method, path, body, headers = {}, signal) {
    const all = { ...this.#authorization, 'content-type': 'application/json', ...headers };
    /** @type {RequestInit} */
    const init = { method, headers: all, cache: 'no-store' };
    if (signal !== undefined) init.signal = signal;
    if (body !== undefined) init.body = JSON.stringify(body);
    const response = await reach(path, init);
    if (response.ok) return response;
    throw await errorOf(response);
  }
}
