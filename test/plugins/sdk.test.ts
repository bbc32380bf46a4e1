/** The published types: a plug-in that sees nothing else of Parley is checked against them. */
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { sdkFiles } from '../../src/bundle.ts';
import { ROOT } from '../architecture/imports.ts';
import { runShell } from '../docs/shell.ts';

const TSC = path.join(ROOT, 'node_modules/.bin/tsc');

/** A folder elsewhere with the package and Node's types, and nothing else. */
async function strangersFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-sdk-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [name, content] of sdkFiles(ROOT)) {
    const file = path.join(folder, 'node_modules/@parley', name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  for (const name of ['@types/node', 'undici-types']) {
    const place = path.join(folder, 'node_modules', name);
    await mkdir(path.dirname(place), { recursive: true });
    await symlink(path.join(ROOT, 'node_modules', name), place);
  }
  await cp(path.join(ROOT, 'test/fakes/plugins/harbor'), path.join(folder, 'harbor'), { recursive: true });
  const compilerOptions = {
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable', 'dom', 'dom.iterable'],
    module: 'nodenext',
    types: ['node'],
    strict: true,
    noEmit: true,
    erasableSyntaxOnly: true,
  };
  await writeFile(path.join(folder, 'package.json'), '{ "type": "module" }');
  await writeFile(
    path.join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['harbor'] }),
  );
  return folder;
}

const check = (cwd: string) => runShell(TSC, { cwd, env: { HOME: tmpdir() } });

it('is enough for a whole channel, and finds what breaks the contract', async () => {
  const folder = await strangersFolder();
  expect(await check(folder)).toEqual({ code: 0, output: '' });
  const wrong = `import type { PluginModule } from '@parley/sdk';
export const channel: PluginModule['channel'] = () => ({ start: async () => {}, stop: async () => {}, send: async () => 1 });`;
  await writeFile(path.join(folder, 'harbor/wrong.ts'), wrong);
  const { code, output } = await check(folder);
  expect(code).not.toBe(0);
  expect(output).toContain('PluginSent');
}, 60_000);
