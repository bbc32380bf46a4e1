/** `parley upgrade`: a running gateway goes on as another version, and as itself where that one fails; no message is lost. */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { build } from '../../src/launch/build.js';
import { ROOT } from '../architecture/imports.ts';
import { parley, type RunningGateway, startGatewayProcess } from '../child.ts';
import { freePort } from '../fakes/network/free-port.ts';
import { type FakeOllama, startFakeOllama } from '../fakes/ollama/ollama.ts';

const TOKEN = 'token-of-the-upgrade-0123456789-abcdef';
const LONG = 300_000;
const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };

let folder = '';
let ollama: FakeOllama;
/** This version, the next one with a table that has a further column, and two that do not work, all built. */
let versions: { now: string; next: string; broken: string; failing: string };

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'parley-upgrade-'));
  ollama = await startFakeOllama();
  const now = await copyOf('now');
  const next = await copyOf('next');
  const file = path.join(next, 'package.json');
  await writeFile(file, (await readFile(file, 'utf8')).replace(/"version": ".*"/, '"version": "9.0.0"'));
  await addMigration(next);
  for (const root of [now, next]) {
    const problem = await build(root);
    if (problem !== undefined) throw new Error(problem);
  }
  versions = {
    now,
    next,
    broken: await changed(next, 'broken', "if (process.argv[2] === 'start') process.exit(7);"),
    failing: await changed(next, 'failing', "process.env.MODEL = 'nobody-has-this:1b';"),
  };
}, LONG);
afterAll(async () => {
  await ollama.close();
  await rm(folder, { recursive: true, force: true });
});

/** A copy of this version, with its packages. */
async function copyOf(name: string): Promise<string> {
  const root = path.join(folder, name);
  await mkdir(root);
  for (const part of ['src', 'channels', 'drizzle', 'package.json', 'package-lock.json'])
    await cp(path.join(ROOT, part), path.join(root, part), { recursive: true });
  await symlink(path.join(ROOT, 'node_modules'), path.join(root, 'node_modules'));
  return root;
}

/** Adds a migration that running gateways bear, as the next version would bring it. */
async function addMigration(root: string): Promise<void> {
  const file = path.join(root, 'drizzle/meta/_journal.json');
  const journal: { entries: object[] } = JSON.parse(await readFile(file, 'utf8'));
  const entry = {
    idx: journal.entries.length,
    version: '7',
    when: 9_000_000_000_000,
    tag: 'next',
    breakpoints: true,
  };
  await writeFile(file, JSON.stringify({ ...journal, entries: [...journal.entries, entry] }));
  await writeFile(path.join(root, 'drizzle/next.sql'), 'ALTER TABLE "usage" ADD COLUMN "next" integer;');
}

