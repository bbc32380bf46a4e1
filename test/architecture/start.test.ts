/** What a start loads, and when: found in the sources, without running them. */
import path from 'node:path';
import { expect, it } from 'vitest';
import { readSources } from './imports.ts';

/** Its whole content decides, so a file more is worth a thought. */
const MOST_FILES = 60;

it('loads little before the embedded database of a start is opening, because the rest loads next to it', () => {
  const byPath = new Map(readSources(['src', 'channels']).map((file) => [file.path, file]));
  const early = new Set(['src/cli.ts']);
  for (const name of early) {
    const text = byPath.get(name)?.text ?? '';
    for (const [, from = ''] of text.matchAll(/^(?:import|export) (?!type)[^;']*'(\.[^']*)'/gm))
      early.add(path.posix.join(path.posix.dirname(name), from));
  }
  expect(early).toContain('src/store/begin-home.ts');
  const packages = [...early].flatMap((name) => byPath.get(name)?.packages ?? []);
  expect(packages.filter((name) => name !== 'zod' && !name.startsWith('node:'))).toEqual([]);
  expect(early.size).toBeLessThan(MOST_FILES);
});
