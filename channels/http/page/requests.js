/** Requests to the gateway, and what their errors mean for people. */

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
}

/**
 * The error that an answer tells.
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
    return new ApiError(status, error.code, error.message);
  } catch {
    // The answer of a proxy may not be JSON.
    return new ApiError(status, 'unknown', `The gateway answered ${status}.`);
  }
}

/**
 * @param {string} path
 * @param {RequestInit} init
 */
export async function reach(path, init) {
  try {
    return await fetch(path, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError(0, 'unreachable', 'The gateway cannot be reached.');
  }
}

/** @param {string} key */
export function pathOf(key) {
  return `/v1/sessions/${encodeURIComponent(key)}`;
}

/**
 * Sends a file and tells how far it is, which `fetch` does not. Throws `ApiError`, and `AbortError` when `signal` aborts.
 * @template Answer
 * @param {string} path
 * @param {string} token
 * @param {File} file
 * @param {{ signal: AbortSignal, progress: (part: number) => void }} how
 * @returns {Promise<Answer>}
 */
export function sendFile(path, token, file, { signal, progress }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', path);
    request.setRequestHeader('authorization', `Bearer ${token}`);
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
      reject(new ApiError(0, 'unreachable', 'The gateway cannot be reached, or refused the file.')),
    );
    request.addEventListener('abort', () => reject(new DOMException('No longer wanted.', 'AbortError')));
    signal.addEventListener('abort', () => request.abort(), { once: true });
    request.send(file);
  });
}
