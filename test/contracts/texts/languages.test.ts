/** Which language is taken of those that somebody wants. */
import { expect, it } from 'vitest';
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
