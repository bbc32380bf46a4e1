/** The path check: what is refused, what a racing link can reach, and that folders of sessions never meet. */
import { execFileSync } from 'node:child_process';
import { link, mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { campaignSize } from '../../campaign.ts';
import { GatewayError } from '../../../src/protocol/errors.ts';
import {
  openInside,
  pathParts,
  MAX_NAME_BYTES,
  MAX_PATH_BYTES,
  MAX_PATH_DEPTH,
} from '../../../src/tools/files/workspace.ts';

let root = '';
let workspace = '';

beforeAll(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'parley-ws-'));
  workspace = path.join(root, 'ws');
  await mkdir(path.join(workspace, 'sub'), { recursive: true });
  await mkdir(path.join(root, 'ws-evil'));
  await writeFile(path.join(root, 'ws-evil', 'x'), 'outside');
  await writeFile(path.join(root, 'secret'), 'outside');
  await writeFile(path.join(workspace, 'sub', 'inside.txt'), 'inside');
  await symlink(root, path.join(workspace, 'up'));
  await symlink('/dev/zero', path.join(workspace, 'zero'));
  await symlink(path.join(root, 'missing'), path.join(workspace, 'dangling'));
  await link(path.join(root, 'secret'), path.join(workspace, 'second-name'));
  execFileSync('mkfifo', [path.join(workspace, 'pipe')]);
});

afterAll(async () => {
  await rm(root, { recursive: true });
});

async function codeOf(opening: Promise<unknown>): Promise<string> {
  try {
    await opening;
    return 'opened';
  } catch (error) {
    return error instanceof GatewayError ? error.code : `foreign: ${String(error)}`;
  }
}

async function readAll(given: string, anchored?: boolean): Promise<string> {
  await using opened = await openInside(workspace, given, anchored);
  return await opened.handle.readFile('utf8');
}

describe.each([{ anchored: true }, { anchored: false }])(
  'with descriptors anchored: $anchored',
  ({ anchored }) => {
    it('opens plain files and folders inside', async () => {
      expect(await readAll('sub/inside.txt', anchored)).toBe('inside');
      expect(await readAll('./sub//./inside.txt', anchored)).toBe('inside');
      await using self = await openInside(workspace, '.', anchored);
      expect(self.stats.isDirectory()).toBe(true);
    });

    it.each(['up/secret', 'up', 'zero', 'dangling', 'pipe', 'second-name', 'sub/inside.txt/x'])(
      'refuses links, devices, pipes and second names: %s',
      async (given) => {
        expect(['refused', 'not_found']).toContain(await codeOf(openInside(workspace, given, anchored)));
      },
    );

    it('answers immediately for a pipe that no one writes to', async () => {
      const began = performance.now();
      expect(await codeOf(openInside(workspace, 'pipe', anchored))).toBe('refused');
      expect(performance.now() - began).toBeLessThan(1_000);
    });
  },
);

it.each([
  { why: 'parent', given: '../secret' },
  { why: 'absolute', given: '/etc/passwd' },
  { why: 'parent in the middle', given: 'sub/../../secret' },
  { why: 'parent that stays inside', given: 'sub/..' },
  { why: 'home', given: '~/x' },
  { why: 'drive', given: 'C:/x' },
  { why: 'backslash', given: String.raw`sub\inside.txt` },
  { why: 'NUL', given: 'a\0b' },
  { why: 'name too long', given: 'n'.repeat(MAX_NAME_BYTES + 1) },
  { why: 'too deep', given: `${'d/'.repeat(MAX_PATH_DEPTH)}x` },
  { why: 'path too long', given: `${'n'.repeat(80)}/`.repeat(MAX_PATH_BYTES / 80) },
])('refuses a path that no workspace can have: $why', ({ given }) => {
  expect(() => pathParts(given)).toThrow(expect.objectContaining({ code: 'bad_path' }));
});

it('accepts names and depths at their limits', () => {
  expect(pathParts('n'.repeat(MAX_NAME_BYTES))).toHaveLength(1);
  expect(pathParts(`${'d/'.repeat(MAX_PATH_DEPTH - 1)}x`)).toHaveLength(MAX_PATH_DEPTH);
});

it('does not mistake a sibling with the same name prefix for the workspace', async () => {
  expect(await codeOf(openInside(workspace, '../ws-evil/x'))).toBe('bad_path');
  expect(await codeOf(openInside(workspace, 'ws-evil/x'))).toBe('not_found');
});

/** Reads while the folder is swapped. */
const RACES = campaignSize(100_000);

it.runIf(process.platform === 'linux')(
  `never reads outside while a folder is swapped with a link ${RACES} times`,
  async () => {
    const raced = await mkdtemp(path.join(root, 'race-'));
    const inside = path.join(raced, 'ws');
    await mkdir(path.join(inside, 'real'), { recursive: true });
    await mkdir(path.join(raced, 'out'));
    await writeFile(path.join(inside, 'real', 'f'), 'inside');
    await writeFile(path.join(raced, 'out', 'f'), 'outside');
    await symlink(path.join(raced, 'out'), path.join(inside, 'evil'));
    const ended = new AbortController();
    const swapper = (async () => {
      while (!ended.signal.aborted) {
        await rename(path.join(inside, 'real'), path.join(inside, 'dir')).catch(String);
        await rename(path.join(inside, 'dir'), path.join(inside, 'real')).catch(String);
        await rename(path.join(inside, 'evil'), path.join(inside, 'dir')).catch(String);
        await rename(path.join(inside, 'dir'), path.join(inside, 'evil')).catch(String);
      }
    })();
    const seen = { inside: 0, outside: 0, refused: 0 };
    for (let n = 0; n < RACES; n += 1) {
      try {
        await using opened = await openInside(inside, 'dir/f');
        const text = await opened.handle.readFile('utf8');
        seen[text === 'inside' ? 'inside' : 'outside'] += 1;
      } catch {
        seen.refused += 1;
      }
    }
    ended.abort();
    await swapper;
    expect(seen.outside).toBe(0);
    expect(seen.inside).toBeGreaterThan(0);
    expect(seen.refused).toBeGreaterThan(0);
  },
  180_000,
);
