/** Lists of channel manifests that cannot be used: each error is named at the start of a command, with what to write. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { channels } from '../../channels/index.ts';
import { loadConfig } from '../../src/config.ts';
import { loadManifests, manifestErrors } from '../../src/protocol/channel-manifest.ts';
import type { ChannelManifest } from '../../src/protocol/channel.ts';
import { ConfigError } from '../../src/protocol/errors.ts';
import { parley } from '../child.ts';
import { makeEmbeddedHome } from '../database.ts';
import { office, officeWith } from '../fakes/office/manifest.ts';
import { ROOT } from '../docs/pages.ts';

/** A folder that does not exist: there is no `config.json`. */
const GATEWAY_HOME = path.join(tmpdir(), 'parley-without-home');

function errorsOf(environment: Record<string, string>, manifests: readonly ChannelManifest[]): string {
  try {
    loadConfig({ GATEWAY_HOME, ...environment }, manifests);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('expected the configuration to be refused');
}

/** What loading folders with these manifests is refused for. */
async function loadErrors(manifests: readonly unknown[]): Promise<string> {
  const folders = manifests.map((manifest) => Promise.resolve({ manifest: manifest as ChannelManifest }));
  const error: unknown = await loadManifests(folders).catch((caught: unknown) => caught);
  if (error instanceof ConfigError) return error.message;
  throw new Error('expected the list to be refused', { cause: error });
}

describe('a list of manifests that cannot be used', () => {
  const wrong: [string, ChannelManifest[], RegExp][] = [
    ['a name twice', [office, office], /channel office: its name is taken/],
    [
      'a name that means something else',
      [officeWith({ name: 'system' })],
      /channel system: its name must be/,
    ],
    [
      'a name no address can begin with',
      [officeWith({ name: 'Office:1' })],
      /channel Office:1: its name must be/,
    ],
    [
      'a variable of another channel',
      [office, officeWith({ name: 'second' })],
      /channel second: env: OFFICE_TOKEN already belongs to the channel office/,
    ],
    [
      'a variable of the gateway',
      [officeWith({ env: z.object({ LOG_LEVEL: z.string().optional() }) })],
      /channel office: env: LOG_LEVEL already belongs to the gateway itself/,
    ],
    [
      'a variable that must be set',
      [officeWith({ env: z.object({ KEY: z.string() }) })],
      /env: KEY must be optional/,
    ],
    [
      'a setting without a default',
      [officeWith({ settings: z.strictObject({ pace: z.int() }) })],
      /settings: pace must have a default/,
    ],
    ['a pattern that matches a part', [withIds({ userId: /U\d+/ })], /ids.userId must match the whole id/],
    ['a pattern with flags', [withIds({ chatId: /^C\d+$/g })], /ids.chatId must not have the flags/],
    [
      'a pattern that matches an empty id',
      [withIds({ chatId: /^\d*$/ })],
      /ids.chatId must not match an empty text/,
    ],
  ];

  function withIds(change: Partial<NonNullable<ChannelManifest['ids']>>): ChannelManifest {
    return officeWith({
      ids: { ...office.ids, description: 'an id', userId: /^U$/, chatId: /^C$/, ...change },
    });
  }

  it.each(wrong)('is refused for %s, which is named', (_, manifests, error) => {
    expect(errorsOf({}, manifests)).toMatch(error);
  });

  it.each([
    ['label', undefined, /label is missing: write the network's name/],
    ['needs', '', /needs has the wrong type: write the variable/],
    ['env', undefined, /env is missing: write z\.object/],
    ['env', {}, /env has the wrong type: write z\.object/],
    ['settings', undefined, /settings is missing: write z\.strictObject/],
    [
      'settings',
      z.object({ pace: z.int().default(1) }),
      /settings has the wrong type: write z\.strictObject/,
    ],
    ['ids', { userId: '^U', chatId: /^C$/, description: 'x' }, /ids has the wrong type: write \{ userId: /],
    ['ids', { userId: /^U$/, description: 'x' }, /ids has the wrong type/],
    ['secretShapes', undefined, /secretShapes is missing: write a list/],
    ['secretShapes', ['xoxb-'], /secretShapes has the wrong type/],
    ['isOn', undefined, /isOn is missing: write a function/],
    ['secrets', ['xoxb-123456'], /secrets has the wrong type: write a function/],
    ['create', undefined, /create is missing: write a function/],
  ])('is refused for a manifest whose %s is %j, with what to write', async (field, value, error) => {
    const message = await loadErrors([...channels, officeWith({ [field]: value })]);
    expect(message).toMatch(error);
    expect(message).toContain('channel office: ');
    expect(message).not.toContain('xoxb-123456');
  });

  it('is refused for a folder without a manifest, which is named by its position in the list', async () => {
    expect(await loadErrors([office, undefined])).toContain('channel number 2 of the list: name is missing');
  });

  it('is refused with all its errors and those of the environment at once', () => {
    const manifests = [officeWith({ name: 'system' }), withIds({ userId: /U/, chatId: /C/ })];
    const errors = errorsOf({ LOG_LEVEL: 'loud' }, manifests);
    for (const part of [
      'channel system: its name',
      'belongs to the channel system',
      'ids.userId',
      'ids.chatId',
      'LOG_LEVEL: ',
    ])
      expect(errors).toContain(part);
  });

  it('is not the list of the gateway', () => {
    expect(manifestErrors([...channels, office], ['LOG_LEVEL'])).toEqual([]);
  });
});

describe('a fourth channel', () => {
  let copy = '';
  let home = '';
  beforeAll(async () => {
    home = await makeEmbeddedHome();
    copy = mkdtempSync(path.join(tmpdir(), 'parley-fourth-channel-'));
    for (const part of ['src', 'channels', 'package.json', 'package-lock.json'])
      cpSync(path.join(ROOT, part), path.join(copy, part), { recursive: true });
    symlinkSync(path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules'));
    const list = path.join(copy, 'channels/index.ts');
    const text = readFileSync(list, 'utf8').replace(/^\]\);$/m, "  import('./irc/manifest.ts'),\n]);");
    writeFileSync(list, text);
  });
  afterAll(async () => {
    for (const folder of [copy, home]) await rm(folder, { recursive: true, force: true });
  });

  /** What these commands print. They find an existing home, whose database a start opens while it loads the list. */
  async function printed(...commands: string[]): Promise<string[]> {
    const ended = await Promise.all(
      commands.map((command) => parley([command], { GATEWAY_HOME: home }, copy)),
    );
    return ended.map(({ code, stdout, stderr }) => `${code}: ${stdout}${stderr}`);
  }

  it('without a manifest.ts is named by every command, with what to write', async () => {
    const said =
      '1: The list of channels cannot be used:\n' +
      '  - channels/irc/manifest.ts does not exist: write it as docs/extending.md shows, or remove its line from channels/index.ts\n';
    const [start = '', status] = await printed('start', 'status');
    expect(start).toMatch(/^1: Building Parley …\nParley could not be built \(.*\.\/irc\/manifest\.ts/s);
    expect(start).toContain(said.slice('1: '.length));
    expect(status).toBe(said);
  }, 60_000);

  it('whose manifest.ts exports no manifest is named by every command, with what to write', async () => {
    mkdirSync(path.join(copy, 'channels/irc'), { recursive: true });
    writeFileSync(path.join(copy, 'channels/irc/manifest.ts'), 'export const irc = {};\n');
    const [start = '', ...others] = await printed('start', '--help', 'doctor');
    const number = channels.length + 1;
    expect(start.replace('Building Parley …\n', '')).toMatch(
      `1: The list of channels cannot be used:\n  - channel number ${number} of the list: name is missing: write a text such as 'irc'`,
    );
    const said = start.replace('Building Parley …\n', '');
    expect(others).toEqual([said, said]);
  }, 60_000);
});
