/** What the configuration accepts, and how it reports what it refuses. */
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

function errorsOf(environment: Record<string, string>, file?: unknown): string {
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
    expect(accessOf(config, 'discord')).toEqual({ dm: 'pairing', allow: [], groups: {}, owners: [] });
    expect(accessOf(config, 'telegram')).toMatchObject({ dm: 'pairing', allow: [], groups: {}, owners: [] });
  });

  it('reports three errors at once, each by its name', () => {
    const message = errorsOf(
      { PORT: 'eighty', TELEGRAM_BOT_TOKEN: 'not-a-token' },
      { access: { telegram: { allow: ['@alice'] } } },
    );
    expect(message).toContain('PORT: must be a port, 0 to 65535');
    expect(message).toContain('TELEGRAM_BOT_TOKEN');
    expect(message).toContain('access.telegram.allow.0');
    expect(message).not.toContain('not-a-token');
  });

  it('refuses user names in place of ids, because names can be taken over', () => {
    expect(load({}, { access: { telegram: { allow: [42] } } }).channels[1]?.access?.allow).toEqual(['42']);
    expect(errorsOf({}, { access: { owners: { telegram: ['@alice'] } } })).toMatch(
      /owners\.telegram\.0.*numeric/,
    );
  });

  it('names the file when it is not JSON', () => {
    expect(errorsOf({}, '{ "http": ')).toContain('config.json');
  });

  it('refuses unknown fields, so that a typing error cannot open access', () => {
    expect(errorsOf({}, { acess: {} })).toContain('acess');
  });

  it('warns of a file that others can read, and names the command that corrects it', () => {
    expect(load({}, {}, 0o644).warnings.join()).toContain('chmod 600');
    rmSync(path.join(home, 'config.json'));
    expect(load({}, {}, 0o600).warnings).toEqual([]);
  });

  it('checks a Telegram token only as digits, colon, text', () => {
    expect(secretsOf(load({ TELEGRAM_BOT_TOKEN: '1:x' })).secrets).toEqual(['1:x']);
    expect(errorsOf({ TELEGRAM_BOT_TOKEN: '1:' })).toContain('TELEGRAM_BOT_TOKEN');
  });

  it('treats an empty variable as not set', () => {
    expect(load({ TELEGRAM_BOT_TOKEN: '', DATABASE_URL: '' }).env.DATABASE_URL).toBeUndefined();
  });

  it('determines the chat of the heartbeat, or reports what is missing', () => {
    const owners = { access: { owners: { telegram: ['9'] } } };
    const bot = { TELEGRAM_BOT_TOKEN: '1:abc' };
    expect(clockOf(load({})).heartbeat).toBeUndefined();
    const clock = clockOf(load(bot, { ...owners, heartbeat: { everyMinutes: 30 } }));
    expect(clock.heartbeat).toMatchObject({ everyMs: 1_800_000, address: 'telegram:9' });
    expect(clock.heartbeat?.file).toMatch(/\/workspace\/HEARTBEAT\.md$/);
    const elsewhere = { everyMinutes: 30, session: 'discord:77:8' };
    expect(clockOf(load({}, { heartbeat: elsewhere })).heartbeat?.address).toBe('discord:77:8');
    for (const env of [{}, bot]) {
      const errors = errorsOf(env, { heartbeat: { everyMinutes: 30 } });
      expect(errors).toContain('heartbeat.session: must name the chat');
    }
    expect(errorsOf({}, { ...owners, heartbeat: { everyMinutes: 30 } })).toContain('heartbeat.session');
  });

  it('accepts IANA time zones and refuses others', () => {
    expect(clockOf(load({}, { schedules: { timeZone: 'Asia/Kathmandu' } })).timeZone).toBe('Asia/Kathmandu');
    expect(errorsOf({}, { schedules: { timeZone: 'Mars/Base' } })).toContain('schedules.timeZone: must be');
  });

  it('runs no programs unless the file says so (B-20)', () => {
    expect(load({}).tools).toEqual({
      enabled: ['list_dir', 'read_file', 'memory', 'cron'],
      exec: false,
      ports: [],
    });
    expect(errorsOf({}, { tools: { enabled: [7] } })).toContain('tools.enabled.0');
    expect(load({}, { tools: { exec: true } }).tools.exec).toBe(true);
    expect(errorsOf({}, { tools: { exec: 'yes' } })).toContain('tools.exec');
  });

  it('lists its secrets, including the database password', () => {
    const config = load({
      DATABASE_URL: 'postgres://parley:s%40cret-word@127.0.0.1/parley',
      TELEGRAM_BOT_TOKEN: '12:abcdef',
      GATEWAY_TOKEN: 'a-token-of-sixteen',
      BRAVE_API_KEY: 'brave-secret',
    });
    expect(secretsOf(config).secrets).toEqual(
      expect.arrayContaining(['s@cret-word', '12:abcdef', 'a-token-of-sixteen', 'brave-secret']),
    );
  });

  it('refuses a key that no header can carry, without repeating it, and redacts a valid one', () => {
    const message = errorsOf({ OPENAI_API_KEY: 'sk-two\nlines' });
    expect(message).toContain('OPENAI_API_KEY');
    expect(message).not.toContain('sk-two');
    const good = load({ OPENAI_API_KEY: 'sk-good', OPENAI_BASE_URL: 'http://127.0.0.1:8080/v1' });
    expect(secretsOf(good).secrets).toContain('sk-good');
    expect(errorsOf({ OPENAI_BASE_URL: 'localhost' })).toContain('OPENAI_BASE_URL');
    expect(errorsOf({ MODEL: 'openai/' })).toContain('MODEL');
  });
});
