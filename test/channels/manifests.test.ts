/** The channels' manifests: settings that reach the channel, and a fourth channel next to the three. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { channels } from '../../channels/index.ts';
import { environmentSchemaFor, fileSchemaFor } from '../../src/config-schema.ts';
import { accessOf, type Config, loadConfig, secretsOf } from '../../src/config.ts';
import { MAX_EDIT_INTERVAL_MS } from '../../src/protocol/channel-settings.ts';
import type { Channel } from '../../src/protocol/channel.ts';
import { ConfigError } from '../../src/protocol/errors.ts';
import type { SentMessage } from '../../src/protocol/message.ts';
import type { PlaceRate } from '../../src/protocol/delivery.ts';
import { channelHealth } from '../../src/ops/health.ts';
import { createLog, redactor } from '../../src/ops/log.ts';
import { silentLog } from '../database.ts';
import { memoryStores, NOBODY } from '../fakes/stores/channel-stores.ts';
import { FakeGateway } from '../fakes/gateway/gateway-api.ts';
import { office, officeWith } from '../fakes/office/manifest.ts';

const TELEGRAM = { TELEGRAM_BOT_TOKEN: '12:telegram-secret' };
const DISCORD = { DISCORD_BOT_TOKEN: 'MTA.discord.secret' };
const ALL = [...channels, office];

let home = '';
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), 'parley-manifests-'));
});
afterEach(() => rmSync(home, { recursive: true }));

function load(environment: Record<string, string>, file: object = {}, manifests = ALL): Config {
  writeFileSync(path.join(home, 'config.json'), JSON.stringify(file), { mode: 0o600 });
  return loadConfig({ GATEWAY_HOME: home, ...environment }, manifests);
}

function errorsOf(environment: Record<string, string>, file: object = {}, manifests = ALL): string {
  try {
    load(environment, file, manifests);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('expected the configuration to be refused');
}

async function open(config: Config, name: string) {
  const channel = config.channels.find((one) => one.name === name);
  if (channel === undefined) throw new Error(`no channel ${name}`);
  const gateway = new FakeGateway();
  const deps = { log: silentLog, gateway, ...memoryStores(), ...NOBODY };
  return await channel.create(deps);
}

/** The limit of a chat, as the channel declares it. */
function rateOf({ name, capabilities }: Channel, chatId: string, first?: SentMessage): PlaceRate {
  return capabilities.rates.of({ channel: name, chatId }, first);
}

