/** Which language is taken of those that somebody wants, and what operators read of a failure in it. */
import { describe, expect, it } from 'vitest';
import { GERMAN } from '../../../src/contracts/texts/german.ts';
import { sayFrom } from '../../../src/contracts/texts/say.ts';
import { ProviderError, wordError } from '../../../src/contracts/errors.ts';
import { bestLanguage } from '../../../src/contracts/texts/languages.ts';

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
])('takes of %j %j', (wanted, best) => {
  expect(bestLanguage(wanted, CODES)).toBe(best);
});

describe('a failure of the model', () => {
  const failure = new ProviderError('unavailable', 'Ollama at http://127.0.0.1:11434 cannot be reached.', {
    retryable: true,
    retryAfterMs: 3_000,
  });

  it('is told to operators with its details, before them in their language where that is not English', () => {
    const german = sayFrom('de', GERMAN);
    expect(wordError(failure, 'operator')).toBe(failure.message);
    expect(wordError(failure, 'operator', german)).toBe(
      `${wordError(failure, 'person', german)} (${failure.message})`,
    );
    expect(wordError(failure, 'person', german)).toBe(
      'Das Modell ist gerade nicht erreichbar. Versuch es in 3 s noch einmal.',
    );
  });
});
