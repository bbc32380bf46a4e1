/** What can go wrong with any model server, as `ProviderError`s that name the setting to change. */
import { ProviderError } from '../contracts/errors.ts';

/** The server that an error is about. */
export interface Where {
  /** What kind of server it is, as in "Ollama". */
  server: string;
  /** Its address, without credentials. */
  host: string;
  /** Names the setting that holds the address. */
  setting: string;
  /** How such a server is started. */
  start: string;
  /** The model, if one was asked. */
  model?: string | undefined;
}

/** How much of a server's own text is repeated in a message, in characters. */
const MAX_QUOTED = 300;

/** The error for a connection that failed; `answered` tells whether the head of an answer had come. */
export function lostConnection(where: Where, error: unknown, answered: boolean): ProviderError {
  if (error instanceof ProviderError) return error;
  const { server, host, setting, start } = where;
  if (codeOf(error) === 'UND_ERR_DESTROYED') {
    return new ProviderError('aborted', `The connections to ${server} were closed.`, { cause: error });
  }
  if (answered) {
    return new ProviderError(
      'bad_response',
      `The connection to ${server} broke in the middle of the answer.`,
      {
        retryable: true,
        cause: error,
      },
    );
  }
  if (codeOf(error).startsWith('HPE_')) {
    const message = `${host} does not speak HTTP: ${setting} must name ${server}.`;
    return new ProviderError('bad_response', message, { cause: error });
  }
  return new ProviderError(
    'unavailable',
    `No model server answers at ${host} (${codeOf(error) || 'connection failed'}): ${start}, or set ${setting} to where it runs.`,
    { retryable: true, cause: error },
  );
}

/** The error for whatever else was thrown (by an answer of another shape, for instance). */
export function toProviderError({ server, host }: Where, error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  return new ProviderError('bad_response', `${server} at ${host} sent an answer that cannot be read.`, {
    cause: error,
  });
}

/** The error for a request that was not answered in time. */
export function timedOut({ server, host, setting }: Where, afterMs: number, cause: unknown): ProviderError {
  return new ProviderError(
    'unavailable',
    `${server} at ${host} did not answer within ${afterMs / 1000} s: check the server ${setting} names.`,
    { retryable: true, cause },
  );
}

export function clip(text: string): string {
  return text.length <= MAX_QUOTED ? text : `${text.slice(0, MAX_QUOTED)}…`.toWellFormed();
}

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}
