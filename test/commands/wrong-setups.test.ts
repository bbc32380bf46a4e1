/** Setups that do not work, as people make them: each is told in a sentence that names the cause and what to change. */
import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parley, startGatewayProcess } from '../child.ts';
import { diagnosis, homeWith, outputOf } from './wrong-setup.ts';
import { createDatabase, makeEmbeddedHome, serverUrl } from '../database.ts';
import { type FakeOllama, startFakeOllama } from '../fakes/ollama/ollama.ts';

let ollama: FakeOllama;
beforeAll(async () => {
  ollama = await startFakeOllama();
});
afterAll(() => ollama.close());

const TELEGRAM = '123456789:AAEabcdefghijklmnopqrstuvwxyz0123456';

describe('a variable', () => {
  it.each<[string, Record<string, string>, RegExp]>([
    ['a port that is a word', { PORT: 'eighty' }, /PORT: must be a port, 0 to 65535/],
    ['a port that is too high', { PORT: '70000' }, /PORT: must be a port, 0 to 65535/],
    ['a short token', { GATEWAY_TOKEN: 'abc' }, /GATEWAY_TOKEN: must be random: .*openssl rand -hex 32/],
    [
      'a log level that does not exist',
      { LOG_LEVEL: 'verbose' },
      /LOG_LEVEL: must be one of trace, debug, info/,
    ],
    [
      'another kind of database',
      { DATABASE_URL: 'mysql://u@127.0.0.1/x' },
      /DATABASE_URL: must begin with postgres:\/\//,
    ],
    [
      'quotes that docker --env-file passes on',
      { DATABASE_URL: '"postgres://u@127.0.0.1/x"' },
      /DATABASE_URL: has quotes around its value; write it without them/,
    ],
    ['quotes around a name', { MODEL: "'qwen3:4b'" }, /MODEL: has quotes around its value/],
    [
      'a home folder that no shell has replaced',
      { GATEWAY_HOME: '~/parley' },
      /GATEWAY_HOME: begins with ~.*write the whole path/,
    ],
    [
      'part of a Telegram token',
      { TELEGRAM_BOT_TOKEN: 'abc' },
      /TELEGRAM_BOT_TOKEN: must look like <digits>:<secret>, as @BotFather gives it/,
    ],
    [
      'part of a Discord token',
      { DISCORD_BOT_TOKEN: 'abc' },
      /DISCORD_BOT_TOKEN: must be the token alone, .*Developer Portal/,
    ],
    [
      'another token of Slack',
      { SLACK_BOT_TOKEN: 'xapp-1' },
      /SLACK_BOT_TOKEN: must be the Bot User OAuth Token, which begins with xoxb-/,
    ],
    [
      'a homeserver without https',
      { MATRIX_TOKEN: 'a', MATRIX_URL: 'matrix.org' },
      /MATRIX_URL: must be the homeserver's http or https URL/,
    ],
    [
      'a model server without http',
      { OPENAI_BASE_URL: 'localhost' },
      /OPENAI_BASE_URL: must be an http or https URL/,
    ],
  ])('with %s is refused by its name', async (_, environment, sentence) => {
    expect(await diagnosis({ GATEWAY_HOME: homeWith(), ...environment })).toMatch(sentence);
  });

  it.each<[string, Record<string, string>, RegExp]>([
    [
      'with a misspelt name',
      { DATABASE_ULR: 'postgres://x' },
      /DATABASE_ULR is not read: did you mean DATABASE_URL\?/,
    ],
    [
      'with half of its name',
      { TELEGRAM_TOKEN: TELEGRAM },
      /TELEGRAM_TOKEN is not read: Telegram reads TELEGRAM_BOT_TOKEN/,
    ],
    [
      'of Slack without the bot token',
      { SLACK_APP_TOKEN: 'xapp-1-A-1-a' },
      /SLACK_APP_TOKEN is set, but Slack is off: it needs SLACK_BOT_TOKEN, too/,
    ],
    [
      'of Matrix without the token',
      { MATRIX_URL: 'https://matrix.example.org' },
      /MATRIX_URL is set, but Matrix is off: it needs MATRIX_TOKEN, too/,
    ],
    [
      'with a key, and no server for it',
      { OPENAI_API_KEY: 'sk-x' },
      /OPENAI_API_KEY is set, but no server uses it: set OPENAI_BASE_URL, too/,
    ],
    [
      'for a proxy',
      { https_proxy: 'http://127.0.0.1:3128' },
      /https_proxy is not read: Parley connects .* directly/,
    ],
    [
      'with a time zone that does not exist',
      { TZ: 'Europe/Berln' },
      /TZ is not a valid time zone, so times are shown in UTC/,
    ],
    [
      'with a host that nobody knows',
      { HOST: 'nope.invalid' },
      /HOST names nope\.invalid, which is not an address of this machine\.\s+→ set HOST to 127\.0\.0\.1/,
    ],
    [
      'of Matrix alone',
      { MATRIX_TOKEN: 'abc' },
      /MATRIX_URL is not set\.\s+→ set it to the address of the homeserver/,
    ],
    [
      'of Slack alone',
      { SLACK_BOT_TOKEN: 'xoxb-1-1-abcdefghij', SLACK_API_ROOT: 'http://127.0.0.1:9/api/' },
      /SLACK_APP_TOKEN is not set: no messages arrive/,
    ],
  ])('%s is named by doctor', async (_, environment, sentence) => {
    const output = await diagnosis({
      GATEWAY_HOME: homeWith(),
      OLLAMA_HOST: ollama.url,
      ...environment,
    });
    expect(output).toMatch(sentence);
  });
});

