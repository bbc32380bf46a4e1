/** Which of a user's preferred languages is used, and what operators read about a failure in it. */
import { describe, expect, it } from 'vitest';
import GERMAN from '../../../src/settings/languages/de.json' with { type: 'json' };
import { readStoredText, textRef, sayFrom, storedText } from '../../../src/protocol/texts/say.ts';
import { ProviderError, wordError } from '../../../src/protocol/errors.ts';
import { bestLanguage } from '../../../src/protocol/texts/languages.ts';

const CODES = ['en', 'de', 'pt-BR', 'fr'];

it.each([
  ['de', 'de'],
  ['de-AT', 'de'],
  ['DE_de'.replace('_', '-'), 'de'],
  ['pt-BR', 'pt-BR'],
  ['pt-PT', 'pt-BR'],
  ['fr, de;q=0.9', 'fr'],
  ['de;q=0.5, fr;q=0.9, en;q=0.1', 'fr'],
  ['nl, de;q=0.3, *;q=0.1', 'de'],
  ['de;q=0, en', 'en'],
  ['*', undefined],
  ['', undefined],
  [';;q=x,,', undefined],
  ['nl', undefined],
])('for %j picks %j', (wanted, best) => {
  expect(bestLanguage(wanted, CODES)).toBe(best);
});

describe('a failure of the model', () => {
  const failure = new ProviderError('unavailable', 'Ollama at http://127.0.0.1:11434 cannot be reached.', {
    retryable: true,
    retryAfterMs: 3_000,
  });

  it('is reported to operators with its details, after a sentence in their language if it is not English', () => {
    const german = sayFrom('de', GERMAN);
    const details = 'Ollama at … cannot be reached.';
    expect(wordError(failure, 'operator')).toBe(details);
    expect(wordError(failure, 'operator', german)).toBe(
      `${wordError(failure, 'person', german)} (${details})`,
    );
    expect(wordError(failure, 'person', german)).toBe(
      'Das Modell ist gerade nicht erreichbar. Versuch es in 3 s noch einmal.',
    );
  });

  it('is reported to operators only in their language if the tables have its details, and to no one else', () => {
    const german = sayFrom('de', GERMAN);
    const about = { host: 'http://127.0.0.1:11434', model: 'odd' };
    const unknown = new ProviderError('unknown_model', textRef('provider.no_model', about));
    expect(unknown.message).toBe(
      'The server at http://127.0.0.1:11434 has no model "odd": load it there, or set MODEL to another one.',
    );
    expect(wordError(unknown, 'operator', german)).toBe(
      'Der Server unter … hat kein Modell „odd“: lade es dort, oder nenn ein anderes in MODEL.',
    );
    expect(wordError(unknown, 'person', german)).toBe(german('failure.unknown_model'));
  });

  it('keeps its sentence whole where a language writes no space after an address', () => {
    const chinese = sayFrom('zh', { 'provider.refused': '{host}拒绝了请求({status}):{reason}' });
    const reason = 'no route to http://10.0.0.7:8000';
    const about = { host: 'http://127.0.0.1:11434', status: 400, reason };
    const refused = new ProviderError('bad_request', textRef('provider.refused', about));
    expect(wordError(refused, 'operator', chinese)).toBe('…拒绝了请求(400):no route to …');
  });
});

it('keeps a text with texts among its values, and reads nothing else as one', () => {
  const kept = textRef('profile.cannot_answer', {
    profile: 'x',
    why: textRef('model.unknown', { name: 'odd' }),
  });
  expect(readStoredText(storedText(kept))).toEqual(kept);
  const strange = '{"key":"profile.cannot_answer","values":{"why":{"key":"no.such"}}}';
  expect(readStoredText(strange)).toBeUndefined();
});
