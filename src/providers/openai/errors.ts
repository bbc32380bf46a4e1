/** What the refusals and errors of an OpenAI-compatible server mean, and which variable to change. */
import { z } from 'zod';
import { ProviderError } from '../../contracts/errors.ts';
import { clip, overflowIn } from '../errors.ts';
import type { Where } from '../errors.ts';

/** Names of models repeated in a message. */
const MAX_NAMED = 5;

/** The server that errors name; `host` is OPENAI_BASE_URL without anything secret. */
export function openaiAt(host: string): Where {
  return {
    server: 'an OpenAI-compatible server',
    host,
    variable: 'OPENAI_BASE_URL',
    start: 'start the server',
  };
}

/** The error for an answer that is not 200. */
export function refusedBy(where: Where, status: number, body: string): ProviderError {
  const { host, model } = where;
  // Not in the server's words: some repeat a part of the key.
  if (status === 401 || status === 403) {
    return new ProviderError('unavailable', `${host} refused the key (${status}): set OPENAI_API_KEY.`);
  }
  const said = errorText(body);
  if (status === 404 && model !== undefined && said !== undefined && /model/i.test(said)) {
    return unknownModel(where, []);
  }
  if (status === 404 || (said === undefined && status < 500 && status !== 429)) {
    return new ProviderError(
      'bad_response',
      `${host} answered ${status}: OPENAI_BASE_URL must name an OpenAI-compatible API, usually an address that ends in /v1.`,
    );
  }
  const overflow = status === 400 || status === 413 ? overflowIn(where, said ?? body) : undefined;
  if (overflow !== undefined) return overflow;
  const quoted = `${status}: ${clip(said ?? body)}`;
  if ((status >= 500 && status !== 501) || status === 429 || status === 499) {
    const message = `The model server at ${host} (OPENAI_BASE_URL) answered ${quoted}`;
    return new ProviderError('unavailable', message, { retryable: true });
  }
  return new ProviderError('bad_request', `The model server at ${host} refused the call with ${quoted}`);
}

/** The error an event tells after status 200. */
export function failedMidway(where: Where, data: string): ProviderError {
  const said = errorText(data) ?? data;
  const broken = `The model server at ${where.host} broke off its answer: ${clip(said)}`;
  return overflowIn(where, said) ?? new ProviderError('bad_response', broken, { retryable: true });
}

/** The error for a model the server does not list; `has` is what it does. */
export function unknownModel({ host, model }: Where, has: readonly string[]): ProviderError {
  const named = has.slice(0, MAX_NAMED).map((name) => `openai/${name}`);
  const choice =
    named.length === 0 ? 'name another in MODEL' : `set MODEL to one it has: ${named.join(', ')}`;
  return new ProviderError(
    'unknown_model',
    `The server at ${host} has no model "${model}": load it there, or ${clip(choice)}.`,
  );
}

const errorBody = z.object({
  error: z.union([
    z.string(),
    z.object({ message: z.string(), type: z.string().nullish(), code: z.unknown().optional() }),
  ]),
});

/** The words of `{"error": {"message": …}}` or `{"error": "…"}`, with what tells its kind; undefined when it is neither. */
function errorText(body: string): string | undefined {
  try {
    const { error } = errorBody.parse(JSON.parse(body));
    if (typeof error === 'string') return error;
    const kinds = [error.type, error.code].filter((kind) => typeof kind === 'string');
    return kinds.length === 0 ? error.message : `${error.message} (${kinds.join(', ')})`;
  } catch {
    // Not an error of this API: a proxy's page, or another kind of server. The caller says so.
    return undefined;
  }
}
