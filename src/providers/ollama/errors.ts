/** What Ollama's own refusals and error lines mean, and what to do about them. */
import { ProviderError } from '../../contracts/errors.ts';
import { clip } from '../errors.ts';
import type { Where } from '../errors.ts';
import { commonRefusal, outOfMemoryIn, overflowIn, saidIn } from '../refusals.ts';
import type { Refusal } from '../refusals.ts';

/** An Ollama as error messages name it; `host` is without credentials, `setting` holds its address. */
export function ollamaAt(host: string, setting: string): Where {
  return { server: 'Ollama', host, setting, start: 'start it with `ollama serve`' };
}

/** The error for an answer that is not 200. */
export function refusedBy(where: Where, refusal: Refusal): ProviderError {
  const { status, text } = refusal;
  const said = saidIn(text);
  if (status === 404 && where.model !== undefined && said !== undefined) return unknownModel(where);
  if (status === 401 || status === 403) {
    return new ProviderError(
      'unauthorized',
      `${where.host} refused the access (${status}): check ${where.setting} and its key.`,
    );
  }
  const common = commonRefusal(where, refusal, said);
  if (common !== undefined) return common;
  if (said === undefined) {
    return new ProviderError(
      'bad_response',
      `${where.host} answered ${status} and not as Ollama would: ${where.setting} must name an Ollama server.`,
    );
  }
  return new ProviderError(
    'bad_request',
    `Ollama at ${where.host} refused the call (${status}): ${clip(said ?? text)}`,
  );
}

/** The error for an `{"error": …}` line after status 200. */
export function failedMidway(where: Where, error: string): ProviderError {
  const broken = `Ollama broke off its answer: ${clip(error)}`;
  return (
    overflowIn(where, error) ??
    outOfMemoryIn(where, error) ??
    new ProviderError('bad_response', broken, { retryable: true })
  );
}

/** The error for a model that the server does not list. */
function unknownModel({ host, model }: Where): ProviderError {
  return new ProviderError(
    'unknown_model',
    `Ollama at ${host} has no model "${model}": fetch it with \`ollama pull ${model}\`, or name another.`,
  );
}
