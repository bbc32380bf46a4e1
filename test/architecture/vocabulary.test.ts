/** Which names count as none. */
import { expect, it } from 'vitest';
import { countNames } from './vocabulary.ts';

const countIn = (text: string, path = 'src/a.ts') =>
  countNames([{ path, text, lines: 1, own: [], typesOnly: [], documented: [], packages: [], functions: [] }]);

it('counts every variable and parameter, those of patterns included', () => {
  const { bindings, odd } = countIn(
    'const [first, { second: known, ...rest }] = f;\nfunction run(given = 1, ...said) { return (made) => made; }',
  );
  expect(bindings).toBe(6);
  expect(odd).toEqual(['src/a.ts:1 known', 'src/a.ts:2 given', 'src/a.ts:2 said', 'src/a.ts:2 made']);
});

it('leaves members, types and names that contain such a word alone', () => {
  expect(countIn('const knownUsers = row.known as { known: string };').odd).toEqual([]);
  expect(countIn('const users = { known };', 'channels/a.js')).toEqual({ bindings: 1, odd: [] });
});
