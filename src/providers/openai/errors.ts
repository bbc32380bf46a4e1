/** What the refusals and errors of an OpenAI-compatible server mean, and which variable to change. */
import { ProviderError } from '../../protocol/errors.ts';
import { textRef } from '../../protocol/texts/say.ts';
import { clip, type Where } from '../errors.ts';
import { commonRefusal, inWords, midwayRefusal, publicWords, type Refusal, saidIn } from '../refusals.ts';

/** Names of models repeated in a message. */
const MAX_NAMED = 5;

/** A server as error messages name it. */
export interface OpenaiPlace extends Where {
  /** Names the setting that holds the key. */
  keySetting: string;
}

/** An OpenAI-compatible server as error messages name it; `host` contains nothing secret. */
export function openaiAt(
  host: string,
  { addressSetting, keySetting }: { addressSetting: string; keySetting: string },
): OpenaiPlace {
  return {
    server: textRef('provider.some_server'),
    host,
    setting: addressSetting,
    keySetting,
    start: textRef('provider.start_server'),
  };
}

/** The error for an answer that is not 200. */
export function refusedBy(where: OpenaiPlace, refusal: Refusal): ProviderError {
  const { status, text } = refusal;
  const { host, model, setting, keySetting } = where;
  const serverText = saidIn(text);
  if (status === 401 || status === 403) {
    const reason = publicWords(serverText ?? '') ?? `${status}`;
    return new ProviderError(
      'unauthorized',
      textRef('provider.key_refused', { host, status, setting: keySetting, reason }),
      { forPeople: inWords(textRef('failure.unauthorized'), serverText ?? '') },
    );
  }
  if (status === 404 && model !== undefined && serverText !== undefined && /model/i.test(serverText)) {
    return unknownModel(where, []);
  }
  return (
    commonRefusal(where, refusal, serverText) ??
    new ProviderError('bad_response', textRef('provider.not_openai', { host, status, setting }))
  );
}

/** The error that an event reports after status 200. */
export function failedMidway(where: OpenaiPlace, data: string): ProviderError {
  const { host } = where;
  return midwayRefusal(where, data, {
    refusedBy: (refusal) => refusedBy(where, refusal),
    broken: (reason) => textRef('provider.openai_broke_off', { host, reason }),
  });
}

/** The error for a model the server does not list; `has` is what it does list, by the public names. */
export function unknownModel({ host, model }: Where, has: readonly string[]): ProviderError {
  const about = { host, model: `${model}` };
  const models = clip(has.slice(0, MAX_NAMED).join(', '));
  return new ProviderError(
    'unknown_model',
    models === ''
      ? textRef('provider.no_model', about)
      : textRef('provider.no_model_has', { ...about, models }),
  );
}