/** The same version as an installed package whose program begins with this line. */
async function changed(root: string, name: string, line: string): Promise<string> {
  const copy = path.join(folder, name);
  await mkdir(copy);
  for (const part of ['src/launch', 'src/launch.js', 'dist', 'drizzle', 'package.json'])
    await cp(path.join(root, part), path.join(copy, part), { recursive: true });
  await symlink(path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules'));
  const cli = path.join(copy, 'dist/cli.js');
  await writeFile(cli, `${line}\n${await readFile(cli, 'utf8')}`);
  const stampFile = path.join(copy, 'dist/stamp.json');
  const stamp = JSON.parse(await readFile(stampFile, 'utf8'));
  stamp.files['cli.js'] = (await readFile(cli)).length;
  await writeFile(stampFile, JSON.stringify(stamp));
  return copy;
}

describe('an upgrade', { timeout: LONG }, () => {
  interface Setup {
    env: Record<string, string>;
    gateway: RunningGateway;
    url: string;
  }

  async function startNow(): Promise<Setup> {
    const home = await mkdtemp(path.join(folder, 'home-'));
    const port = await freePort();
    const env = { GATEWAY_HOME: home, GATEWAY_TOKEN: TOKEN, OLLAMA_HOST: ollama.url, PORT: String(port) };
    await writeFile(path.join(home, 'config.json'), '{"afterTurn": {"title": false}}', { mode: 0o600 });
    const gateway = await startGatewayProcess(env, { root: versions.now });
    return { env, gateway, url: `http://127.0.0.1:${port}` };
  }

  const versionAt = async (url: string): Promise<string> => {
    const response = await fetch(`${url}/v1/health`, { headers });
    return ((await response.json()) as { version: string }).version;
  };

  /** Writes until it is stopped; each message is repeated until it is accepted. Returns what was written. */
  function write(url: string): { stop(): Promise<string[]> } {
    const over = new AbortController();
    const texts: string[] = [];
    const work = (async () => {
      while (!over.signal.aborted) {
        const text = `message ${texts.length}`;
        texts.push(text);
        for (let isAccepted = false; !isAccepted;) {
          isAccepted = await fetch(`${url}/v1/sessions/http:steady/messages`, {
            method: 'POST',
            headers: { ...headers, 'idempotency-key': text.replace(' ', '-') },
            body: JSON.stringify({ content: text }),
          }).then(
            ({ status }) => status === 202,
            () => false,
          );
          await pause(isAccepted ? 250 : 10);
        }
      }
    })();
    return {
      async stop() {
        over.abort();
        await work;
        return texts;
      },
    };
  }

  /** All answers, once there are so many. */
  async function answersAt(url: string, count: number): Promise<string[]> {
    for (;;) {
      const answers: string[] = [];
      for (let before = ''; ;) {
        const response = await fetch(`${url}/v1/sessions/http:steady/messages?limit=100${before}`, {
          headers,
        });
        const { messages } = (await response.json()) as {
          messages: { role: string; content: string; seq: number }[];
        };
        const page = messages.filter(({ role }) => role === 'assistant').map(({ content }) => content);
        answers.unshift(...page);
        if (messages.length < 100) break;
        before = `&before=${messages[0]?.seq}`;
      }
      if (answers.length >= count) return answers;
      await pause(50);
    }
  }

  it('has the running gateway go on as the next version and back, with every message answered once and in order', async () => {
    const { env, gateway, url } = await startNow();
    const writing = write(url);
    const before = await versionAt(url);
    const up = await parley(['upgrade', versions.next], env, versions.now);
    expect(up.stderr).toContain(`Changing from version ${before} to 9.0.0`);
    expect([up.code, up.stdout]).toEqual([0, expect.stringContaining('Version 9.0.0 runs.')]);
    expect(await versionAt(url)).toBe('9.0.0');
    const waitedS = Number(/Messages waited ([\d.]+) s/.exec(up.stdout)?.[1]);
    process.stdout.write(`messages waited ${waitedS} s for the next version\n`);
    // The backup is there, and a command of the installation that was started runs the version that took its place.
    const backups = await readdir(path.join(env['GATEWAY_HOME'] ?? '', 'backups'));
    expect(backups).toEqual([expect.stringMatching(/^before-9\.0\.0-\d+\.backup$/)]);
    expect((await parley(['--version'], env, versions.now)).stdout.trim()).toBe(before);
    expect((await parley(['status', '--json'], env, versions.now)).stdout).toContain('"version": "9.0.0"');
    const down = await parley(['upgrade', '--back'], env, versions.now);
    expect([down.code, down.stderr, down.stdout]).toEqual([
      0,
      expect.any(String),
      expect.stringContaining(`Version ${before} runs.`),
    ]);
    expect(await versionAt(url)).toBe(before);
    const texts = await writing.stop();
    expect(await answersAt(url, texts.length)).toEqual(texts.map((text) => `echo: ${text}`));
    // It is still the process that was started.
    gateway.signal('SIGTERM');
    expect(await gateway.ended).toBe(0);
  });

  it.each([
    ['ends at its start', 'broken', 'It ended (code 7).'],
    ['answers nobody', 'failing', 'answers failed, and none was whole'],
  ] as const)('goes back by itself when the next version %s', async (_what, name, reason) => {
    const { env, gateway, url } = await startNow();
    const writing = write(url);
    const before = await versionAt(url);
    const up = await parley(['upgrade', versions[name]], env, versions.now);
    expect(up.code).toBe(1);
    expect(up.stderr).toContain(reason);
    expect(up.stderr).toContain(`Version ${before} runs again, and nothing is lost.`);
    await expect.poll(() => versionAt(url).catch(() => ''), { timeout: 30_000 }).toBe(before);
    const texts = await writing.stop();
    const answers = await answersAt(url, texts.length);
    expect(answers).toHaveLength(texts.length);
    // The model reads what was not answered before, too.
    expect(answers.at(-1)).toContain(texts.at(-1));
    gateway.signal('SIGTERM');
    expect(await gateway.ended).toBe(0);
    // The column that the next version added stays, and the next start does not mind.
    const again = await startGatewayProcess(env, { root: versions.now });
    again.signal('SIGTERM');
    expect(await again.ended).toBe(0);
  });

  it('without a running gateway leaves the trial to the next start', async () => {
    const { env, gateway, url } = await startNow();
    gateway.signal('SIGTERM');
    await gateway.ended;
    const { stdout } = await parley(['upgrade', versions.next], env, versions.now);
    expect(stdout).toContain('The next start tries version 9.0.0');
    const started = await startGatewayProcess(env, { root: versions.now });
    expect(await versionAt(url)).toBe('9.0.0');
    // What is tried ends with the process that tries it: the next start needs the home.
    started.signal('SIGKILL');
    await expect.poll(() => versionAt(url).catch(() => ''), { timeout: 30_000 }).toBe('');
  });

  it('is refused for a version whose tables the running one could not use, and for folders of something else', async () => {
    const { env, url } = await startNow();
    const before = await versionAt(url);
    const breaking = await changed(versions.next, 'breaking', '');
    await writeFile(path.join(breaking, 'drizzle/next.sql'), 'ALTER TABLE "usage" DROP COLUMN "model";');
    const refused = await parley(['upgrade', breaking], env, versions.now);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('could not go back by itself'),
    ]);
    const other = path.join(folder, 'other');
    await mkdir(other);
    await writeFile(path.join(other, 'package.json'), '{"name": "something-else"}');
    for (const [asked, words] of [
      [other, 'is not a folder of parley-gateway'],
      ['--output=x', 'has no option --output'],
      ['a b', 'neither a folder with the program nor a version'],
    ] as const)
      expect((await parley(['upgrade', asked], env, versions.now)).stderr).toContain(words);
    expect(await versionAt(url)).toBe(before);
  });
});
