/** Files from tool calls: where they are stored, once, and when not. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { StoredFiles } from '../../src/protocol/media.ts';
import type { MediaContext } from '../../src/media/fetch-file.ts';
import { partial } from '../fakes/partial.ts';
import { STATELESS_FOLDER } from '../../src/protocol/agent/tool.ts';
import { createReader } from '../../src/media/reader/reader.ts';
import { createKeepToolFile } from '../../src/media/tool-files.ts';
import { createSessionFiles } from '../../src/tools/index.ts';
import { silentLog } from '../database.ts';
import { photo } from '../fakes/files/documents.ts';

const never = new AbortController().signal;
const settings = { maxFileMb: 1, maxFilesPerMessage: 2, maxMbPerPerson: 3, keepDays: 30 };

let root = '';
beforeEach(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'parley-kept-'));
});
afterEach(() => rm(root, { recursive: true }));

function openKept(keptBytes = 0) {
  const noted: string[] = [];
  const keep = createKeepToolFile(
    partial<MediaContext>({
      files: createSessionFiles(root, silentLog),
      keptFiles: partial<StoredFiles>({
        keptBytes: async () => keptBytes,
        keep: async ({ path: file, userId, bytes }) => void noted.push(`${file} ${userId} ${bytes}`),
      }),
      settings,
      reader: createReader(),
    }),
  );
  const of = { folder: 'folder', userId: 'telegram:42' };
  return {
    noted,
    keep: (bytes: Uint8Array, folder = 'folder') =>
      keep({ kind: 'image', base64: Buffer.from(bytes).toString('base64') }, { ...of, folder }, never),
  };
}

it('stores a picture under its content name, with what models see of it, for as long as message files', async () => {
  const { keep, noted } = openKept();
  const picture = await photo(30, 20);
  const kept = await keep(picture);
  expect(kept.attachment).toMatchObject({ kind: 'image', mimeType: 'image/jpeg', bytes: picture.length });
  expect(kept.attachment.file).toMatch(/^inbox\/tools\/[0-9a-f]{16}-image\.jpg$/);
  expect(kept.picture).toMatch(/^folder\/inbox\/tools\/\.pictures\/[0-9a-f]{16}-image\.jpg\.jpg$/);
  expect(noted).toEqual([`${kept.attachment.file} telegram:42 ${picture.length}`]);
  expect(await keep(picture)).toEqual(kept);
});

it('derives the type from the content, whatever the tool claims', async () => {
  const { attachment, picture } = await openKept().keep(Buffer.from('no picture at all'));
  expect([attachment.mimeType, attachment.name, picture]).toEqual(['text/plain', 'image.txt', undefined]);
});

it('stores nothing that is empty, too large, over the user’s limit, or without a session', async () => {
  const megabyte = Buffer.alloc(1_000_000, 'x');
  expect((await openKept().keep(megabyte)).attachment.bytes).toBe(1_000_000);
  await expect(openKept().keep(Buffer.alloc(1_000_001, 'x'))).rejects.toThrow('it is larger than 1 MB');
  await expect(openKept().keep(Buffer.alloc(0))).rejects.toThrow('it is empty');
  expect((await openKept(2_000_000).keep(megabyte)).attachment.bytes).toBe(1_000_000);
  await expect(openKept(2_000_001).keep(megabyte)).rejects.toThrow('have reached 3 MB together');
  await expect(openKept().keep(megabyte, STATELESS_FOLDER)).rejects.toThrow('without a session');
});
