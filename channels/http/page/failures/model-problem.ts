/**
 * What is wrong with the model server, for a reader: in English the gateway's own text, which is the most specific.
 */
import type { HealthReport } from '../../../../src/protocol/gateway-api.ts';
import { language, say } from '../texts.ts';

/** Undefined while all is well, and for a reader who may not learn what is wrong. */
export function modelProblem(
  { state, detail, missing = [], replaced = [] }: HealthReport['model'],
  reader: { language: string; say: typeof say } = { language, say },
): string | undefined {
  if (state === 'up') return undefined;
  if (reader.language === 'en' && detail !== undefined) return detail;
  if (state === 'down') return reader.say('page.model_away');
  const others = replaced.map(({ model, instead }) =>
    reader.say('page.model.replaced', { name: model, other: instead }),
  );
  const text = [...(missing.length > 0 ? [reader.say('page.model_missing')] : []), ...others].join(' ');
  return text === '' ? undefined : text;
}
