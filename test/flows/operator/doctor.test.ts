/**
 * `parley doctor` next to a running gateway, on a machine without one, and on broken setups, each of which it
 * identifies.
 */
import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { doctorCommand } from '../../../src/commands/doctor.ts';
import { startFakeOllama } from '../../fakes/ollama/ollama.ts';
import { FAKE_TOKEN, FakeTelegram } from '../../fakes/telegram/telegram.ts';
import { FakeDiscord } from '../../fakes/discord/discord.ts';
import { describeGateway, WAIT } from '../setup.ts';

type Environment = Record<string, string>;
const PLAIN = { colours: false };

/** The lines that are not fine, each with how to correct it. */
async function complaints(environment: Environment, ...args: string[]): Promise<string> {
  const { text, ok } = await doctorCommand(args, { PATH: process.env['PATH'] ?? '', ...environment }, PLAIN);
  const lines = text.split('\n').filter((line) => !line.startsWith('ok '));
  expect({ text, ok }).toEqual({ text, ok: !lines.some((line) => line.startsWith('error ')) });
  return lines.join('\n');
}

describe('parley doctor on a broken setup', () => {
  let home = '';
  let model: Awaited<ReturnType<typeof startFakeOllama>>;
  let env: Environment = {};
  beforeEach(async () => {
    home = await mkdtemp(path.join(tmpdir(), 'parley-doctor-'));
    model = await startFakeOllama();
    env = { GATEWAY_HOME: home, OLLAMA_HOST: model.url, PORT: '0' };
  });
  afterEach(async () => {
    await model.close();
    await rm(home, { recursive: true, force: true });
  });
  const settings = (text: string, mode = 0o600) => writeFile(path.join(home, 'config.json'), text, { mode });

  it('finds nothing on one that is intact, and leaves the home as it was', async () => {
    expect(await complaints(env)).toBe('\nNo problems found.');
    await expect(stat(path.join(home, 'pg'))).rejects.toThrow(/ENOENT/);
  });

  it('names 1: a config.json with an error, by its line', async () => {
    await settings('{\n  "persona": "Ada"\n  "limits": {}\n}');
    expect(await complaints(env)).toMatch(/error +Settings +\S+config\.json:3:3: a comma is missing/);
  });

  it('names 2: a variable that cannot be used', async () => {
    expect(await complaints({ ...env, TELEGRAM_BOT_TOKEN: 'nonsense' })).toMatch(
      /error +Settings +TELEGRAM_BOT_TOKEN: must look like/,
    );
  });

  it('names 3: a home that others can change, and --fix revokes their rights', async () => {
    await chmod(home, 0o777);
    await settings('{}', 0o644);
    const said = await complaints(env);
    expect(said).toMatch(/error +Permissions +GATEWAY_HOME \S+ can be changed by other users/);
    expect(said).toContain(`→ chmod 700 ${home}`);
    expect(said).toContain('parley doctor --fix corrects 2 of them.');
    expect(await complaints(env, '--fix')).toContain('Permissions: changed the mode of');
    expect((await stat(home)).mode & 0o777).toBe(0o700);
    expect(await complaints(env)).toBe('\nNo problems found.');
  });

  it('names 4: a home that is a file', async () => {
    const file = path.join(home, 'file');
    await writeFile(file, '');
    const said = await complaints({ ...env, GATEWAY_HOME: file });
    expect(said).toMatch(/error +Home +\S+file is a file\./);
    expect(said).toContain('set GATEWAY_HOME to a folder');
  });

  it('names 5: a port that another program holds', async () => {
    const other = createServer((_request, response) => response.end('not Parley'));
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    expect(await complaints({ ...env, PORT: String(port) })).toMatch(
      new RegExp(`error +Port +127\\.0\\.0\\.1:${port} is in use by another program\\.\\n.*set PORT`),
    );
  });

  it('names 6: a model server that does not answer, and 7: a database that does not', async () => {
    const away = 'postgres://user:secret@127.0.0.1:9/parley';
    const said = await complaints({ ...env, OLLAMA_HOST: 'http://127.0.0.1:9', DATABASE_URL: away });
    expect(said).toMatch(/error +Model +No model server answers at http:\/\/127\.0\.0\.1:9 \(ECONNREFUSED\)/);
    expect(said).toMatch(
      /error +Database +The database at 127\.0\.0\.1:9 cannot be reached \(ECONNREFUSED\)/,
    );
    expect(said).not.toContain('secret');
  });

  it('names 8: a model that the server does not have, and 9: one with a small window', async () => {
    expect(await complaints({ ...env, MODEL: 'nosuch:7b' })).toMatch(
      /error +Model +MODEL names nosuch:7b, which the server does not have\. It has: .*\n.*ollama pull nosuch:7b/,
    );
    model.setModels([{ name: 'tiny', contextLength: 2_048, capabilities: ['completion'] }]);
    const said = await complaints(env);
    expect(said).toMatch(/warning +Model +The window of tiny is small/);
    expect(said).toMatch(/warning +Model +tiny cannot call tools/);
  });

  it('names 10: a webhook left at Telegram, which --fix removes, and 11: groups that privacy mode hides', async () => {
    const telegram = await FakeTelegram.start();
    onTestFinished(() => telegram.close());
    telegram.updates.webhook = 'https://elsewhere.example/hook';
    await settings('{"access": {"telegram": {"groups": {"-100123": {"mention": false}}}}}');
    const bot = { ...env, TELEGRAM_BOT_TOKEN: FAKE_TOKEN, TELEGRAM_API_ROOT: telegram.root };
    const said = await complaints(bot);
    expect(said).toMatch(/error +Telegram +A webhook is set for this bot/);
    expect(said).toMatch(/warning +Telegram +Privacy mode is on: .* The settings of -100123 ask for all/);
    expect(await complaints(bot, '--fix')).toContain("Telegram: removed the bot's webhook at Telegram.");
    expect(telegram.updates.webhook).toBe('');
    telegram.privacyOff = true;
    telegram.business.isOffered = false;
    expect(await complaints(bot)).toBe('\nNo problems found.');
    await settings('{"channels": {"telegram": {"business": true}}}');
    expect(await complaints(bot)).toMatch(
      /warning +Telegram +The bot cannot be connected[\s\S]*Secretary Mode/,
    );
    telegram.business.isOffered = true;
    expect(await complaints(bot)).toBe('\nNo problems found.');
    await settings('{"channels": {"telegram": {"webhook": {"url": "https://bot.example.org"}}}}');
    expect(await complaints(bot)).toMatch(/warning +Telegram +The webhook is not set yet; 0 updates wait/);
    telegram.webhook.set({ url: 'https://bot.example.org/v1/updates/telegram' });
    expect(await complaints(bot)).toBe('\nNo problems found.');
    telegram.webhook.gateway = () => 'http://127.0.0.1:1';
    telegram.says('7001', 'anybody?', '7001');
    await expect.poll(() => telegram.webhook.info()['last_error_message'], WAIT).toBe('Connection refused');
    expect(await complaints(bot)).toMatch(
      /error +Telegram +.*"Connection refused". It keeps trying; waiting updates: 1/,
    );
    telegram.webhook.remove({});
    await settings('{}');
    telegram.tokenValid = false;
    expect(await complaints(bot)).toMatch(/error +Telegram +Telegram refuses the bot token\.\n/);
  });

  it('names 12: the Message Content Intent that is off, and 13: a token that Discord refuses', async () => {
    const discord = await FakeDiscord.open();
    onTestFinished(() => discord.close());
    const bot = { ...env, DISCORD_BOT_TOKEN: discord.token, DISCORD_API_ROOT: discord.apiRoot };
    expect(await complaints(bot)).toBe('\nNo problems found.');
    discord.gateway.messageContentAllowed = false;
    expect(await complaints(bot)).toMatch(/warning +Discord +The Message Content Intent is off/);
    expect(await complaints({ ...bot, DISCORD_BOT_TOKEN: 'wrong.bot.token' })).toMatch(
      /error +Discord +.*token/,
    );
  });

  it('names 14: the missing program of an MCP server, and 15: a sandbox that cannot run', async () => {
    await settings(
      '{"mcp": {"servers": {"notes": {"command": "no-such-program"}}}, "tools": {"exec": true}}',
    );
    const said = await complaints(env);
    expect(said).toMatch(/error +MCP +notes: there is no program no-such-program\./);
    // Below the temporary folder, which programs in the sandbox can read, it may not run anywhere.
    expect(said).toMatch(/error +Sandbox +Running programs is unavailable: /);
  });

  it('names a tool that the settings both enable and turn off', async () => {
    await settings('{"tools": {"enabled": ["exec"], "exec": false}}');
    expect(await complaints(env)).toMatch(/warning +Sandbox +tools\.enabled names exec, which .* is off\./);
  });

  it('names 16: an incomplete embedded database, and 17: a TZ that is not a time zone', async () => {
    await mkdir(path.join(home, 'pg'));
    await writeFile(path.join(home, 'pg', 'postmaster.opts'), '');
    const said = await complaints({ ...env, TZ: 'Mars/Phobos' });
    expect(said).toMatch(/error +Database +\S+pg holds files but no complete database/);
    expect(said).toMatch(/warning +Time zone +TZ is not a valid time zone/);
  });

  it('reports the same to programs as JSON', async () => {
    const { text, ok } = await doctorCommand(['--json'], { ...env, MODEL: 'nosuch:7b' }, PLAIN);
    const { findings } = JSON.parse(text);
    expect(ok).toBe(false);
    expect(findings).toContainEqual(
      expect.objectContaining({ subject: 'Model', level: 'error', fixable: false }),
    );
    await expect(doctorCommand(['--fast'], env, PLAIN)).rejects.toThrow(/doctor \[--fix\] \[--json\]/);
  });
});

