/** The types of everything, as `npm run check` checks them: a tree that does not compile must not pass its tests. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

it('compiles without errors (S-50)', () => {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const run = spawnSync('tsc', ['--noEmit'], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${root}node_modules/.bin:${process.env['PATH']}` },
  });
  expect([run.status, run.stdout]).toEqual([0, '']);
}, 120_000);
