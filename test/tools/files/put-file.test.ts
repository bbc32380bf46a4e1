/** Files that arrive in pieces: whole or not at all, within their limits, and only in their folder. */
import { createHash } from 'node:crypto';
import { link, mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ArrivingFile, SessionFiles } from '../../../src/protocol/agent/tool.ts';
import { createSessionFiles } from '../../../src/tools/files/session-files.ts';
import { MAX_WORKSPACE_BYTES } from '../../../src/tools/files/save-file.ts';
import { testLog } from '../../fakes/agent/tool-context.ts';

let root = '';
let files: SessionFiles;
let place = '';

beforeEach(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'parley-files-'));
  files = createSessionFiles(path.join(root, 'sessions'), testLog());
  place = await files.open('s');
});
afterEach(() => rm(root, { recursive: true }));

const MAX_BYTES = 1_000;
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A file that arrives in these pieces. */
function arriving(pieces: Iterable<string> | AsyncIterable<string>, name = 'inbox/a.txt'): ArrivingFile {
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) yield Buffer.from(piece);
  };
  return { chunks: chunks(), maxBytes: MAX_BYTES, pathOf: () => name };
}

/** What is left of files that did not arrive completely. */
const leftovers = (): Promise<string[]> => readdir(path.join(root, 'sessions', '.arriving'));

describe('a file that arrives', () => {
  it('is stored under the path derived from its content', async () => {
    const file: ArrivingFile = {
      ...arriving(['one ', 'two']),
      pathOf: ({ sha256: sum, bytes }) => `inbox/${bytes}-${sum.slice(0, 8)}`,
    };
    const path8 = `inbox/7-${sha256('one two').slice(0, 8)}`;
    expect(await files.put('s', file)).toEqual({ path: path8, bytes: 7, sha256: sha256('one two') });
    expect(await readFile(path.join(place, path8), 'utf8')).toBe('one two');
    expect(await leftovers()).toEqual([]);
  });

  it('replaces what is there, and leaves the same content alone', async () => {
    await files.put('s', arriving(['old']));
    await files.put('s', arriving(['new']));
    await using open = await files.read('s', 'inbox/a.txt');
    await files.put('s', arriving(['n', 'ew']));
    await using again = await files.read('s', 'inbox/a.txt');
    expect([await text(open), await text(again)]).toEqual(['new', 'new']);
    expect(await readdir(path.join(place, 'inbox'))).toEqual(['a.txt']);
  });

  it('can be as long as its limit, and is refused as soon as it is longer', async () => {
    expect(await files.put('s', arriving(['x'.repeat(MAX_BYTES)]))).toMatchObject({ bytes: MAX_BYTES });
    let asked = 0;
    const endless = function* (): Generator<string> {
      for (;;) yield 'x'.repeat(100 + 0 * (asked += 1));
    };
    await expect(files.put('s', arriving(endless(), 'inbox/b'))).rejects.toMatchObject({ code: 'too_large' });
    expect(asked).toBe(MAX_BYTES / 100 + 1);
    expect([await readdir(path.join(place, 'inbox')), await leftovers()]).toEqual([['a.txt'], []]);
  });

  it('is refused when it is empty', async () => {
    await expect(files.put('s', arriving([]))).rejects.toMatchObject({ code: 'empty' });
    await expect(files.put('s', arriving(['', '']))).rejects.toMatchObject({ code: 'empty' });
    expect([await readdir(place), await leftovers()]).toEqual([[], []]);
  });

  it('does not exist at all when its sender disconnects', async () => {
    const cut = async function* (): AsyncGenerator<string> {
      yield 'half';
      throw new Error('gone');
    };
    await expect(files.put('s', arriving(cut()))).rejects.toThrow('gone');
    expect([await readdir(place), await leftovers()]).toEqual([[], []]);
  });

  it('is refused when the folder has no room for it', async () => {
    const big = path.join(place, 'big');
    await writeFile(big, Buffer.alloc(MAX_WORKSPACE_BYTES - 100 * 1024));
    expect(await files.put('s', arriving(['x']))).toMatchObject({ bytes: 1 });
    await writeFile(big, Buffer.alloc(100 * 1024), { flag: 'a' });
    await expect(files.put('s', arriving(['x'], 'inbox/b'))).rejects.toMatchObject({
      code: 'workspace_full',
    });
    expect(await readdir(path.join(place, 'inbox'))).toEqual(['a.txt']);
  });

  it('is never written through a link, over a second name, or outside the folder', async () => {
    const outside = path.join(root, 'outside');
    await mkdir(outside);
    await writeFile(path.join(outside, 'a.txt'), 'mine');
    await symlink(outside, path.join(place, 'inbox'));
    await expect(files.put('s', arriving(['x']))).rejects.toMatchObject({ code: 'not_found' });
    await link(path.join(outside, 'a.txt'), path.join(place, 'second'));
    await expect(files.put('s', arriving(['x'], 'second'))).rejects.toMatchObject({ code: 'refused' });
    await expect(files.put('s', arriving(['x'], '../x'))).rejects.toMatchObject({ code: 'bad_path' });
    await expect(files.put('s', arriving(['x'], '.'))).rejects.toMatchObject({ code: 'bad_path' });
    expect(await readFile(path.join(outside, 'a.txt'), 'utf8')).toBe('mine');
    expect([await readdir(outside), await leftovers()]).toEqual([['a.txt'], []]);
  });

  it('removes what a killed process left a day ago, and nothing newer', async () => {
    const folder = path.join(root, 'sessions', '.arriving');
    await mkdir(folder);
    for (const name of ['old', 'new']) await writeFile(path.join(folder, name), 'half');
    const yesterday = new Date(Date.now() - 25 * 3_600_000);
    await utimes(path.join(folder, 'old'), yesterday, yesterday);
    await files.put('s', arriving(['x']));
    expect(await leftovers()).toEqual(['new']);
  });
});

