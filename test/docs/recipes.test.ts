/**
 * Every command that a page tells its reader to type: run word for word against a whole gateway, or excused with a
 * reason.
 */
import { existsSync, mkdtempSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import project from '../../package.json' with { type: 'json' };
import { loadConfig } from '../../src/config.ts';
import { startGateway } from '../../src/gateway.ts';
import type { Gateway } from '../../src/lifecycle.ts';
import { makeEmbeddedHome, silentLog } from '../database.ts';
import { type FakeOllama, startFakeOllama } from '../fakes/ollama/ollama.ts';
import { FAKE_TOKEN, FakeTelegram } from '../fakes/telegram/telegram.ts';
import { listFiles } from '../architecture/imports.ts';
import { stepsOf } from './page-files.ts';
import { codeBlocks, PAGES, proseOf, readText, ROOT } from './pages.ts';
import { runShell } from './shell.ts';

const TOKEN = 'a-token-for-the-recipes-0123456789';
const ANSWER = 'Hello from the model.';
const STRANGER = '1001';

/** What the reader must see after each command; the first match counts. */
const EXPECTED: [command: RegExp, output: RegExp][] = [
  [/^curl (--data-binary |-F file=)@LICENSE /, /"file":"inbox\/[0-9a-f]{12}-/i],
  [/\/files\/inbox\//, /MIT License/],
  [/^TICKET=/, /retry: \d+/],
  [/^(node|sh) docs\/examples\/chat/, /\w/],
  [/^npx parley pair approve /, /may write to the bot now/],
  [/^npx parley pair group telegram -/, /telegram group -\d+/],
  [/^npx parley pair group discord /, /discord group \d+/],
  [/^npx parley pair guild discord /, /discord guild \d+/],
  [/^npx parley pair role discord /, /discord role \d+/],
  [/^npx parley pair group slack /, /slack group C\w+/],
  [/^npx parley pair group matrix /, /matrix group !\S+:\S+/],
  [/^npx parley token create /, /shown only once/],
  [/^npx parley token$/, /,admin {2}env {2}GATEWAY_TOKEN {2}\(created /],
  [/^npx parley status/, /gateways +1 running/],
  [/^npx parley doctor/, /One gateway runs with this database/],
  [/^npx parley trace last$/, /answered/i],
  [/^npx parley sign-ins$/, /No browsers are signed in with a link/],
  [/^npx parley --version$/, /^\d+\.\d+\.\d+$/m],
  [/^npx parley skill$/, /No skills yet/],
  [/^npm run build:plugins$/, /plugins\/build\.ts/],
  [/^npx parley plugin add dist\/plugins\/(email|whatsapp) --yes$/, /Added: (email|whatsapp)\./],
  [/^npx parley mcp$/, /No MCP servers are configured\./],
  [/^npx parley config validate$/, /every setting has its default|is valid/],
  [/^npx parley config set limits/, /limits\.messagesPerMinute is set/],
  [/^npx parley config set approvals/, /approvals\.expireMinutes is set/],
  [/^npx parley config get limits/, /^20$/m],
  [/^npx parley config unset limits/, /has its default again/],
  [/^npx parley dead-letters$/, /There are no dead letters/],
  [/^npx parley dead-letters replay --all$/, /Queued again: 0/],
  [/^curl .*"stream": true/s, /data: \[DONE\]/],
  [/^curl .*\/v1\/chat\/completions/s, new RegExp(ANSWER)],
  [/^curl .*\/api\/chat/s, /"message":\{"role":"assistant","content":"/],
  [/^curl .*\/v1\/models/s, /"object":"list"/],
  [/^curl -X POST .*\/messages /s, /"turnId"/],
  [/^curl .*\/events/s, /retry: \d+/],
  [/^curl .*\/stop/s, /"stopped":/],
  [/^curl .*\/fork /s, /"title":"Another way"/],
  [/^curl .*\/messages\?/s, /Tell me a story/],
  [/^curl -X POST .*\/v1\/schedules/s, /"task":"Tell me the news"/],
  [/^curl .*\/v1\/schedules/s, /"schedules":\[/],
  [/^curl http:\/\/\S+\/mcp /s, /"name":"ask_person"/],
  [/^curl http:\/\/\S+\/a2a /s, /"state":"TASK_STATE_COMPLETED"/],
  [/^curl .*\/readyz/s, /"ready":true/],
  [/^npm run test:campaign -- --help$/, /kills/],
  [/^sha256sum /, /^node_modules\/node-[^ ]+: OK$/m],
];

/** What is not run here, and where it is tested instead. */
const EXCUSED: [command: RegExp, reason: string][] = [
  [/^python3 docs\/examples\//, 'test/docs/examples.test.ts runs it where there is a Python'],
  [
    /^body='|^signature=\$\(|\/v1\/hooks\//,
    'test/flows/channels/hooks.test.ts runs these lines together, with the webhook in its settings',
  ],
  [
    /^node docs\/examples\/webhook-receiver\.ts$/,
    'test/flows/operator/webhooks-killed.test.ts runs it, with the settings beside it',
  ],
  [
    /^npx parley trace (telegram:42|TURN|TURN --prompt)$/,
    'test/flows/operating/why.test.ts asks for chats and turns that there are',
  ],
  [
    /^npx parley dead-letters (show|drop) /,
    'test/ops/dead-letters.test.ts shows and drops one that there is',
  ],
  [
    /^npx parley (replay|eval) /,
    'test/flows/operating/evals.test.ts runs every line of docs/evals.md, with turns and models that there are',
  ],
  [/^npx parley upgrade/, 'test/install/upgrade.test.ts upgrades, by folders and back'],
  [/^npx parley start --workers /, 'test/flows/operating/workers.test.ts starts two'],
  [
    /^npx parley (sessions|export|schedule)/,
    'test/flows/operator/sessions.test.ts runs them with sessions that there are',
  ],
  [/^npx parley person/, 'test/flows/operator/person.test.ts exports and deletes a person'],
  [/^npx parley open --lan$/, 'test/commands/open.test.ts asks for it on machines with a network'],
  [
    /^npm ci && npm run build && npm prune /,
    'test/install/lockfile.test.ts counts what is left, and names what is missing',
  ],
  [
    /^npx parley (open|sign-ins revoke ID)$/,
    'test/flows/operator/sign-in.test.ts opens a link and ends a session',
  ],
  [/^npx parley logs/, 'test/flows/operator/logs.test.ts reads and follows the log of a process'],
  [/^npx parley mcp (login|logout) NAME$/, 'test/flows/mcp/login.test.ts signs in and out'],
  [
    /^npx parley export telegram:42 --signed|^npx parley verify /,
    'test/flows/operator/signed-record.test.ts exports a record and verifies it',
  ],
  [
    /^npx parley skill (add|trust|update|remove) /,
    'test/skills/skill-command.test.ts adds, trusts, updates and removes skills of every source',
  ],
  [
    /^npx parley knowledge|\/v1\/knowledge$|^KNOWLEDGE_NUMBERS=/,
    'test/flows/knowledge adds documents in each of these ways; test/knowledge/recall.test.ts measures',
  ],
  [/^parley plugin /, 'test/flows/plugins/stranger.test.ts types every one of them'],
  [/^npm run migrations -- /, 'writes into the clone; test/store/database has every migration that exists'],
  [/^npx parley COMMAND --help$/, 'test/cli.test.ts asks for the help of every command'],
  [/^npm link$/, 'changes the machine of the reader'],
  [/^npx parley import /, 'test/commands/import/import.test.ts imports a folder like it'],
  [/^npm run migrations /, 'writes into the clone; test/store/upgrade.test.ts runs what is there'],
  [/^npx parley init/, 'test/flows/operator/init.test.ts answers its questions and gives its flags'],
  [/^npx parley (backup|restore) (~|FILE$)/, 'test/flows/operator/backup.test.ts runs both'],
  [/^psql -h /, 'a program of somebody else; the tests of the store connect to the same socket'],
  [
    /^mv ~\/\.parley\/pg |^npx parley restore ~\/\.parley\/backups\/|^npx parley backup$/,
    'test/flows/operator/daily-backups.test.ts runs these lines with a database that is broken',
  ],
  [/^export TOKEN=\.\.\.$/, 'stands for the token of the reader; the test exports its own'],
  [/^git clone /, 'this is the clone'],
  [
    /^npx parley token (rotate|revoke) ID$|^npx parley token change ID /,
    'test/security/token-command.test.ts runs it with an id',
  ],
  [/^npm run build$|^npm pack /, 'test/install/package.test.ts builds and packs a copy'],
  [
    /^(npx|npm install) --loglevel=error \.\/parley-gateway-|^npx parley start$/,
    'test/install/package.test.ts starts what is in the package',
  ],
  [/^npm ci$/, 'the gate (.ci/run) installs from the same lock file'],
  [
    /^npm install --no-save --save-prod --omit=dev @opentelemetry/,
    'installs from the registry; test/ops/telemetry/packages.test.ts compares it with the lock file',
  ],
  [/^npm ci && npm start$/, 'the gate (.ci/run) installs and starts in a fresh home'],
  [
    /^(npm ci && )?npm test$|^npm (start|run format|run rows|run test:nightly)$/,
    'the gate (.ci/run) does the same',
  ],
  [/^([A-Z_]+=\S+ )+npm start$/, 'the settings before it are tried below'],
  [/^node src\/launch\.js start$/, 'test/process.test.ts starts it'],
  [/^TOKEN=… node chat\.mjs$/, 'test/docs/http-api.test.ts runs it'],
  [
    /^(launchctl|cp docs\/service\S*|chmod|apt install|mkdir -p data && sudo chown|npx parley service) /,
    'changes the machine of the reader; test/commands/service.test.ts has one that is made up',
  ],
  [/^npm run check && npm test$/, 'the gate (.ci/run) is this and more'],
  [/^npm run docs$|^npm run check$|^npm test -- /, 'test/docs/extending.test.ts runs them in a copy'],
  [/^npm run demo$/, 'test/flows/demo.test.ts runs it'],
  [
    /^(DATABASE_URL=\S+ )?npm run test:campaign -- [a-z]/,
    'test/campaigns/campaigns.test.ts runs each campaign at its least size',
  ],
  [/^npm run test:slow$/, 'runs every test under load; test/runs/slow-machine.ts'],
  [
    /^npm install --no-save --prefix test\/oracles-telegram/,
    'installs the packages of others from the registry',
  ],
  [/^npm run bench -- /, 'measures for minutes; test/bench/figures.test.ts tests what it measures with'],
  [/^npm run test:(clients|oracles|openapi)( |$)/, 'installs the packages of others from the registry'],
  [/\/v1\/audio\//, 'test/channels/http/routes/openai/audio.test.ts has servers for speech'],
  [/^ollama (pull|serve)\b|^register_new_matrix_user /, 'a program of somebody else'],
  [/^docker compose /, 'needs Docker; what it names is compared with docker-compose.yml below'],
  [/^docker exec /, 'needs Docker, and a container'],
  [/^docker buildx /, 'asks a registry on the network'],
  [/^curl -X POST https:\/\/matrix\.example\.org\/_matrix\/client\/v3\/login/, 'asks a Matrix homeserver'],
  [/_synapse\/admin\/v1\/users\/@parley:example\.org\/override_ratelimit$/, 'asks a Matrix homeserver'],
  [/^echo "POSTGRES_PASSWORD=/, 'writes the passwords of the reader into the clone'],
];

/** Whole commands: lines joined at their backslashes, without comments. */
function commandsOf(text: string): string[] {
  const whole = text.replaceAll(/ *\\\n */g, ' ');
  return whole
    .split('\n')
    .map((line) => line.replace(/(^|\s+)# .*$/, '').trim())
    .filter((line) => line !== '');
}

/** Commands within a sentence. */
function inlineCommands(page: string): string[] {
  const command = /`((?:[A-Z_]+=\S+ )*(?:npm|npx|node|curl|ollama|docker|chmod|apt) [^`]+)`/g;
  return [...proseOf(page).matchAll(command)].map(([, text = '']) => text);
}

const recipes = PAGES.flatMap((page) => {
  const blocks = codeBlocks(page).filter(({ language }) => language === 'sh');
  const commands = [...blocks.flatMap(({ text }) => commandsOf(text)), ...inlineCommands(page)];
  return commands.map((command) => ({ page, command }));
});
const run = recipes.filter(({ command }) => !EXCUSED.some(([excused]) => excused.test(command)));

describe('a command on a page', () => {
  let home = '';
  let model: FakeOllama;
  let telegram: FakeTelegram;
  let gateway: Gateway;
  beforeAll(async () => {
    home = await makeEmbeddedHome();
    // What a page shows is switched on as it says.
    const file = { channels: { http: { a2a: { enabled: true } } } };
    await writeFile(path.join(home, 'config.json'), JSON.stringify(file), { mode: 0o600 });
    model = await startFakeOllama({ fallback: { text: ANSWER } });
    telegram = await FakeTelegram.start();
    const environment = {
      GATEWAY_HOME: home,
      GATEWAY_TOKEN: TOKEN,
      PORT: '0',
      OLLAMA_HOST: model.url,
      TELEGRAM_BOT_TOKEN: FAKE_TOKEN,
      TELEGRAM_API_ROOT: telegram.root,
    };
    gateway = await startGateway(loadConfig(environment), { log: silentLog });
  });
  afterAll(async () => {
    await gateway.stop();
    await telegram.close();
    await model.close();
    await rm(home, { recursive: true, force: true });
  });

  /** A reader's shell: the same words, with this gateway's address and without the wait of an endless stream. */
  async function type(command: string): Promise<{ code: number; output: string }> {
    const shell = [
      'set -e',
      'npx() { shift; node src/launch.js "$@"; }',
      'curl() { command curl -sS --fail-with-body --max-time "$LIMIT" "$@" || [ "$?" -eq 28 ]; }',
      command.replaceAll('http://127.0.0.1:8080', gateway.url),
    ].join('\n');
    // As on a reader's machine, where gateway and model server are in their usual places.
    const reader = { OLLAMA_HOST: model.url, PORT: new URL(gateway.url).port };
    const limit = command.includes('/events') ? '1' : '30';
    return await runShell(shell, {
      cwd: ROOT,
      env: { ...reader, GATEWAY_HOME: home, GATEWAY: gateway.url, TOKEN, LIMIT: limit },
    });
  }

  /** A stranger's pairing code, as the bot shows it on Telegram. */
  async function pairingCode(): Promise<string> {
    telegram.says(STRANGER, 'let me in', STRANGER);
    return await vi.waitFor(
      () => {
        const code = /pair approve ([A-Z0-9]{8})/.exec(telegram.screen(STRANGER).join(' '))?.[1];
        if (code === undefined) throw new Error('no code yet');
        return code;
      },
      { timeout: 20_000, interval: 20 },
    );
  }

  // The same words on two pages are one recipe.
  const different = [...new Map(run.map((recipe) => [recipe.command, recipe])).values()];
  it.each(different)('does what it says: $command ($page)', async ({ command }) => {
    const expected = EXPECTED.find(([pattern]) => pattern.test(command))?.[1];
    if (expected === undefined) throw new Error('add what a reader should see of it to EXPECTED');
    const named = command.replace(/ NAME( \[--scope SCOPES\])?$/, ' reader');
    const typed = named.endsWith(' CODE') ? named.replace('CODE', await pairingCode()) : named;
    const { code, output } = await type(typed);
    expect(output).toMatch(expected);
    expect(code, `it printed: ${output}`).toBe(0);
  });

  it('that is not run has a reason, and none is excused needlessly', () => {
    for (const [pattern, reason] of EXCUSED) {
      expect(reason).toMatch(/\w+ \w+ \w+/);
      expect(
        recipes.some(({ command }) => pattern.test(command)),
        `${pattern} excuses something`,
      ).toBe(true);
    }
    expect(run.length).toBeGreaterThan(15);
  });
});

describe('a command for a container or a service', () => {
  const compose = readText('docker-compose.yml');
  const docker = recipes.filter(({ command }) => command.startsWith('docker compose exec'));

  it.each(docker)('names a service of the compose file: $command', ({ command }) => {
    const [, service = ''] = /^docker compose exec (\w+) /.exec(command) ?? [];
    expect(compose).toContain(`\n  ${service}:\n`);
    for (const file of command.match(/\bsrc\/\S+/g) ?? [])
      expect(existsSync(path.join(ROOT, file))).toBe(true);
  });

  it('starts the same file as npm start', () => {
    const [unit] = codeBlocks('docs/operating.md').filter(({ language }) => language === 'ini');
    const [, file = ''] = /ExecStart=.* node .*?(\S+) start/.exec(unit?.text ?? '') ?? [];
    expect(project.scripts.start).toContain(` ${file} start`);
    expect(project.bin.parley).toBe(file);
  });
});

describe('a start with settings before it', () => {
  const starts = recipes.filter(({ command }) => command.endsWith(' npm start') && !command.includes('&&'));

  // The variables of plug-ins exist once these are added: test/flows/plugins starts with them.
  it.each(starts.filter(({ page }) => !/^docs\/(extending|email|whatsapp)\.md$/.test(page)))(
    'is accepted: $command ($page)',
    ({ command }) => {
      const home = mkdtempSync(path.join(tmpdir(), 'parley-start-'));
      const variables = Object.fromEntries(
        [...command.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name, value]) => [name, value]),
      );
      const config = loadConfig({ GATEWAY_HOME: home, ...variables });
      const set = Object.entries(config.env).map(([name, value]) => [name, String(value)]);
      expect(Object.fromEntries(set)).toMatchObject(variables);
      const off = config.channels.filter(({ needs, isOn }) => needs in variables && !isOn);
      expect(off).toEqual([]);
    },
  );

  it('is on several pages', () => expect(starts.length).toBeGreaterThan(4));
});

describe('a file that a page names', () => {
  it('as a test to run exists', () => {
    const files = recipes.flatMap(({ command }) => /^npm test -- (.*)$/.exec(command)?.[1]?.split(' ') ?? []);
    const known = new Set([...listFiles(), ...stepsOf('docs/extending.md').map(({ file }) => file)]);
    expect(files.length).toBeGreaterThan(2);
    expect(files.filter((file) => ![...known].some((name) => name.startsWith(file)))).toEqual([]);
  });
});

describe('every block of code', () => {
  it('has a language that a test reads, or is plain text', () => {
    // Manifests of plug-ins are `jsonc`: they are no settings.
    const read = ['sh', 'json', 'jsonc', 'toml', 'js', 'ts', 'diff', 'ini', 'sql', 'md', 'yaml', 'text', ''];
    const strange = PAGES.flatMap((page) => codeBlocks(page)).filter(
      ({ language }) => !read.includes(language),
    );
    expect(strange).toEqual([]);
  });
});