describe('a command', () => {
  it.each<[string, string[], RegExp]>([
    ['that is misspelt', ['strat'], /There is no command "strat"\. Did you mean start\?/],
    [
      'with a misspelt option',
      ['init', '--modell', 'x'],
      /init has no option --modell\. Did you mean --model\?/,
    ],
    [
      'with an option of another program',
      ['start', '--port', '80'],
      /start has no option --port\. It has --workers\./,
    ],
    ['with an option alone', ['--verson'], /There is no option --verson without a command/],
    ['with a word too many', ['start', 'now'], /Expected: start \[--workers N\|auto\]/],
    [
      'with workers that are no number',
      ['start', '--workers', 'many'],
      /--workers takes auto or a number from 1 to 64/,
    ],
    ['for a program that it cannot import from', ['import', 'openclav', '/tmp'], /Did you mean openclaw\?/],
  ])('%s says what is expected', async (_, args, sentence) => {
    expect(await outputOf(args, { GATEWAY_HOME: homeWith() })).toMatch(sentence);
  });

  it('with a home that no gateway has run with says so', async () => {
    const home = homeWith();
    const { stderr } = await parley(['sessions'], { GATEWAY_HOME: home });
    expect(stderr).toContain(
      `No gateway has run with ${home} yet. If yours has another home, set GATEWAY_HOME to it.`,
    );
    expect((await parley(['sessions'], { GATEWAY_HOME: home })).stderr).not.toContain('No gateway has run');
  });

  it.each<[string, string[], RegExp]>([
    ['a backup into no folder', ['backup', '/nope/x'], /There is no folder \/nope: make it first/],
    ['a restore of nothing', ['restore', '/nope/x'], /\/nope\/x cannot be read/],
    ['a restore of another file', ['restore', '/etc/hostname'], /is not a backup of Parley/],
    [
      'a person that cannot exist',
      ['person', 'export', 'telegram:typo'],
      /"telegram:typo" is not a person: expected CHANNEL:ID/,
    ],
    [
      'a group of no network',
      ['pair', 'group', 'telegrm', '5'],
      /There is no channel "telegrm" to pair: expected one of telegram/,
    ],
    [
      'a scope that does not exist',
      ['token', 'create', 'x', '--scope', 'admn'],
      /There is no scope "admn"\. Scopes: chat, approve, commands, admin/,
    ],
    ['a turn that does not exist', ['trace', 'nope'], /Nothing is known about nope/],
    [
      'a schedule for no session',
      ['schedule', 'add', 'http:x', '0 9 * * *', 'Hello'],
      /There is no session http:x/,
    ],
  ])('for %s says so', async (_, args, sentence) => {
    const environment = { GATEWAY_HOME: homeWith(), DATABASE_URL: await createDatabase() };
    expect(await outputOf(args, environment)).toMatch(sentence);
  });
});

describe('a start', () => {
  it.each<[string, () => Record<string, string>, RegExp]>([
    [
      'with a file as its home',
      () => ({ GATEWAY_HOME: path.join(homeWith('{}'), 'config.json') }),
      /GATEWAY_HOME .* is not a folder, or lies below a file: set it to a folder this user can write/,
    ],
    [
      'where nobody can write',
      () => ({ GATEWAY_HOME: '/proc/parley' }),
      /GATEWAY_HOME \/proc\/parley is not writable .*set it to a folder this user can write/,
    ],
    [
      'with an address of another machine',
      () => ({ HOST: '203.0.113.7', DATABASE_URL: serverUrl() }),
      /203\.0\.113\.7 is not an address of this machine; set HOST to one/,
    ],
    [
      'with a database that does not exist',
      () => ({ DATABASE_URL: withDatabase('nope_db') }),
      /refused the sign-in: database "nope_db" does not exist/,
    ],
    [
      'with an Ollama at no address',
      () => ({ OLLAMA_HOST: 'ftp://x', DATABASE_URL: serverUrl() }),
      /OLLAMA_HOST is not an address: write http:\/\/host:port or host:port/,
    ],
  ])('%s ends with a sentence', async (_, environment, sentence) => {
    const output = await outputOf(['start'], { GATEWAY_HOME: homeWith(), PORT: '0', ...environment() });
    expect(output).toMatch(sentence);
  });

  it('on a port that another program has says which', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? String(address.port) : '';
    const environment = { GATEWAY_HOME: homeWith(), PORT: port, DATABASE_URL: await createDatabase() };
    expect(await outputOf(['start'], environment)).toContain(
      `Port ${port} on 127.0.0.1 is in use by another program; set PORT to a free one.`,
    );
  });

  it('of a second gateway with the same home names the first', async () => {
    const home = await makeEmbeddedHome();
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    const gateway = await startGatewayProcess({ GATEWAY_HOME: home, OLLAMA_HOST: ollama.url });
    const output = await outputOf(['start'], { GATEWAY_HOME: home, PORT: '0' });
    expect(output).toContain(`process ${gateway.pid}`);
    expect(output).toContain('GATEWAY_HOME');
  });
});

