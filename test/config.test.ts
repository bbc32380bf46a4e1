/** What the configuration accepts, and how it reports what it refuses. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { accessOf, clockOf, loadConfig, secretsOf } from '../src/config.ts';
import { ConfigError } from '../src/protocol/errors.ts';
import { homePermissions } from '../src/security/index.ts';

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
    expect(accessOf(config, 'discord')).toMatchObject({
      dm: 'pairing',
      allow: [],
      groups: {},
      guilds: [],
      roles: [],
      owners: [],
    });
    expect(accessOf(config, 'telegram')).toMatchObject({ dm: 'pairing', allow: [], groups: {}, owners: [] });
  });

  it.each([
    [{ limits: { messagePerMinute: 3 } }, 'limits.messagePerMinute', 'messagesPerMinute'],
    [{ schedule: {} }, 'schedule', 'schedules'],
    [{ channels: { http: { allowedHost: [] } } }, 'channels.http.allowedHost', 'allowedHosts'],
    [{ mcp: { servers: { files: { comand: 'x' } } } }, 'mcp.servers.files.comand', 'command'],
  ])('names the field that was probably meant in %j', (file, field, meant) => {
    expect(errorsOf({}, file)).toContain(`${field}: there is no such field; did you mean ${meant}?`);
  });

  it('proposes nothing for a field that is like no other', () => {
    expect(errorsOf({}, { flavour: 1 })).toMatch(/flavour: there is no such field$/m);
  });

  it('warns of variables that nothing reads and that look like one of its own', () => {
    const { warnings } = load({ OLAMA_HOST: 'x', TELEGRAM_TOKEN: 'y', HOME: '/', DISPLAY: ':0' });
    expect(warnings).toEqual([
      'OLAMA_HOST is not read: did you mean OLLAMA_HOST?',
      expect.stringMatching(/^TELEGRAM_TOKEN is not read: Telegram reads TELEGRAM_BOT_TOKEN, /),
    ]);
  });

  it('does not warn of a variable that the file names, nor of one beside the right one', () => {
    const webhooks = {
      deploy: { url: 'https://example.org/x', events: ['turn_ended'], secretEnv: 'TELEGRAM_DEPLOY_SECRET' },
    };
    const set = {
      TELEGRAM_DEPLOY_SECRET: 's'.repeat(32),
      OLLAMA_HOST: 'http://127.0.0.1:1',
      OLLAMA_HOSTS: 'x',
    };
    expect(load(set, { webhooks }).warnings).toEqual([]);
  });

  it('refuses a Discord token that is none by its look', () => {
    expect(errorsOf({ DISCORD_BOT_TOKEN: 'abc' })).toContain('DISCORD_BOT_TOKEN: must be the token alone');
  });

  it('reports three errors at once, each by name', () => {
    const message = errorsOf(
      { PORT: 'eighty', TELEGRAM_BOT_TOKEN: 'not-a-token' },
      { access: { telegram: { allow: ['@alice'] } } },
    );
    expect(message).toContain('PORT: must be a port, 0 to 65535');
    expect(message).toContain('TELEGRAM_BOT_TOKEN');
    expect(message).toContain('access.telegram.allow.0');
    expect(message).not.toContain('not-a-token');
  });

  it('refuses user names instead of ids, because names can be taken over', () => {
    expect(load({}, { access: { telegram: { allow: [42] } } }).channels[1]?.access?.allow).toEqual(['42']);
    expect(errorsOf({}, { access: { owners: { telegram: ['@alice'] } } })).toMatch(
      /owners\.telegram\.0.*numeric/,
    );
  });

  it('names the file when it is not JSON', () => {
    expect(errorsOf({}, '{ "http": ')).toContain('config.json');
  });

  it('refuses unknown fields, so that a typo cannot open access', () => {
    expect(errorsOf({}, { acess: {} })).toContain('acess');
  });

  it('warns of a file that others could read if its folder let them, and names the command that corrects it', () => {
    expect(load({}, {}, 0o644).warnings.join()).toContain('chmod 600');
    rmSync(path.join(home, 'config.json'));
    expect(load({}, {}, 0o600).warnings).toEqual([]);
  });

  it('refuses a home that other users can change or whose secrets they can read, with the command that corrects it', () => {
    for (const mode of [0o777, 0o770, 0o722, 0o1777]) {
      chmodSync(home, mode);
      expect(errorsOf({})).toContain(`chmod 700 ${home}`);
    }
    chmodSync(home, 0o755);
    const file = path.join(home, 'config.json');
    writeFileSync(file, '{}', { mode: 0o600 });
    expect(load({}).warnings).toEqual([]);
    chmodSync(file, 0o644);
    expect(errorsOf({})).toContain(`chmod 600 ${file}`);
    chmodSync(file, 0o620);
    expect(errorsOf({})).toContain(`chmod go-w ${file}`);
    chmodSync(file, 0o600);
    const persona = path.join(home, 'profiles', 'default', 'system_prompt.md');
    mkdirSync(path.dirname(persona), { recursive: true });
    writeFileSync(persona, 'You are kind.');
    chmodSync(persona, 0o666);
    expect(errorsOf({})).toContain(`chmod go-w ${persona}`);
    // A home that lets no one else in protects everything in it.
    chmodSync(home, 0o700);
    expect(load({}).warnings).toEqual([]);
    expect(homePermissions(path.join(home, 'missing')).errors).toEqual([]);
    chmodSync(home, 0o777);
    expect(homePermissions(home, 'win32').errors).toEqual([]);
  });

  it('warns of connections that leave the machine unprotected, and of no others', () => {
    const warned = (environment: Record<string, string>): string => load(environment).warnings.join('\n');
    const [near, far] = ['127.0.0.1', 'db.example'];
    expect(warned({ DATABASE_URL: `postgres://p:secret@${far}/p` })).toMatch(
      /verified TLS.*sslmode=verify-full/,
    );
    expect(warned({ DATABASE_URL: `postgres://p:secret@${far}/p` })).not.toContain('secret');
    expect(warned({ DATABASE_URL: `postgres://${near},${far}/p?sslmode=require` })).toContain('verified TLS');
    expect(warned({ DATABASE_URL: `postgres://p@${far}/p?sslmode=verify-full` })).toBe('');
    for (const url of [
      `postgres://p@${near}:5432/p`,
      'postgres://[::1]/p',
      'postgres:///p',
      'postgres://localhost/p',
    ])
      expect(warned({ DATABASE_URL: url })).toBe('');
    expect(warned({ NATS_URL: `nats://u:secret@${far}` })).toMatch(/db\.example without TLS.*tls:\/\//);
    expect(warned({ NATS_URL: `nats://u:secret@${far}` })).not.toContain('secret');
    expect(warned({ NATS_URL: `nats://${far}` })).toMatch(/without TLS[^]*no login for db\.example/);
    expect(warned({ NATS_URL: `tls://u:pw@${far}` })).toBe('');
    expect(warned({ NATS_URL: `nats://${near}, nats://localhost:4222` })).toBe('');
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

  it('refuses a budget in money without any price, and a budget that is none', () => {
    const inMoney = { limits: { plan: { pricePerDay: 1 } } };
    expect(errorsOf({}, inMoney)).toContain(
      'prices.models: must name prices, because limits sets a budget in money',
    );
    load({}, { ...inMoney, prices: { models: { '*': { input: 0, output: 0 } } } });
    for (const tokensPerDay of [-1, 0.5, '100'])
      expect(errorsOf({}, { limits: { total: { tokensPerDay } } })).toContain('limits.total.tokensPerDay');
    const negative = { models: { gpt: { input: -1, output: 1 } } };
    expect(errorsOf({}, { prices: negative })).toContain('prices.models.gpt.input');
  });

  it('accepts IANA time zones and refuses others', () => {
    expect(clockOf(load({}, { schedules: { timeZone: 'Asia/Kathmandu' } })).timeZone).toBe('Asia/Kathmandu');
    expect(errorsOf({}, { schedules: { timeZone: 'Mars/Base' } })).toContain('schedules.timeZone: must be');
  });

  it('runs no programs unless the file says so (B-20)', () => {
    expect(load({}).tools).toEqual({ exec: false, ports: [] });
    expect(errorsOf({}, { tools: { enabled: [7] } })).toContain('tools.enabled.0');
    expect(load({}, { tools: { exec: true } }).tools.exec).toBe(true);
    expect(errorsOf({}, { tools: { exec: 'yes' } })).toContain('tools.exec');
  });

  it('lists its secrets, including the database password', () => {
    const config = load({
      DATABASE_URL: 'postgres://parley:s%40cret-word@127.0.0.1/parley',
      TELEGRAM_BOT_TOKEN: '12:abcdef',
      GATEWAY_TOKEN: 'a-token-of-thirty-two-or-more-0123456789',
      BRAVE_API_KEY: 'brave-secret',
      TRANSCRIPTION_API_KEY: 'speech-secret',
      NATS_URL: 'nats://gateway:nats%2Dword@one:4222,nats://nats-token@two',
    });
    expect(secretsOf(config).secrets).toEqual(
      expect.arrayContaining([
        's@cret-word',
        '12:abcdef',
        'a-token-of-thirty-two-or-more-0123456789',
        'brave-secret',
        'speech-secret',
        'nats-word',
        'nats-token',
      ]),
    );
  });

  it('accepts any password for the database apart from its address, and passes it on unchanged', () => {
    const url = 'postgres://parley@postgres:5432/parley?sslmode=disable';
    for (const password of ['p@/:#%', 'a?b=c&d', '%40', 'ä $1 $& \\', '[::1]']) {
      const config = load({ DATABASE_URL: url, DATABASE_PASSWORD: password });
      const parsed = new URL(config.env.DATABASE_URL ?? '');
      expect([decodeURIComponent(parsed.password), parsed.host]).toEqual([password, 'postgres:5432']);
      expect(config.env.DATABASE_URL).toMatch(
        /^postgres:\/\/parley:[^@]+@postgres:5432\/parley\?sslmode=disable$/,
      );
      expect(secretsOf(config).secrets).toContain(password);
    }
    const hosts = load({ DATABASE_URL: 'postgres://parley@one:1,two:2/parley', DATABASE_PASSWORD: 'p@' });
    expect(hosts.env.DATABASE_URL).toBe('postgres://parley:p%40@one:1,two:2/parley');
  });

  it.each([
    ['without an address', {}],
    ['without a user in the address', { DATABASE_URL: 'postgres://postgres/parley' }],
    ['with two passwords', { DATABASE_URL: 'postgres://parley:one@postgres/parley' }],
  ])('refuses a password for the database %s', (_, variables) => {
    expect(errorsOf({ ...variables, DATABASE_PASSWORD: 'pass-word' })).toMatch(
      /^ {2}- DATABASE_PASSWORD: needs a DATABASE_URL with a user/m,
    );
    expect(errorsOf({ ...variables, DATABASE_PASSWORD: 'pass-word' })).not.toContain('pass-word');
  });

  it('refuses a self-chosen token that could be guessed, naming the rule but not the token', () => {
    for (const token of ['a-token-of-sixteen', 'a'.repeat(64), 'abcabcabcabcabcabcabcabcabcabcabcabc']) {
      const message = errorsOf({ GATEWAY_TOKEN: token });
      expect(message).toContain(
        'GATEWAY_TOKEN: must be random: at least 32 characters, 10 of them different',
      );
      expect(message).not.toContain(token);
    }
    const random = '0f4c2b8a9d7e6153f0e1d2c3b4a59687';
    expect(load({ GATEWAY_TOKEN: random }).env.GATEWAY_TOKEN).toBe(random);
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
