/** `parley.plugin.json`: what is refused, in which words; what its rights come to. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readManifest } from '../../src/plugins/manifest.ts';
import { allowedHosts, allowedPorts, newRights, rightsInWords } from '../../src/plugins/rights.ts';
import { GatewayError } from '../../src/protocol/errors.ts';
import type { PluginManifest } from '../../src/protocol/plugin.ts';
import { ROOT } from '../architecture/imports.ts';
import { MANIFEST, toolFacts } from './harness.ts';

const harbor: PluginManifest = readManifest(
  readFileSync(path.join(ROOT, 'test/fakes/plugins/harbor/parley.plugin.json'), 'utf8'),
);
const { channel } = harbor;
const read = (more: object): PluginManifest =>
  readManifest(JSON.stringify({ ...MANIFEST, tools: toolFacts('run'), ...more }));
const withChannel = (more: object): object => ({
  settings: harbor.settings,
  channel: { ...channel, ...more },
});

/** Throws what is no error of the family. */
function outcomeOf(text: string): string {
  try {
    return readManifest(text).contract === 1 ? 'read' : 'of another contract';
  } catch (error) {
    if (error instanceof GatewayError) return 'refused';
    throw error;
  }
}

describe('a manifest', () => {
  it.each<[string, object | string, RegExp]>([
    ['is not JSON', '{ contract: 1 }', /cannot be used: it is not JSON\.$/],
    [
      'is of a later contract',
      { contract: 2 },
      /it speaks version 2 of the contract, and this gateway speaks version 1: update Parley/,
    ],
    ['is of no contract', { contract: 0 }, /get a newer version of the plug-in/],
    ['has an unknown field', { rigths: {} }, /rigths.*rights/],
    ['has an unknown right', { rights: { everything: true } }, /rights\.everything/],
    ['names a path outside of its folder', { main: '../main.js' }, /main: must be a path inside the folder/],
    ['names no module', { main: undefined }, /main: must name the module/],
    ['gives nothing', { tools: undefined }, /must have a channel, tools, a provider or skills/],
    ['has a name for people', { name: 'My Plug-in' }, /name: must be a lower-case letter/],
    [
      'keeps a secret in config.json',
      { settings: [{ name: 'apiKey', description: 'd', secret: true }] },
      /a secret must be a variable/,
    ],
    ['refers to no setting', { rights: { network: ['{NO_URL}'] } }, /\{NO_URL\} is no setting/],
    ['asks for all hosts', { rights: { network: ['*'] } }, /must be a host such as/],
    ['has two tools of one name', { tools: toolFacts('run', 'run') }, /run occurs twice/],
    [
      'has a pattern that never ends',
      withChannel({ ids: { ...channel?.ids, user: '^(a+)+$' } }),
      /at most 4 repetitions, none of a group/,
    ],
    [
      'has a pattern that is none',
      withChannel({ ids: { ...channel?.ids, user: '^([$' } }),
      /must be a regular expression/,
    ],
    ['has ids that may be empty', withChannel({ ids: { ...channel?.ids, chat: '^.*$' } }), /no empty text/],
    [
      'has a shape of secrets that fits everything',
      withChannel({ secretShapes: ['.+'] }),
      /must begin with three letters/,
    ],
    [
      'is switched on by no variable',
      withChannel({ needs: 'OTHER' }),
      /channel\.needs: must be a variable of settings/,
    ],
  ])('that %s is refused in words', (_, more, words) => {
    const text =
      typeof more === 'string' ? more : JSON.stringify({ ...MANIFEST, tools: toolFacts('run'), ...more });
    expect(() => readManifest(text)).toThrow(words);
  });

  it('is read or refused, whatever it holds', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), fc.object(), (text, more) => {
        for (const one of [text, JSON.stringify({ ...MANIFEST, tools: toolFacts('run'), ...more })])
          expect(outcomeOf(one)).toMatch(/^(read|refused)$/);
      }),
    );
  });
});

describe('rights', () => {
  it('become hosts with ports, filled in from settings', () => {
    const settings = ['WEB_URL', 'MAIL_HOST', 'MAIL_PORT', 'EMPTY'].map((name) => ({
      name,
      description: name,
    }));
    const network = [
      'api.example.org',
      '*.example.org:8443',
      '{WEB_URL}',
      '{MAIL_HOST}:{MAIL_PORT}',
      '{EMPTY}',
    ];
    const manifest = read({ settings, rights: { network, listen: [8_090, '{MAIL_PORT}'] } });
    const values = { WEB_URL: 'http://[::1]:3000/x', MAIL_HOST: 'Mail.example.org', MAIL_PORT: 993 };
    expect(allowedHosts(manifest, values)).toEqual([
      { host: 'api.example.org', port: 443, isPrivate: false },
      { host: '*.example.org', port: 8_443, isPrivate: false },
      { host: '::1', port: 3_000, isPrivate: true },
      { host: 'mail.example.org', port: 993, isPrivate: true },
    ]);
    expect(allowedPorts(manifest, values)).toEqual([8_090, 993]);
    expect(() => allowedHosts(manifest, { WEB_URL: 'not a host' })).toThrow('WEB_URL must be a host');
  });

  it('are said in words, and those that a new version adds are found', () => {
    expect(rightsInWords(harbor)).toEqual([
      'connect to the host in HARBOR_URL',
      'read the settings HARBOR_KEY (secret), HARBOR_URL',
      'use 256 MiB of memory',
    ]);
    const wider = {
      ...harbor,
      rights: { ...harbor.rights, runtime: ['child-process'] },
    } satisfies PluginManifest;
    expect(newRights(harbor, wider)).toEqual(['use, which Node.js forbids otherwise: child-process']);
    expect(newRights(wider, harbor)).toEqual([]);
  });
});