describe('a model server', () => {
  it.each<[string, () => Record<string, string>, RegExp]>([
    [
      'that is off',
      () => ({ OLLAMA_HOST: '127.0.0.1:9' }),
      /No model server answers at http:\/\/127\.0\.0\.1:9 \(ECONNREFUSED\): start it with `ollama serve`/,
    ],
    [
      'whose name is misspelt',
      () => ({ OLLAMA_HOST: 'http://olama.invalid:11434' }),
      /No model server answers at http:\/\/olama\.invalid:11434 .*OLLAMA_HOST/,
    ],
    [
      'that is asked by https and speaks http',
      () => ({ OLLAMA_HOST: ollama.url.replace('http:', 'https:') }),
      /does not speak TLS: write http:\/\/ instead of https:\/\/ in OLLAMA_HOST/,
    ],
    [
      'that is addressed without its API',
      () => ({ OPENAI_BASE_URL: ollama.url }),
      /set OPENAI_BASE_URL to an OpenAI-compatible API, usually an address that ends in \/v1/,
    ],
    [
      'that lacks the model',
      () => ({ OLLAMA_HOST: ollama.url, MODEL: 'qwen99' }),
      /MODEL names qwen99, which the server does not have\. It has: /,
    ],
  ])('%s is told by doctor', async (_, environment, sentence) => {
    expect(await diagnosis({ GATEWAY_HOME: homeWith(), ...environment() })).toMatch(sentence);
  });

  it.each(['/v1', '/api', '/'])('of Ollama is found with %s behind its address', async (end) => {
    const output = await diagnosis({
      GATEWAY_HOME: homeWith(),
      OLLAMA_HOST: `${ollama.url}${end}`,
    });
    expect(output).toMatch(/^ok +Model/m);
  });
});

describe('doctor', () => {
  it('tells a database that nothing serves, with its address', async () => {
    const environment = {
      GATEWAY_HOME: homeWith(),
      DATABASE_URL: 'postgres://u@127.0.0.1:1/x',
      OLLAMA_HOST: ollama.url,
    };
    expect(await diagnosis(environment)).toMatch(
      /The database at 127\.0\.0\.1:1 cannot be reached \(ECONNREFUSED\)\. See DATABASE_URL/,
    );
  });

  it('asks whether it is Postgres that listens there', async () => {
    const server = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const environment = {
      GATEWAY_HOME: homeWith(),
      DATABASE_URL: `postgres://u@127.0.0.1:${port}/x`,
      OLLAMA_HOST: ollama.url,
    };
    expect(await diagnosis(environment)).toMatch(
      /did not answer in time: .*is it another program than Postgres\?/,
    );
  });

  it('names the folder of a home below a file, and says nothing more of the database there', async () => {
    const file = path.join(homeWith('{}'), 'config.json');
    const output = await diagnosis({
      GATEWAY_HOME: path.join(file, 'x'),
      OLLAMA_HOST: ollama.url,
    });
    expect(output).toMatch(/error +Home .* cannot be made in/);
    expect(output).not.toContain('chown');
  });

  it('names a program of an MCP server that is not there', async () => {
    const config = JSON.stringify({ mcp: { servers: { notes: { command: 'no-such-program' } } } });
    expect(await diagnosis({ GATEWAY_HOME: homeWith(config), OLLAMA_HOST: ollama.url })).toMatch(
      /notes: there is no program no-such-program\.\s+→ install no-such-program, or correct mcp\.servers\.notes\.command/,
    );
  });

  it('names a token that Telegram cannot be asked about', async () => {
    const environment = { TELEGRAM_BOT_TOKEN: TELEGRAM, TELEGRAM_API_ROOT: 'http://127.0.0.1:9' };
    expect(await diagnosis({ GATEWAY_HOME: homeWith(), OLLAMA_HOST: ollama.url, ...environment })).toMatch(
      /Telegram cannot be reached for getMe \(ECONNREFUSED\): check the network, and TELEGRAM_API_ROOT/,
    );
  });
});

function withDatabase(name: string): string {
  const url = new URL(serverUrl());
  url.pathname = `/${name}`;
  return url.href;
}
