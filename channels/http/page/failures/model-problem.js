/**
 * What is wrong with the model server, for a reader: in English the gateway's own text, which is the most specific.
 */
import { language, say } from '../texts.ts';

/** @typedef {import('../../../../src/protocol/gateway-api.ts').HealthReport} HealthReport */

/**
 * Undefined while all is well, and for a reader who may not learn what is wrong.
 * @param {HealthReport['model']} model
 * @param {{ language: string, say: typeof say }} [reader]
 */
export function modelProblem({ state, detail, missing = [], replaced = [] }, reader = { language, say }) {
  if (state === 'up') return undefined;
  if (reader.language === 'en' && detail !== undefined) return detail;
  if (state === 'down') return reader.say('page.model_away');
  const others = replaced.map(({ model, instead }) =>
    reader.say('page.model.replaced', { name: model, other: instead }),
  );
  const text = [...(missing.length > 0 ? [reader.say('page.model_missing')] : []), ...others].join(' ');
  return text === '' ? undefined : text;
}
