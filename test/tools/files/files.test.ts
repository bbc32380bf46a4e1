/** `list_dir` and `read_file` as the model sees them. */
import { mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listDir, MAX_ENTRIES, MAX_SCANNED } from '../../../src/tools/files/list-dir.ts';
import { MAX_PAGE_BYTES } from '../../../src/tools/files/read-file.ts';
import { readFile } from '../../fakes/tool-options.ts';
import type { Tool } from '../../../src/protocol/agent/tool.ts';
import { toolContext } from '../../fakes/agent/tool-context.ts';

let workspace = '';

beforeAll(async () => {
  workspace = await mkdtemp(path.join(os.tmpdir(), 'parley-files-'));
});

afterAll(async () => {
  await rm(workspace, { recursive: true });
});

async function call(tool: Tool, args: Record<string, unknown>): Promise<string> {
  const result = await tool.execute(tool.parameters.parse(args), toolContext({ workspace }));
  return result.content;
}

it('lists names, sizes and kinds in order (B-19)', async () => {
  await mkdir(path.join(workspace, 'list', 'folder'), { recursive: true });
  await writeFile(path.join(workspace, 'list', 'b.txt'), 'four');
  await symlink('/etc', path.join(workspace, 'list', 'a-link'));
  await writeFile(path.join(workspace, 'list', 'c\nforged.txt'), '');
  expect(await call(listDir, { path: 'list' })).toBe(
    ['a-link  (link, not readable)', 'b.txt  4 bytes', String.raw`c\nforged.txt  0 bytes`, 'folder/'].join(
      '\n',
    ),
  );
});

it('reports when a folder is empty, and when a file is not a folder', async () => {
  await mkdir(path.join(workspace, 'empty'));
  await writeFile(path.join(workspace, 'file'), 'x');
  expect(await call(listDir, { path: 'empty' })).toBe('(empty folder)');
  await expect(call(listDir, { path: 'file' })).rejects.toThrow('read_file');
  await expect(call(readFile, { path: 'empty' })).rejects.toThrow('list_dir');
});

it(`pages a folder of more than ${MAX_ENTRIES} entries`, async () => {
  await mkdir(path.join(workspace, 'many'));
  const names = Array.from({ length: MAX_ENTRIES + 1 }, (_, n) => `f${String(n).padStart(4, '0')}`);
  await Promise.all(names.map((name) => writeFile(path.join(workspace, 'many', name), '')));
  const first = await call(listDir, { path: 'many' });
  expect(first.split('\n')).toHaveLength(MAX_ENTRIES + 1);
  expect(first).toContain(`continue with "offset": ${MAX_ENTRIES}`);
  expect(await call(listDir, { path: 'many', offset: MAX_ENTRIES })).toBe(`f0${MAX_ENTRIES}  0 bytes`);
});

it(`scans the first ${MAX_SCANNED} entries of a folder and says so`, async () => {
  const folder = path.join(workspace, 'thousands');
  await mkdir(folder);
  const names = Array.from({ length: MAX_SCANNED }, (_, n) => path.join(folder, `f${n}`));
  await Promise.all(names.map((name) => writeFile(name, '')));
  expect(await call(listDir, { path: 'thousands', offset: MAX_SCANNED - 1 })).toContain(
    `only the first ${MAX_SCANNED} entries`,
  );
  expect(await call(listDir, { path: 'thousands', offset: MAX_SCANNED })).toBe(
    `(only ${MAX_SCANNED} entries)`,
  );
});

it('reads a whole small file and names an empty, binary or missing one (B-16)', async () => {
  await writeFile(path.join(workspace, 'hello.md'), 'Привет, 世界 🎉');
  await writeFile(path.join(workspace, 'nothing'), '');
  await writeFile(path.join(workspace, 'image'), Buffer.from([0x89, 0x50, 0, 1]));
  expect(await call(readFile, { path: 'hello.md' })).toBe('Привет, 世界 🎉');
  expect(await call(readFile, { path: 'nothing' })).toBe('(empty file)');
  expect(await call(readFile, { path: 'image' })).toMatch(
    /^\(binary file of 4 bytes: not shown, because .+\)$/,
  );
  await expect(call(readFile, { path: 'no/such' })).rejects.toThrow('There is no "no/such".');
});

it('reads one page of a file of two gigabytes', async () => {
  const big = path.join(workspace, 'big');
  await writeFile(big, 'x'.repeat(MAX_PAGE_BYTES));
  await truncate(big, 2 * 1024 ** 3);
  const page = await call(readFile, { path: 'big' });
  expect(page).toContain(`continue with "offset": ${MAX_PAGE_BYTES}`);
  expect(page.length).toBeLessThan(MAX_PAGE_BYTES + 100);
});

it('returns every character when pages are read one after another, whatever the page size', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }).filter((text) => !text.includes('\0')),
      fc.integer({ min: 4, max: 50 }),
      async (text, limit) => {
        await writeFile(path.join(workspace, 'paged'), text);
        let read = '';
        for (let offset = 0; ;) {
          const page = await call(readFile, { path: 'paged', offset, limit });
          const mark = /\n\(bytes \d+ to \d+ of \d+(?:; continue with "offset": (\d+))?\)$/.exec(page);
          read += mark === null ? page : page.slice(0, mark.index);
          if (mark?.[1] === undefined) break;
          offset = Number(mark[1]);
        }
        expect(read).toBe(Buffer.from(text).toString('utf8'));
      },
    ),
    { numRuns: 100 },
  );
});
