/** The schemas for editors: written by the first start, updated after later ones. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { Log } from '../../src/protocol/log.ts';
import { writeSchemaFiles } from '../../src/settings/index.ts';
import { silentLog } from '../database.ts';

const current = (): z.ZodObject => z.strictObject({ model: z.string().describe('Which model answers.') });

let home: string;
let file: string;
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), 'parley-schema-'));
  file = path.join(home, 'config.schema.json');
});
afterEach(() => rmSync(home, { recursive: true }));

const write = (signal = new AbortController().signal, log: Log = silentLog, at = file): Promise<void> =>
  writeSchemaFiles({ [at]: current }, log, signal, 1);

it('writes a missing file at once', () => {
  void write();
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
    allowComments: true,
    properties: { model: { description: 'Which model answers.' } },
  });
});

it('leaves an existing file alone while work resumes, and brings it up to date after that', async () => {
  writeFileSync(file, 'of an earlier version');
  const written = write();
  expect(readFileSync(file, 'utf8')).toBe('of an earlier version');
  await written;
  expect(readFileSync(file, 'utf8')).toContain('Which model answers.');
});

it('does nothing more once the gateway stops', async () => {
  writeFileSync(file, 'of an earlier version');
  const closing = new AbortController();
  const written = write(closing.signal);
  closing.abort();
  await written;
  expect(readFileSync(file, 'utf8')).toBe('of an earlier version');
});

it('notes a file that cannot be written, and goes on without it', async () => {
  const warn = vi.fn<Log['warn']>();
  const unreachable = path.join(home, 'no-such-folder', 'config.schema.json');
  await write(undefined, { ...silentLog, warn }, unreachable);
  expect(warn).toHaveBeenCalledWith(
    expect.objectContaining({ file: unreachable }),
    'schema_file_not_written',
  );
  expect(existsSync(unreachable)).toBe(false);
});
