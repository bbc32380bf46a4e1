/** Facts as a model lists them: bullets are stripped, stories and headings dropped, known facts not duplicated. */
import { expect, it } from 'vitest';
import { factsIn, isKnown, MAX_FACTS } from '../../../src/agent/after-turn/facts-worker.ts';

it('reads one fact per line, whatever the model puts before it', () => {
  const answer = [
    'Here are the facts:',
    '- Her name is Ann.',
    '2) She lives in Oslo.',
    '* Sie mag Tee lieber als Kaffee.',
    '```',
    'none',
    `She ${'told a long tale '.repeat(20)}`,
  ].join('\n');
  expect(factsIn(answer)).toEqual([
    'Her name is Ann.',
    'She lives in Oslo.',
    'Sie mag Tee lieber als Kaffee.',
  ]);
  expect(factsIn('None.')).toEqual([]);
});

it(`keeps ${MAX_FACTS} of them`, () => {
  const lines = Array.from({ length: MAX_FACTS + 1 }, (_, n) => `She owns boat number ${n}.`);
  expect(factsIn(lines.join('\n'))).toEqual(lines.slice(0, MAX_FACTS));
});

it.each([
  ['Lives in Oslo', 'The user lives in Oslo.', true],
  ['the user LIVES in oslo', 'The user lives in Oslo.', true],
  ['Lives in Oslo with two cats', 'The user lives in Oslo.', false],
  ['Lives in Rome', 'The user lives in Oslo.', false],
])('compares %j with %j: known is %j', (fact, known, expected) => {
  expect(isKnown(fact, ['Has a dog', known])).toBe(expected);
});
