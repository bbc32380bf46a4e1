/** What can go wrong with any model server, as `ProviderError`s that name the setting to change. */
import { ProviderError } from '../protocol/errors.ts';
import { textRef, type TextRef } from '../protocol/texts/say.ts';

/** The server that an error is about. */
export interface Where {
  /** What kind of server it is: its name, as in "Ollama", or a text. */
  server: string | TextRef;
  /** Its address, without credentials. */
  host: string;
  /** Names the setting that holds the address. */
  setting: string;
  /** Names the setting that holds the key. */
  keySetting: string;
  /** How to start such a server, as a name or a text, too. */
  start: string | TextRef;
  model?: string | undefined;
}

/** How much of a server's own text is repeated in a message, in characters. */
const MAX_QUOTED = 300;

/** OpenSSL's codes for an answer that is not TLS. */
const SPEAKS_NO_TLS = /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/;

/** The error for a connection that failed; `hasHead` tells whether the head of an answer had arrived. */
export function lostConnection(where: Where, error: unknown, hasHead: boolean): ProviderError {
  if (error instanceof ProviderError) return error;
  const { server, host, setting, start } = where;
  if (codeOf(error) === 'UND_ERR_DESTROYED') {
    return new ProviderError('aborted', textRef('provider.closed', { server }), { cause: error });
  }
  if (hasHead) {
    return new ProviderError('bad_response', textRef('provider.broke_midway', { server }), {
      retryable: true,
      cause: error,
    });
  }
  if (codeOf(error).startsWith('HPE_')) {
    const message = textRef('provider.not_http', { host, setting, server });
    return new ProviderError('bad_response', message, { cause: error });
  }
  if (SPEAKS_NO_TLS.test(codeOf(error))) {
    const message = textRef('provider.not_tls', { host, setting });
    return new ProviderError('unavailable', message, { retryable: true, cause: error });
  }
  const code = codeOf(error) || textRef('provider.connection_failed');
  const message = textRef('provider.no_answer', { host, code, start, setting });
  return new ProviderError('unavailable', message, { retryable: true, cause: error });
}

/** The error for anything else that was thrown (for an answer of another shape, for instance). */
export function toProviderError({ server, host }: Where, error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  const message = textRef('provider.unreadable', { server, host });
  return new ProviderError('bad_response', message, { cause: error });
}

/** Waits for a request at most `timeoutMs`; `signal` ends it earlier. Throws `ProviderError`. */
export async function requestWithin<T>(
  where: Where,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  request: (until: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = AbortSignal.timeout(timeoutMs);
  try {
    return await request(signal === undefined ? limit : AbortSignal.any([signal, limit]));
  } catch (error) {
    if (limit.aborted && signal?.aborted !== true) throw timedOut(where, timeoutMs, error);
    throw toProviderError(where, error);
  }
}

/** The error for a request that was not answered in time. */
function timedOut({ server, host, setting }: Where, afterMs: number, cause: unknown): ProviderError {
  const message = textRef('provider.slow', { server, host, seconds: afterMs / 1_000, setting });
  return new ProviderError('unavailable', message, { retryable: true, cause });
}

export function clip(text: string): string {
  return text.length <= MAX_QUOTED ? text : `${text.slice(0, MAX_QUOTED)}…`.toWellFormed();
}

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}
