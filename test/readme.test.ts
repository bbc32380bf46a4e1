/** What the README says against what is there: settings, routes, commands, examples. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import project from '../package.json' with { type: 'json' };
import { environmentSchema, fileSchema, loadConfig } from '../src/config.ts';
import { startGateway } from '../src/gateway.ts';
import { makeEmbeddedHome, silentLog } from './database.ts';
import { startFakeOllama } from './fakes/ollama/ollama.ts';

const read = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../${name}`, import.meta.url)), 'utf8');
const readme = read('README.md');

const object = z.record(z.string(), z.unknown());
const branch = z.looseObject({ properties: object });

/** Every setting of a schema by its dotted name, with its default as JSON; '' = none. */
function settingsOf(schema: z.ZodObject): [string, string][] {
  const walk = (node: unknown, defaults: unknown, name: string): [string, string][] => {
    const { success, data } = branch.safeParse(node);
    if (!success) return [[name, JSON.stringify(defaults) ?? '']];
    const values = object.parse(defaults);
    return Object.entries(data.properties).flatMap(([key, child]) =>
      walk(child, values[key], name === '' ? key : `${name}.${key}`),
    );
  };
  return walk(z.toJSONSchema(schema, { io: 'input' }), schema.parse({}), '');
}

/** The rows below a table's head: name and default, without their backticks. */
function tableBelow(head: string): [string, string][] {
  const from = readme.indexOf(`| ${head} | default |`);
  expect(from, `the table "${head}"`).toBeGreaterThan(0);
  const rows = readme.slice(from, readme.indexOf('\n\n', from)).split('\n').slice(2);
  return rows.map((row) => {
    const [, name = '', fallback = ''] = row.split('|').map((cell) => cell.trim().replaceAll('`', ''));
    return [name, fallback];
  });
}

describe('the README', () => {
  it('lists every variable of the environment with its default, and no other', () => {
    const plain = settingsOf(environmentSchema).map(([name, value]) => [name, value.replaceAll('"', '')]);
    expect(tableBelow('variable')).toEqual(plain);
  });

  it('lists every field of config.json with its default, and no other', () => {
    expect(new Map(tableBelow('field'))).toEqual(new Map(settingsOf(fileSchema)));
  });

  it('shows a config.json that is accepted', () => {
    const example = /```json\n([\s\S]*?)```/.exec(readme)?.[1] ?? '';
    expect(fileSchema.parse(JSON.parse(example)).access.owners.telegram).toEqual(['123456789']);
  });

  it('names every route of the HTTP door, and only npm scripts that exist', () => {
    const routes = [
      ...read('channels/http/app.ts').matchAll(/path: '(\/(?:v1|healthz|readyz|metrics)[^']*)'/g),
    ];
    expect(routes.length).toBeGreaterThan(8);
    expect(routes.filter(([, route]) => !readme.includes(`${route}`))).toEqual([]);
    const scripts = [...readme.matchAll(/npm run ([a-z:]+)/g)].map(([, name]) => name);
    expect(scripts.filter((name) => !Object.hasOwn(project.scripts, name ?? ''))).toEqual([]);
  });

  it('lists the commands exactly as parley --help does', () => {
    const help = [...read('src/cli.ts').matchAll(/^ {2}((?:status|pair|token) .*)$/gm)].map(
      ([, line]) => line,
    );
    const shown = [...readme.matchAll(/^npx parley (\w.*?)(?: {2,}.*)?$/gm)].map(([, line]) => line);
    for (const line of help) expect(shown).toContain(line?.split(/ {2,}/)[0]);
    expect(help.length).toBeGreaterThan(6);
  });

  it('has an example for the openai package that runs and prints the answer', async () => {
    const model = await startFakeOllama({ fallback: { text: 'Hello from the model.' } });
    const home = await makeEmbeddedHome();
    const token = 'a-token-for-the-example';
    const config = loadConfig({
      GATEWAY_HOME: home,
      GATEWAY_TOKEN: token,
      PORT: '0',
      OLLAMA_HOST: model.url,
    });
    const gateway = await startGateway(config, { log: silentLog });
    // Beside the tests, where node finds the package.
    const folder = mkdtempSync(fileURLToPath(new URL('.tmp/example-', import.meta.url)));
    onTestFinished(async () => {
      await gateway.stop();
      await model.close();
      for (const place of [home, folder]) rmSync(place, { recursive: true, force: true });
    });
    const example = /```js\n([\s\S]*?)```/.exec(readme)?.[1] ?? '';
    const file = path.join(folder, 'chat.mjs');
    writeFileSync(file, example.replace('http://127.0.0.1:8080', gateway.url));
    const child = spawn(process.execPath, [file], {
      env: { TOKEN: token },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await once(child, 'close');
    expect(output).toBe('Hello from the model.');
  }, 60_000);
});

describe('the container', () => {
  it('is given only settings that exist, and keeps what must be kept', () => {
    const known = Object.keys(environmentSchema.shape);
    const compose = read('docker-compose.yml');
    const gateway = compose.slice(compose.indexOf('  gateway:'), compose.indexOf('  postgres:\n'));
    const given = [...gateway.matchAll(/^ {6}([A-Z_]+):/gm)].map(([, name]) => name ?? '');
    expect(given.length).toBeGreaterThan(3);
    expect(given.filter((name) => !known.includes(name))).toEqual([]);
    expect(compose).toContain('gateway:/data');
    expect(compose).not.toContain('\t');
    const dockerfile = read('Dockerfile');
    for (const line of [
      'FROM node:24-slim',
      'GATEWAY_HOME=/data',
      'VOLUME /data',
      'USER node',
      'HEALTHCHECK',
    ])
      expect(dockerfile).toContain(line);
    const copied = [...dockerfile.matchAll(/^COPY ([a-z]+) \.\//gm)].map(([, name]) => name ?? '');
    expect(copied).toEqual(['src', 'channels', 'drizzle']);
    expect(copied.filter((name) => !existsSync(new URL(`../${name}`, import.meta.url)))).toEqual([]);
  });
});
