/** Modules of the page joined into scripts: run in order, each once, and later ones from their address. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleScript } from '../../../../channels/http/page-build.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'parley-bundle-'));
  await mkdir(path.join(folder, 'words'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Joins `main.js` of these modules; returns its code, and the addresses it requested. */
async function bundled(modules: Record<string, string>): Promise<{ code: string; later: string[] }> {
  for (const [name, source] of Object.entries(modules)) await writeFile(path.join(folder, name), source);
  const later: string[] = [];
  const code = await bundleScript(path.join(folder, 'main.js'), (specifier, importer) => {
    later.push(specifier);
    return Promise.resolve(pathToFileURL(path.resolve(path.dirname(importer), specifier)).href);
  });
  return { code, later };
}

/** What a script exports. */
const run = async (code: string): Promise<object> => ({
  ...((await import(`data:text/javascript,${encodeURIComponent(code)}`)) as object),
});

describe('a bundle', () => {
  it('runs each module once, after those that it imports, and contains none of its comments', async () => {
    const { code, later } = await bundled({
      'main.js': [
        "import { log, note } from './log.js';",
        "import { twice } from './words/twice.js';",
        '// A comment of its own.',
        'note(`main ${twice("a")}`);',
        'export { log };',
      ].join('\n'),
      'log.js': 'export const log = [];\nexport const note = (text) => log.push(text);\nnote("log");',
      'words/twice.js':
        "import { note } from '../log.js';\nnote('twice');\nexport const twice = (text) => text + text;",
    });
    expect(await run(code)).toEqual({ log: ['log', 'twice', 'main aa'] });
    expect(code).not.toContain('comment');
    expect(later).toEqual([]);
  });

  it('loads what is imported later from its address, and contains none of it', async () => {
    const { code, later } = await bundled({
      'main.js': "export const load = async () => (await import('./later.js')).made;",
      'later.js': "export const made = 'made later';",
    });
    expect(later).toEqual(['./later.js']);
    expect(code).not.toContain('made later');
    const { load } = (await run(code)) as { load: () => Promise<string> };
    expect(await load()).toBe('made later');
  });

  it('takes what the first script shares from there, and contains none of it', async () => {
    await bundled({
      'main.js': "import { word } from './words/shared-word.js';\nexport const said = word;",
      'words/shared-word.js': "export const word = 'of its own';",
    });
    const shared = new Map([[path.join(folder, 'words/shared-word.js'), { name: './words.js' }]]);
    const code = await bundleScript(
      path.join(folder, 'main.js'),
      () => Promise.reject(new Error('none')),
      shared,
    );
    expect(code).not.toContain('of its own');
    Reflect.set(globalThis, 'parleyShared', { './words.js': { word: 'shared' } });
    expect(await run(code)).toEqual({ said: 'shared' });
    Reflect.deleteProperty(globalThis, 'parleyShared');
  });

  it('cannot be built when it needs a name that the first script does not share', async () => {
    const source = "import { a, b } from 'a-package';\nexport const both = [a, b];";
    await writeFile(path.join(folder, 'main.js'), source);
    const build = (names: string): Promise<string> =>
      bundleScript(
        path.join(folder, 'main.js'),
        () => Promise.reject(new Error('none')),
        new Map([['a-package', { name: 'a-package', names }]]),
      );
    expect(await build('{ a, b }')).not.toBe('');
    await expect(build('{ a }')).rejects.toThrow(/No matching export.*"b"/);
  });

  it('names the file and the line of an import that leads nowhere', async () => {
    const broken = bundled({ 'main.js': "\nimport { a } from './gone.js';\na();" });
    await expect(broken).rejects.toThrow(/main\.js:2:.*"\.\/gone\.js"/);
  });

  it('can be built in parallel with others', async () => {
    const all = [1, 2, 3].map(() => bundled({ 'main.js': 'export const one = 1;' }));
    expect(await Promise.all((await Promise.all(all)).map(({ code }) => run(code)))).toEqual(
      [1, 2, 3].map(() => ({ one: 1 })),
    );
  });
});
