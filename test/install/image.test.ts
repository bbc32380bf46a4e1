/** The Dockerfile and the compose files, read as an engine reads them; and the image's files, run without an engine. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { channels } from '../../channels/index.ts';
import manifest from '../../package.json' with { type: 'json' };
import { environmentSchemaFor } from '../../src/config-schema.ts';
import { readSources, ROOT } from '../architecture/imports.ts';
import { readText } from '../docs/pages.ts';
import { docx, png } from '../fakes/files/documents.ts';
import { startFakeOllama } from '../fakes/ollama/ollama.ts';
import { composeProblems, VARIABLES } from './compose-files.ts';
import { copied, environmentOf, inImage, only, argvOf, sourcesOfBuild } from './image.ts';
import { freePort } from '../fakes/network/free-port.ts';
import { needs } from '../runs/needs.ts';

const schema = environmentSchemaFor(channels);
const image = environmentOf();

describe('the Dockerfile', () => {
  it('copies what is in the repository, and nothing that .dockerignore keeps out', () => {
    const ignored = readText('.dockerignore').split('\n').filter(Boolean);
    const paths = [
      ...sourcesOfBuild(),
      ...copied()
        .map(({ from }) => from)
        .filter((from) => from !== 'dist'),
    ];
    const isKept = (from: string): boolean =>
      existsSync(path.join(ROOT, from)) && !ignored.some((pattern) => path.matchesGlob(from, pattern));
    expect(paths.filter((from) => !isKept(from))).toEqual([]);
  });

  it('builds from all sources, and has what the package has', () => {
    expect(sourcesOfBuild()).toEqual([
      'package.json',
      'package-lock.json',
      '.npmrc',
      'src',
      'channels',
      'plugins',
    ]);
    expect(
      copied()
        .map(({ from }) => from)
        .toSorted(),
    ).toEqual([...manifest.files, 'package.json'].toSorted());
  });

  it('sets variables that exist, to values that are accepted, and announces the port of the defaults', () => {
    expect(Object.keys(image).filter((name) => !VARIABLES.some((one) => one === name))).toEqual([]);
    const read = z.looseObject({ PORT: z.number(), HOST: z.string() }).parse(schema.parse(image));
    const defaults = z.looseObject({ PORT: z.number() }).parse(schema.parse({}));
    expect([read.PORT, read.HOST, only('EXPOSE')]).toEqual([defaults.PORT, '0.0.0.0', String(defaults.PORT)]);
  });

  it('runs without rights what npm start runs, where only the volume is written', () => {
    expect(only('USER')).toBe('node');
    expect(only('VOLUME')).toBe(image['GATEWAY_HOME']);
    expect(argvOf(only('CMD')).join(' ')).toBe(manifest.scripts.start.replace(/^exec /, ''));
  });

  it('installs every package that the program imports', () => {
    const added = [...readText('Dockerfile').matchAll(/ (@[\w/-]+)@\d/g)].map(([, name = '']) => name);
    const installed = [
      ...Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }),
      ...added,
    ];
    const isOfBuild = /^(src\/bundle\.ts|channels\/http\/page-build\.ts|channels\/http\/page\/.*)$/;
    const sources = readSources(['src', 'channels']).filter((file) => !isOfBuild.test(file.path));
    const imported = sources.flatMap(({ text }) =>
      [
        ...text.matchAll(
          /(?:^(?:import|export) (?!type\b)[^;']*?from|\bimport\()\s*'((?:@[\w-]+\/)?[a-z][\w.-]*)(?:\/[^']*)?'/gm,
        ),
      ].map(([, name = '']) => name),
    );
    expect(new Set(imported).size).toBeGreaterThan(15);
    expect([...new Set(imported)].filter((name) => !installed.includes(name) && name !== 'node')).toEqual([]);
  });
});

const MAIN = 'docker-compose.yml';
const ADDITIONS = ['gpu', 'host-ollama', 'folder'].map((name) => `docs/service/compose.${name}.yml`);

describe('the compose files', () => {
  it.each([MAIN, 'docs/service/compose.embedded.yml'])('name only what exists: %s', (file) => {
    expect(composeProblems(path.dirname(file), readText(file))).toEqual([]);
  });

  it.each(ADDITIONS)('name only what exists, together with the main file: %s', (file) => {
    expect(composeProblems(path.dirname(file), readText(file), readText(MAIN))).toEqual([]);
  });

  it.each([
    ['a volume that is not declared', '- gateway:/data', '- other:/data', 'volume other is not declared'],
    ['a variable that does not exist', 'HOST: 0.0.0.0', 'HOSTS: 0.0.0.0', 'there is no variable HOSTS'],
    [
      'a port that cannot be chosen',
      'PORT: ${PORT:-8080}',
      'PORT: 8081',
      'PORT is 8081, and not ${PORT:-8080}',
    ],
    [
      'a port for everyone',
      '127.0.0.1:${PORT:-8080}:',
      '${PORT:-8080}:',
      'the ports are ${PORT:-8080}:${PORT:-8080}',
    ],
    ['a folder that is lost', '- gateway:/data', '- gateway:/home', 'gateway:/home is not mounted at /data'],
    [
      'a database that is lost',
      'postgres:17.10',
      'postgres:18.4',
      'postgres:/var/lib/postgresql/data is not mounted at /var/lib/postgresql',
    ],
    ['the account root', '    init: true\n', '    init: true\n    user: root\n', 'gateway runs as root'],
    ['a folder without a Dockerfile', 'context: .', 'context: src', 'gateway has no Dockerfile'],
    [
      'another check of Postgres',
      'pg_isready -U parley',
      'pg_isready -U ann',
      'postgres has no health check',
    ],
  ])('may not have %s', (_, from, to, problem) => {
    const text = readText(MAIN);
    expect(text).toContain(from);
    expect(composeProblems('.', text.replace(from, to))).toContain(problem);
  });
});

describe('the files of the image, alone and where only the volume is written', needs('bubblewrap'), () => {
  it('run a gateway: its health, its page, its files and its commands', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'parley-image-'));
    const ollama = await startFakeOllama();
    onTestFinished(async () => {
      await ollama.close();
      await rm(home, { recursive: true, force: true });
    });
    await chmod(home, 0o700);
    const token = 'token-of-the-container-0123456789-abcdef';
    const port = String(await freePort());
    const env = { PORT: port, OLLAMA_HOST: ollama.url, GATEWAY_TOKEN: token };
    const run = (...command: string[]) => {
      const [program = '', ...args] = inImage(home, env, command);
      return spawnSync(program, args, { encoding: 'utf8', timeout: 60_000 });
    };
    const [, check = ''] = /CMD (\[.*\])/.exec(only('HEALTHCHECK')) ?? [];
    expect(run(...argvOf(check)).status).toBe(1);

    const [program = '', ...args] = inImage(home, env, argvOf(only('CMD')));
    const gateway = spawn(program, ['--json-status-fd', '3', ...args], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    });
    const ended = once(gateway, 'close');
    let status = '';
    gateway.stdio[3]?.on('data', (text: Buffer) => (status += text.toString()));
    onTestFinished(async () => {
      gateway.kill('SIGKILL');
      await ended;
    });
    let output = '';
    for (const stream of [gateway.stdout, gateway.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
    await vi.waitFor(() => expect(output).toContain('Parley is ready'), { timeout: 60_000, interval: 100 });
    expect(run(...argvOf(check)).status).toBe(0);

    const url = `http://127.0.0.1:${port}`;
    const page = await fetch(url);
    expect([page.status, page.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('text/html'),
    ]);
    const script = /src="([^"]+\.js)"/.exec(await page.text())?.[1] ?? '';
    expect((await fetch(new URL(script, url))).status).toBe(200);

    // What reads files are packages with programs of their own, which are loaded when the first file comes.
    const ask = (part: object) =>
      fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          messages: [{ role: 'user', content: [{ type: 'text', text: 'what is it?' }, part] }],
        }),
      });
    const document = docx(['The harbour is closed.']).toString('base64');
    const file = { filename: 'note.docx', file_data: `data:application/octet-stream;base64,${document}` };
    expect((await ask({ type: 'file', file })).status).toBe(200);
    expect(JSON.stringify(ollama.calls.at(-1)?.body.messages)).toContain('The harbour is closed.');
    const picture = `data:image/png;base64,${(await png(8, 8)).toString('base64')}`;
    const seen = await ask({ type: 'image_url', image_url: { url: picture } });
    expect(JSON.stringify(await seen.json())).not.toContain('unreadable');

    const [, link] = /ln -s (\S+) \/usr\/local\/bin\/parley/.exec(readText('Dockerfile')) ?? [];
    expect(run('node', link ?? '', 'status').stdout).toContain('http');
    // As an engine stops it: the signal reaches the gateway itself.
    process.kill(Number(/"child-pid": (\d+)/.exec(status)?.[1]), 'SIGTERM');
    const [code] = await ended;
    expect({ code, output: code === 0 ? '' : output }).toEqual({ code: 0, output: '' });
    expect(output).not.toContain('settings_changed');
    expect(output).not.toMatch(/EROFS|ERR_MODULE_NOT_FOUND|Cannot find/);
  }, 120_000);
});