describe('the settings of a channel', () => {
  it('have the intervals that Telegram and Discord allow as defaults', async () => {
    const config = load({ ...TELEGRAM, ...DISCORD });
    const telegram = await open(config, 'telegram');
    expect(rateOf(telegram, '42').editIntervalMs).toBe(1_100);
    expect(rateOf(telegram, '-42').editIntervalMs).toBe(3_000);
    expect(rateOf(await open(config, 'discord'), '42').editIntervalMs).toBe(1_200);
  });

  it('reach the channel from config.json', async () => {
    const settings = { telegram: { editIntervalMs: { private: 700 } }, discord: { editIntervalMs: 900 } };
    const config = load({ ...TELEGRAM, ...DISCORD }, { channels: settings });
    const telegram = await open(config, 'telegram');
    expect(rateOf(telegram, '42').editIntervalMs).toBe(700);
    expect(rateOf(telegram, '-42').editIntervalMs).toBe(3_000);
    expect(rateOf(await open(config, 'discord'), '42').editIntervalMs).toBe(900);
    expect((await open(config, 'http')).name).toBe('http');
  });

  it('set how fast a bot calls its platform', async () => {
    const config = load(
      { ...TELEGRAM, ...DISCORD },
      {
        channels: {
          telegram: {
            burst: { group: 7 },
            reservedForFinals: { private: 0, group: 3 },
            groupCallsPerMinute: 15,
            callsPerSecond: { start: 10, most: 12 },
          },
          discord: { burst: 4, reservedForFinals: 2, callsPer5Seconds: 6, callsPerSecond: { most: 50 } },
        },
      },
    );
    const telegram = await open(config, 'telegram');
    expect(telegram.capabilities.rates.callsPerSecond).toEqual({ start: 10, usual: 28, most: 12 });
    expect(rateOf(telegram, '-42')).toEqual({
      key: '-42',
      editIntervalMs: 3_000,
      burst: 7,
      reserved: 3,
      window: { calls: 15, ms: 60_000 },
      countsForBot: true,
    });
    expect(rateOf(telegram, '42')).toMatchObject({ burst: 4, reserved: 0 });
    const discord = await open(config, 'discord');
    expect(discord.capabilities.rates.callsPerSecond).toEqual({ start: 45, most: 50 });
    expect(rateOf(discord, '42')).toMatchObject({
      burst: 4,
      reserved: 2,
      window: { calls: 6, ms: 5_000 },
    });
  });

  it('limit each Discord thread separately, and replies to commands neither as the channel nor as the bot', async () => {
    const discord = await open(load(DISCORD), 'discord');
    const { rates } = discord.capabilities;
    const place = { channel: 'discord', chatId: '42', threadId: '43' };
    expect([rates.of(place, undefined).key, rateOf(discord, '42').key]).toEqual(['43', '42']);
    const reply = (createdAt: number): SentMessage => ({
      id: '@original',
      metadata: { interactionToken: 'secret', applicationId: '1', createdAt: String(createdAt) },
    });
    expect(rateOf(discord, '42', reply(Date.now()))).toMatchObject({
      key: 'reply secret',
      countsForBot: false,
    });
    expect(rateOf(discord, '42', reply(0))).toMatchObject({ key: '42', countsForBot: true });
  });

  it(`may be up to ${MAX_EDIT_INTERVAL_MS} ms between edits and at least 1`, () => {
    const settings = (ms: number) => ({
      channels: { telegram: { editIntervalMs: { group: ms } }, discord: { editIntervalMs: ms } },
    });
    for (const ms of [1, MAX_EDIT_INTERVAL_MS]) expect(() => load({}, settings(ms))).not.toThrow();
    for (const ms of [0, MAX_EDIT_INTERVAL_MS + 1, 1.5]) {
      const errors = errorsOf({}, settings(ms));
      expect(errors).toContain('channels.telegram.editIntervalMs.group: ');
      expect(errors).toContain('channels.discord.editIntervalMs: ');
    }
  });

  it('are refused when no channel has them', () => {
    expect(errorsOf({}, { channels: { telegram: { editInterval: 5 }, pigeon: {} } })).toMatch(
      /editInterval[\s\S]*pigeon/,
    );
  });

  it('that have moved are named with the place where they are written now', () => {
    const errors = errorsOf({ PORT: 'eighty' }, { http: { allowedHosts: [] }, persona: 5 });
    expect(errors).toContain('http: has moved: write the same as channels.http');
    expect(errors).toContain('persona: ');
    expect(errors).toContain('PORT: ');
    expect(errors).not.toContain('Unrecognized');
  });
});

describe('the environment of a channel', () => {
  it('accepts a Telegram token only as digits, colon, text, and names the variable', () => {
    for (const token of ['abc', ':x', '12:', 'a1:x'])
      expect(errorsOf({ TELEGRAM_BOT_TOKEN: token })).toContain('TELEGRAM_BOT_TOKEN: must look like');
    expect(load({ TELEGRAM_BOT_TOKEN: '1:x' }).channels.find(({ name }) => name === 'telegram')?.isOn).toBe(
      true,
    );
  });

  it('names every error of Telegram and Discord at once and never a token', () => {
    const errors = errorsOf(
      {
        TELEGRAM_BOT_TOKEN: 'hunter2',
        TELEGRAM_API_ROOT: 'ftp://x',
        DISCORD_BOT_TOKEN: 'Bot hunter2',
        DISCORD_API_ROOT: 'ftp://x',
      },
      { channels: { discord: { editIntervalMs: 0 } } },
    );
    expect(errors).toMatch(/TELEGRAM_BOT_TOKEN: must[\s\S]*TELEGRAM_API_ROOT: must/);
    expect(errors).toMatch(/DISCORD_BOT_TOKEN: must[\s\S]*DISCORD_API_ROOT: must[\s\S]*editIntervalMs: /);
    expect(errors).not.toMatch(/hunter2/);
  });

  it('leaves a channel without a token off', () => {
    const on = ({ channels: list }: Config) => list.filter(({ isOn }) => isOn).map(({ name }) => name);
    expect(on(load({}))).toEqual(['http']);
    expect(on(load({ ...DISCORD, OFFICE_TOKEN: 'offb-123456' }))).toEqual(['http', 'discord', 'office']);
  });
});