describeGateway('parley doctor next to a gateway', { telegram: true }, (fixture) => {
  it('sees it, its database and its port, and reports them', async () => {
    const { env, gateway, home } = fixture();
    const port = new URL(gateway.url).port;
    const { text, ok } = await doctorCommand([], { ...env, PORT: port }, PLAIN);
    expect({ text, ok }).toEqual({ text, ok: true });
    expect(text).toContain(`${home}; process ${process.pid} runs with it.`);
    expect(text).toContain(`A gateway answers at 127.0.0.1:${port}.`);
    expect(text).toMatch(/ok +Database +.*Postgres \d+.*; its tables are up to date\./);
    expect(text).toContain('One gateway runs with this database.');
  });

  it('names settings and versions in which two gateways differ, and tables of a newer version', async () => {
    const { env, sql } = fixture();
    await sql`insert into node (id, instance, lease_until) values ('n2', 'other', now() + interval '1 minute')`;
    await sql`
      insert into node_settings (instance, version, digests)
      select 'other', '9.9.9', digests || '{"MODEL": "other", "limits": "other"}' from node_settings`;
    const differing = await complaints(env);
    expect(differing).toMatch(
      /warning +Gateways +2 gateways run with this database in different versions: .*9\.9\.9/,
    );
    expect(differing).toMatch(/with different settings: (?=.*\bMODEL\b)(?=.*\blimits\b)(?!.*tools).*\./);
    await sql`delete from node where id = 'n2'`;
    await sql`insert into migration (hash, created_at) values ('future', 99999999999999)`;
    expect(await complaints(env)).toMatch(
      /error +Database +.*a newer version of Parley has changed its tables/,
    );
    await sql`delete from migration where hash = 'future'`;
  });
});
