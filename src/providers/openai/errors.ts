/** What the refusals and errors of an OpenAI-compatible server mean, and which variable to change. */
import { ProviderError } from '../../contracts/errors.ts';
import { clip } from '../errors.ts';
import type { Where } from '../errors.ts';
import { commonRefusal, outOfMemoryIn, overflowIn, saidIn } from '../refusals.ts';
import type { Refusal } from '../refusals.ts';

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
export function refusedBy(where: OpenaiPlace, refusal: Refusal): ProviderError {
  const { status, text } = refusal;
  const { host, model, setting, keySetting } = where;
  // The server's own text is left out: some repeat a part of the key.
  if (status === 401 || status === 403) {
    return new ProviderError('unauthorized', `${host} refused the key (${status}): set ${keySetting}.`);
  }
  const said = saidIn(text);
  if (status === 404 && model !== undefined && said !== undefined && /model/i.test(said)) {
    return unknownModel(where, []);
  }
  const common = commonRefusal(where, refusal, said);
  if (common !== undefined) return common;
  if (status === 404 || said === undefined) {
    return new ProviderError(
      'bad_response',
      `${host} answered ${status}: ${setting} must name an OpenAI-compatible API, usually an address that ends in /v1.`,
    );
  }
  return new ProviderError(
    'bad_request',
    `The model server at ${host} refused the call with ${status}: ${clip(said)}`,
  );
}

/** The error an event tells after status 200. */
export function failedMidway(where: Where, data: string): ProviderError {
  const said = saidIn(data) ?? data;
  const broken = `The model server at ${where.host} broke off its answer: ${clip(said)}`;
  return (
    overflowIn(where, said) ??
    outOfMemoryIn(where, said) ??
    new ProviderError('bad_response', broken, { retryable: true })
  );
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
