/** What Ollama's own refusals and error lines mean, and what to do about them. */
import { ProviderError } from '../../contracts/errors.ts';
import { textRef } from '../../contracts/texts/say.ts';
import { clip, type Where } from '../errors.ts';
import { fieldsOf, wordOf } from '../answers/read-fields.ts';
import { commonRefusal, inWords, midwayRefusal, publicWords, type Refusal, saidIn } from '../refusals.ts';
import { parseJson } from '../../lib/json/json.ts';

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
  if (status === 401 || status === 403) return accessRefused(where, refusal, serverText ?? '');
  return (
    commonRefusal(where, refusal, serverText) ??
    new ProviderError('bad_response', textRef('provider.not_ollama', { host, status, setting }))
  );
}

/**
 * The error for a missing key, or an account that its cloud does not serve: it answers 401 with an address to sign in at,
 * or 403 with its reason.
 */
function accessRefused(
  { host, setting }: Where,
  { status, text }: Refusal,
  serverText: string,
): ProviderError {
  const url = wordOf(fieldsOf(parseJson(text))?.['signin_url']);
  if (url !== '') {
    const message = textRef('provider.not_signed_in', { host, status, url: clip(url) });
    return new ProviderError('unauthorized', message, { forPeople: textRef('failure.sign_in') });
  }
  const reason = publicWords(serverText);
  const forPeople = inWords(textRef('failure.unauthorized'), serverText);
  const message =
    status === 403 && reason !== undefined
      ? textRef('provider.access_forbidden', { host, status, reason })
      : textRef('provider.access_refused', { host, status, setting, reason: reason ?? `${status}` });
  return new ProviderError('unauthorized', message, { forPeople });
}

/** The error for an `{"error": …}` line after status 200. */
export function failedMidway(where: Where, error: string): ProviderError {
  return midwayRefusal(where, error, {
    refusedBy: (refusal) => refusedBy(where, refusal),
    broken: (reason) => textRef('provider.ollama_broke_off', { reason }),
  });
}

/** The error for a model that the server does not list. */
function unknownModel({ host, model }: Where): ProviderError {
  return new ProviderError('unknown_model', textRef('provider.ollama_no_model', { host, model: `${model}` }));
}