describe('a fourth channel whose ids are letters and digits', () => {
  const file = {
    access: {
      office: { dm: 'allowlist', allow: ['U0123ABC'], groups: { C0123ABC: { mention: false } } },
      owners: { office: ['U0456DEF'] },
    },
  };

  it('has its people, groups and owners in config.json', () => {
    const config = load({ OFFICE_TOKEN: 'offb-123456' }, file);
    expect(accessOf(config, 'office')).toMatchObject({
      dm: 'allowlist',
      allow: ['U0123ABC'],
      groups: { C0123ABC: { mention: false } },
      owners: ['U0456DEF'],
    });
    expect(accessOf(config, 'office')?.privacyOf?.('D0123ABC')).toBe('private');
    expect(accessOf(config, 'telegram')?.owners).toEqual([]);
    expect(accessOf(config, 'pigeon')).toBeUndefined();
    expect(accessOf(config, 'http')).toBeUndefined();
  });

  it('refuses ids of other shapes, each at its field and with an example', () => {
    const errors = errorsOf(
      {},
      {
        access: {
          office: { allow: ['@ada', 'U0123ABC'], groups: { '#random': {} } },
          owners: { office: ['42', 'U01:23'] },
          telegram: { allow: ['U0123ABC'] },
        },
      },
    );
    for (const field of [
      'office.allow.0',
      'office.groups.#random',
      'owners.office.0',
      'owners.office.1',
      'telegram.allow.0',
    ])
      expect(errors).toContain(`access.${field}: `);
    expect(errors).not.toContain('access.office.allow.1');
    expect(errors).toContain('must be an id such as U0123ABC');
  });

  it('has its variable, its fields and its defaults in the schemas', () => {
    const environment = z.toJSONSchema(environmentSchemaFor(ALL), { io: 'input' });
    expect(environment.properties).toHaveProperty('OFFICE_TOKEN');
    expect(fileSchemaFor(ALL).parse({})).toMatchObject({
      access: { office: { dm: 'pairing' }, owners: { office: [] } },
      channels: { office: { editIntervalMs: 700 } },
    });
  });

  it('is created with its settings', async () => {
    const config = load({ OFFICE_TOKEN: 'offb-123456' }, { channels: { office: { editIntervalMs: 3 } } });
    expect(rateOf(await open(config, 'office'), 'C0123ABC').editIntervalMs).toBe(3);
  });

  it('is listed by its label: off with the variable it needs, on with its own health', async () => {
    const off = load({});
    expect(channelHealth(off.channels, new Map(), (channel) => channel.health()).office).toEqual({
      label: 'Office chat',
      state: 'off',
      detail: 'needs OFFICE_TOKEN',
    });
    const on = load({ OFFICE_TOKEN: 'offb-123456' });
    const running = new Map([['office', await open(on, 'office')]]);
    const { office: listed } = channelHealth(on.channels, running, (channel) => channel.health());
    expect(listed).toEqual({ label: 'Office chat', ...running.get('office')?.health() });
  });

  it('costs nothing while it is off: its code is not loaded, and it has no secrets', () => {
    let loads = 0;
    const counting = officeWith({
      create: async (configured, deps) => {
        loads += 1;
        return await officeWith({}).create(configured, deps);
      },
    });
    const manifests = [...channels, counting];
    const configured = (environment: Record<string, string>) =>
      load(environment, {}, manifests).channels.find(({ name }) => name === 'office');
    expect(configured({})).toMatchObject({ isOn: false, secrets: [] });
    expect(configured({ OFFICE_TOKEN: 'offb-123456' })).toMatchObject({
      isOn: true,
      secrets: ['offb-123456'],
    });
    expect(loads).toBe(0);
  });

  it('has its secrets removed from the log, the configured one and those of the same shape', () => {
    const lines: string[] = [];
    const redact = redactor(secretsOf(load({ OFFICE_TOKEN: 'offb-HIDDEN-one' })));
    const log = createLog({ level: 'info', redact, write: (line) => lines.push(line) });
    log.info({ url: 'wss://x/?t=offb-HIDDEN-one', other: 'offb-0a1b2c3d4e' }, 'office_connected');
    expect(lines.join('')).not.toMatch(/HIDDEN|0a1b2c3d4e/);
    expect(lines.join('')).toContain('[office-token]');
  });

  it('is named by the errors of a heartbeat without a place, and accepts one', () => {
    expect(errorsOf({}, { heartbeat: { everyMinutes: 5 } }, [office])).toContain(
      'such as "office:<chat id>"',
    );
    const heartbeat = { everyMinutes: 5, session: 'office:C0123ABC' };
    expect(load({}, { heartbeat }).heartbeat.session).toBe('office:C0123ABC');
  });
});
