/** Outgoing files: copies of what was sent, which nothing can change undetected afterwards. */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ToolError } from '../../../src/protocol/errors.ts';
import type { StoredFiles } from '../../../src/protocol/media.ts';
import { fileTypeOf } from '../../../src/media/index.ts';
import { createOutgoingFiles, MAX_SENT_BYTES } from '../../../src/tools/files/put-file.ts';
import { createSessionFiles } from '../../../src/tools/files/session-files.ts';
import { testLog } from '../../fakes/agent/tool-context.ts';
import { OGG, PNG } from '../../fakes/media/media-bytes.ts';

let root: string;
let folder: string;
let noted: Parameters<StoredFiles['keep']>[0][];
let outgoing: ReturnType<typeof createOutgoingFiles>;

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'parley-test-'));
  const files = createSessionFiles(root, testLog());
  folder = await files.open('s1');
  noted = [];
  const keep = async (file: Parameters<StoredFiles['keep']>[0]) => void noted.push(file);
  outgoing = createOutgoingFiles(files, fileTypeOf, keep);
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

const write = (name: string, content: string | Buffer) => writeFile(path.join(folder, name), content);

describe('an outgoing file', () => {
  it('is kept as it was, with one copy per content', async () => {
    await write('a.txt', 'first');
    const first = await outgoing.keep('s1', 'a.txt');
    expect(await outgoing.keep('s1', './a.txt')).toEqual(first);
    expect(first).toMatchObject({ kind: 'file', name: 'a.txt', mimeType: 'text/plain', bytes: 5 });
    await write('a.txt', 'second');
    const second = await outgoing.keep('s1', 'a.txt');
    expect(second.file).not.toBe(first.file);
    expect(noted.map(({ path: at, userId, bytes }) => [at, userId, bytes])).toEqual([
      [first.file, 'sent', 5],
      [first.file, 'sent', 5],
      [second.file, 'sent', 6],
    ]);
    await using copy = await outgoing.copy('s1', first);
    expect(await readFile(copy.path, 'utf8')).toBe('first');
  });

  it('is identified by its content, not by its name', async () => {
    await write('picture.txt', PNG);
    await write('sound.png', OGG);
    await write('drawing.svg', '<svg onload="alert(1)"/>');
    expect(await outgoing.keep('s1', 'picture.txt')).toMatchObject({ kind: 'image', mimeType: 'image/png' });
    expect(await outgoing.keep('s1', 'sound.png')).toMatchObject({
      kind: 'audio',
      mimeType: 'audio/ogg; codecs=opus',
    });
    expect(await outgoing.keep('s1', 'drawing.svg')).toMatchObject({ kind: 'file' });
  });

  it('can be a text that is in no session, and is gone afterwards', async () => {
    let place = '';
    {
      await using copy = await outgoing.write('print(1)\n');
      place = copy.path;
      expect(await readFile(place, 'utf8')).toBe('print(1)\n');
    }
    expect(existsSync(path.dirname(place))).toBe(false);
  });

  it('is not sent when its copy was changed, and its private copy is deleted afterwards', async () => {
    await write('a.txt', 'first');
    const kept = await outgoing.keep('s1', 'a.txt');
    let place = '';
    {
      await using copy = await outgoing.copy('s1', kept);
      place = copy.path;
      expect(place.startsWith(root)).toBe(false);
    }
    expect(existsSync(path.dirname(place))).toBe(false);
    await write(kept.file, 'OTHER');
    await expect(outgoing.copy('s1', kept)).rejects.toMatchObject({ code: 'changed' });
    await rm(path.join(folder, kept.file));
    await expect(outgoing.copy('s1', kept)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('cannot be a folder, a link, outside the session, empty or too large', async () => {
    await write('empty.txt', '');
    await write('most.bin', 'x');
    await truncate(path.join(folder, 'most.bin'), MAX_SENT_BYTES);
    await write('large.bin', 'x');
    await truncate(path.join(folder, 'large.bin'), MAX_SENT_BYTES + 1);
    await symlink('/etc/passwd', path.join(folder, 'link'));
    for (const [name, code] of [
      ['.', /./],
      ['link', /refused/],
      ['../s2/a.txt', /bad_path/],
      ['/etc/passwd', /bad_path/],
      ['gone.txt', /not_found/],
      ['empty.txt', /empty/],
      ['large.bin', /too_large/],
    ] as const) {
      const error: unknown = await outgoing.keep('s1', name).catch((thrown: unknown) => thrown);
      expect({ name, error }).toEqual({ name, error: expect.any(ToolError) });
      expect(error).toMatchObject({ code: expect.stringMatching(code) });
    }
    expect((await outgoing.keep('s1', 'most.bin')).bytes).toBe(MAX_SENT_BYTES);
  });
});
