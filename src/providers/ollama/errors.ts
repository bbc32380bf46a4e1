/** What Ollama's own refusals and error lines mean, and what to do about them. */
import { ProviderError } from '../../contracts/errors.ts';
import { textRef } from '../../contracts/texts/say.ts';
import { clip } from '../errors.ts';
import type { Where } from '../errors.ts';
import { overflowIn } from '../overflow.ts';
import { commonRefusal, outOfMemoryIn, saidIn } from '../refusals.ts';
import type { Refusal } from '../refusals.ts';

/** An Ollama as error messages name it; `host` is without credentials, `setting` holds its address. */
export function ollamaAt(host: string, setting: string): Where {
  return { server: 'Ollama', host, setting, start: textRef('provider.start_ollama') };
}

/** The error for an answer that is not 200. */
export function refusedBy(where: Where, refusal: Refusal): ProviderError {
  const { status, text } = refusal;
  const { host, setting } = where;
  const serverText = saidIn(text);
  if (status === 404 && where.model !== undefined && serverText !== undefined) return unknownModel(where);
  if (status === 401 || status === 403) {
    return new ProviderError('unauthorized', textRef('provider.access_refused', { host, status, setting }));
  }
  const common = commonRefusal(where, refusal, serverText);
  if (common !== undefined) return common;
  if (serverText === undefined) {
    return new ProviderError('bad_response', textRef('provider.not_ollama', { host, status, setting }));
  }
  return new ProviderError(
    'bad_request',
    textRef('provider.ollama_refused', { host, status, reason: clip(serverText) }),
  );
}

/** The error for an `{"error": …}` line after status 200. */
export function failedMidway(where: Where, error: string): ProviderError {
  const broken = textRef('provider.ollama_broke_off', { reason: clip(error) });
  return (
    overflowIn(where, error) ??
    outOfMemoryIn(where, error) ??
    new ProviderError('bad_response', broken, { retryable: true })
  );
}

/** The error for a model that the server does not list. */
function unknownModel({ host, model }: Where): ProviderError {
  return new ProviderError('unknown_model', textRef('provider.ollama_no_model', { host, model: `${model}` }));
}
