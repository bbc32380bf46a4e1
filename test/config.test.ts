/** What the configuration accepts, and how it says what it does not. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { accessOf, clockOf, loadConfig, secretsOf } from '../src/config.ts';
import { ConfigError } from '../src/contracts/errors.ts';

let home = '';
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), 'parley-config-'));
});
afterEach(() => rmSync(home, { recursive: true }));

function load(environment: Record<string, string>, file?: unknown, mode = 0o600) {
  if (file !== undefined) {
    writeFileSync(path.join(home, 'config.json'), typeof file === 'string' ? file : JSON.stringify(file), {
      mode,
    });
  }
  return loadConfig({ GATEWAY_HOME: home, ...environment });
}

function faultsOf(environment: Record<string, string>, file?: unknown): string {
  try {
    load(environment, file);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('expected the configuration to be refused');
}

describe('the configuration', () => {
  it('works with nothing set: loopback, embedded database, pairing, local Ollama', () => {
    const config = load({});
    expect(config.env).toMatchObject({
      PORT: 8080,
      HOST: '127.0.0.1',
      OLLAMA_HOST: 'http://127.0.0.1:11434',
    });
    expect(config.env.DATABASE_URL).toBeUndefined();
    expect(accessOf(config, 'telegram')).toEqual({ dm: 'pairing', allow: [], groups: {}, owners: [] });
  });

  it('reports three faults at once, each by its name', () => {
    const message = faultsOf(
      { PORT: 'eighty', TELEGRAM_BOT_TOKEN: 'not-a-token' },
      { access: { telegram: { allow: ['@alice'] } } },
    );
    expect(message).toContain('PORT: must be a port, 0 to 65535');
    expect(message).toContain('TELEGRAM_BOT_TOKEN');
    expect(message).toContain('access.telegram.allow.0');
    expect(message).not.toContain('not-a-token');
  });

  it('refuses names where ids belong, for names can be taken over', () => {
    expect(faultsOf({}, { access: { owners: { telegram: ['@alice'] } } })).toMatch(
      /owners\.telegram\.0.*numeric/,
    );
  });

  it('names the file when it is not JSON', () => {
    expect(faultsOf({}, '{ "http": ')).toContain('config.json');
  });

  it('refuses unknown fields, so that a typing error cannot open a door', () => {
    expect(faultsOf({}, { acess: {} })).toContain('acess');
  });

  it('warns of a file that others can read, and says what mends it', () => {
    expect(load({}, {}, 0o644).warnings.join()).toContain('chmod 600');
    rmSync(path.join(home, 'config.json'));
    expect(load({}, {}, 0o600).warnings).toEqual([]);
  });

  it('checks a Telegram token only as digits, colon, something', () => {
    expect(load({ TELEGRAM_BOT_TOKEN: '1:x' }).env.TELEGRAM_BOT_TOKEN).toBe('1:x');
    expect(faultsOf({ TELEGRAM_BOT_TOKEN: '1:' })).toContain('TELEGRAM_BOT_TOKEN');
  });

  it('treats an empty variable as not set', () => {
    expect(load({ TELEGRAM_BOT_TOKEN: '', DATABASE_URL: '' }).env.DATABASE_URL).toBeUndefined();
  });

  it('takes OLLAMA_HOST without a scheme, as Ollama itself does', () => {
    expect(load({ OLLAMA_HOST: '10.0.0.2:11434' }).env.OLLAMA_HOST).toBe('http://10.0.0.2:11434');
  });

  it('says where the heartbeat speaks, or what is missing', () => {
    const owners = { access: { owners: { telegram: ['9'] } } };
    const bot = { TELEGRAM_BOT_TOKEN: '1:abc' };
    expect(clockOf(load({})).heartbeat).toBeUndefined();
    const clock = clockOf(load(bot, { ...owners, heartbeat: { everyMinutes: 30 } }));
    expect(clock.heartbeat).toMatchObject({ everyMs: 1_800_000, address: 'telegram:9' });
    expect(clock.heartbeat?.file).toMatch(/\/workspace\/HEARTBEAT\.md$/);
    const elsewhere = { everyMinutes: 30, session: 'discord:77:8' };
    expect(clockOf(load({}, { heartbeat: elsewhere })).heartbeat?.address).toBe('discord:77:8');
    for (const env of [{}, bot]) {
      const faults = faultsOf(env, { heartbeat: { everyMinutes: 30 } });
      expect(faults).toContain('heartbeat.session: must say where');
    }
    expect(faultsOf({}, { ...owners, heartbeat: { everyMinutes: 30 } })).toContain('heartbeat.session');
  });

  it('knows the time zones of the world', () => {
    expect(clockOf(load({}, { schedules: { timeZone: 'Asia/Kathmandu' } })).timeZone).toBe('Asia/Kathmandu');
    expect(faultsOf({}, { schedules: { timeZone: 'Mars/Base' } })).toContain('schedules.timeZone: must be');
  });

  it('runs no programs unless the file says so (B-20)', () => {
    expect(load({}).tools).toEqual({
      enabled: ['list_dir', 'read_file', 'memory', 'cron'],
      exec: false,
      ports: [],
    });
    expect(faultsOf({}, { tools: { enabled: [7] } })).toContain('tools.enabled.0');
    expect(load({}, { tools: { exec: true } }).tools.exec).toBe(true);
    expect(faultsOf({}, { tools: { exec: 'yes' } })).toContain('tools.exec');
  });

  it('knows its secrets, the database password among them', () => {
    const config = load({
      DATABASE_URL: 'postgres://parley:s%40cret-word@127.0.0.1/parley',
      TELEGRAM_BOT_TOKEN: '12:abcdef',
      GATEWAY_TOKEN: 'a-token-of-sixteen',
      BRAVE_API_KEY: 'brave-secret',
    });
    expect(secretsOf(config)).toEqual(
      expect.arrayContaining(['s@cret-word', '12:abcdef', 'a-token-of-sixteen', 'brave-secret']),
    );
  });

  it('refuses a key that no header can carry without repeating it, and redacts a good one', () => {
    const message = faultsOf({ OPENAI_API_KEY: 'sk-two\nlines' });
    expect(message).toContain('OPENAI_API_KEY');
    expect(message).not.toContain('sk-two');
    const good = load({ OPENAI_API_KEY: 'sk-good', OPENAI_BASE_URL: 'http://127.0.0.1:8080/v1' });
    expect(secretsOf(good)).toContain('sk-good');
    expect(faultsOf({ OPENAI_BASE_URL: 'localhost' })).toContain('OPENAI_BASE_URL');
    expect(faultsOf({ MODEL: 'openai/' })).toContain('MODEL');
  });
});