describe('a file that is read', () => {
  it('returns its length, its beginning and its content', async () => {
    await files.put('s', arriving(['one two']));
    await using file = await files.read('s', 'inbox/a.txt');
    expect([file.bytes, Buffer.from(await file.head(3)).toString(), await text(file)]).toEqual([
      7,
      'one',
      'one two',
    ]);
  });

  it('has the length it had when it was opened, however it grows', async () => {
    await files.put('s', arriving(['one']));
    await using file = await files.read('s', 'inbox/a.txt');
    await writeFile(path.join(place, 'inbox', 'a.txt'), ' two', { flag: 'a' });
    expect(await text(file)).toBe('one');
  });

  it('must be a plain file of the folder', async () => {
    await mkdir(path.join(place, 'folder'));
    await symlink('/etc/passwd', path.join(place, 'link'));
    const codes = ['folder', 'link', '../s/link', 'missing', '/etc/passwd', ''].map((name) =>
      files.read('s', name).then(
        () => 'opened',
        (error: { code: string }) => error.code,
      ),
    );
    expect(await Promise.all(codes)).toEqual([
      'refused',
      'refused',
      'bad_path',
      'not_found',
      'bad_path',
      'refused',
    ]);
  });
});

describe('a file that is removed', () => {
  it('is gone; a missing one and one that is not a plain file are reported', async () => {
    await files.put('s', arriving(['x']));
    await mkdir(path.join(place, 'folder'));
    expect([await files.discard('s', 'inbox/a.txt'), await files.discard('s', 'inbox/a.txt')]).toEqual([
      true,
      false,
    ]);
    await expect(files.discard('s', 'folder')).rejects.toMatchObject({ code: 'refused' });
    await expect(files.discard('s', '../s')).rejects.toMatchObject({ code: 'bad_path' });
    expect(await readdir(place)).toEqual(['folder', 'inbox']);
  });
});

it('reads a part of a file, which never goes past its end', async () => {
  await files.put('s', arriving(['abcdefghij']));
  const part = async (from: number, to?: number) =>
    await text(await files.read('s', 'inbox/a.txt'), from, to);
  expect([await part(2, 5), await part(7), await part(8, 50)]).toEqual(['cde', 'hij', 'ij']);
});

async function text(
  file: { chunks(from?: number, to?: number): AsyncIterable<Uint8Array> },
  from?: number,
  to?: number,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of file.chunks(from, to)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
