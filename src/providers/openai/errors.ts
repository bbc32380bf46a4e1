/** What the refusals and errors of an OpenAI-compatible server mean, and which variable to change. */
import { z } from 'zod';
import { ProviderError } from '../../contracts/errors.ts';
import { clip, overflowIn } from '../errors.ts';
import type { Where } from '../errors.ts';

/** Names of models repeated in a message. */
const MAX_NAMED = 5;

/** A server as error messages name it. */
export interface OpenaiPlace extends Where {
  /** Names the setting that holds the key. */
  keySetting: string;
}

/** An OpenAI-compatible server as error messages name it; `host` holds nothing secret. */
export function openaiAt(
  host: string,
  { addressSetting, keySetting }: { addressSetting: string; keySetting: string },
): OpenaiPlace {
  return {
    server: 'an OpenAI-compatible server',
    host,
    setting: addressSetting,
    keySetting,
    start: 'start the server',
  };
}

/** The error for an answer that is not 200. */
export function refusedBy(where: OpenaiPlace, status: number, body: string): ProviderError {
  const { host, model, setting, keySetting } = where;
  // The server's own text is left out: some repeat a part of the key.
  if (status === 401 || status === 403) {
    return new ProviderError('unavailable', `${host} refused the key (${status}): set ${keySetting}.`);
  }
  const said = errorText(body);
  if (status === 404 && model !== undefined && said !== undefined && /model/i.test(said)) {
    return unknownModel(where, []);
  }
  if (status === 404 || (said === undefined && status < 500 && status !== 429)) {
    return new ProviderError(
      'bad_response',
      `${host} answered ${status}: ${setting} must name an OpenAI-compatible API, usually an address that ends in /v1.`,
    );
  }
  const overflow = status === 400 || status === 413 ? overflowIn(where, said ?? body) : undefined;
  if (overflow !== undefined) return overflow;
  const quoted = `${status}: ${clip(said ?? body)}`;
  if ((status >= 500 && status !== 501) || status === 429 || status === 499) {
    const message = `The model server at ${host} (${setting}) answered ${quoted}`;
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

/** The error for a model the server does not list; `has` is what it does, as others call those. */
export function unknownModel({ host, model }: Where, has: readonly string[]): ProviderError {
  const named = has.slice(0, MAX_NAMED);
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

/** The text of `{"error": {"message": …}}` or `{"error": "…"}`, with type and code; undefined when it is neither. */
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
