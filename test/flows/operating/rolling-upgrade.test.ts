/**
 * An upgrade of one gateway after the other: two versions running on one Postgres, and no message lost, doubled or
 * overtaken.
 */
import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { startGatewayProcess } from '../../child.ts';
import { serverDatabase } from '../../crash/databases.ts';
import { serverUrl } from '../../database.ts';
import { startFakeOllama } from '../../fakes/ollama/ollama.ts';
import { OWNER } from '../setup.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const SESSIONS = 6;
/** The minimum number of messages in each session before the next step. */
const STEP = 5;
const LONG = { timeout: 120_000, interval: 100 };

function git(...args: string[]): string | undefined {
  try {
    return execFileSync('git', args, {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    // No git, or no repository.
    return undefined;
  }
}

const JOURNAL = 'drizzle/meta/_journal.json';

/** The migrations of a commit, in order. */
function migrationsOf(commit: string): string[] {
  const journal: { entries?: { tag: string; when: number }[] } = JSON.parse(
    git('show', `${commit}:${JOURNAL}`) ?? '{}',
  );
  return (journal.entries ?? []).map(({ tag, when }) => `${tag} ${when}`);
}

/**
 * The newest commit whose migrations are a proper prefix of today's; undefined without that part of the history. A
 * commit on a side branch may have migrations that were regenerated later.
 */
function versionBefore(): string | undefined {
  const now = migrationsOf('HEAD');
  const changes = (git('rev-list', '-n', '200', 'HEAD', '--', JOURNAL) ?? '').split('\n').filter(Boolean);
  return changes.find((commit) => {
    const then = migrationsOf(commit);
    return then.length > 0 && then.length < now.length && then.every((one, n) => one === now[n]);
  });
}

const older = versionBefore();

/** A copy of this version, with the packages of this one. */
async function copyOf(folder: string): Promise<string> {
  await mkdir(folder);
  for (const name of ['src', 'channels', 'drizzle', 'dist', 'package.json', 'package-lock.json'])
    await cp(path.join(ROOT, name), path.join(folder, name), { recursive: true });
  await symlink(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
  return folder;
}

/** The files of an earlier version, with the packages of this one. */
async function unpack(commit: string, folder: string): Promise<string> {
  await mkdir(folder);
  const files = execFileSync(
    'git',
    ['archive', commit, 'src', 'channels', 'drizzle', 'package.json', 'package-lock.json'],
    {
      cwd: ROOT,
      maxBuffer: 256 * 1024 * 1024,
    },
  );
  execFileSync('tar', ['-x', '-C', folder], { input: files });
  await symlink(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
  return folder;
}

/** Adds a migration that running gateways bear, as the next version would bring it. */
async function addMigration(root: string): Promise<void> {
  const file = path.join(root, JOURNAL);
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

/** Where two versions lie: the last one with fewer migrations and this one; before there is one, this one and the next. */
async function twoVersions(folder: string): Promise<{ before: string; after: string }> {
  if (older !== undefined) return { before: await unpack(older, path.join(folder, 'before')), after: ROOT };
  const after = await copyOf(path.join(folder, 'after'));
  await addMigration(after);
  return { before: ROOT, after };
}

interface Shown {
  role: string;
  content: string;
}

it(
  'the older version keeps running next to the newer one, is stopped, and everything is answered once and in order',
  { timeout: 300_000 },
  async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'parley-upgrade-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const ollama = await startFakeOllama();
    onTestFinished(() => ollama.close());
    const database = await serverDatabase(serverUrl(), 0);
    onTestFinished(() => database.close());
    const { before, after } = await twoVersions(folder);
    const start = async (home: string, root: string) =>
      await startGatewayProcess(
        {
          ...database.environment(0),
          GATEWAY_HOME: path.join(folder, home),
          GATEWAY_TOKEN: OWNER,
          OLLAMA_HOST: ollama.url,
        },
        { root },
      );

    const first = await start('a', before);
    const urls = [first.url];
    const headers = { authorization: `Bearer ${OWNER}`, 'content-type': 'application/json' };
    const accepted = Array.from({ length: SESSIONS }, () => 0);
    const over = new AbortController();
    /** Sends one message after the other, each until a gateway has accepted it: as retrying clients do. */
    const write = async (session: number): Promise<void> => {
      for (let nth = 1, tries = 0; !over.signal.aborted; tries += 1) {
        const url = urls[(session + nth + tries) % urls.length] ?? '';
        const key = `${session}-${nth}`;
        const answer = await fetch(`${url}/v1/sessions/http:up-${session}/messages`, {
          method: 'POST',
          headers: { ...headers, 'idempotency-key': key },
          body: JSON.stringify({ content: `message ${nth}` }),
        }).catch(() => undefined);
        await answer?.arrayBuffer().catch(() => undefined);
        if (answer?.status !== 202) continue;
        accepted[session] = nth;
        nth += 1;
      }
    };
    const more = async (): Promise<void> => {
      const until = accepted.map((count) => count + STEP);
      await expect.poll(() => accepted.every((count, n) => count >= (until[n] ?? 0)), LONG).toBe(true);
    };
    const writers = Array.from({ length: SESSIONS }, (_, session) => write(session));
    await more();
    const second = await start('b', after);
    urls.push(second.url);
    await more();
    urls.shift();
    first.signal('SIGTERM');
    expect(await first.ended).toBe(0);
    await more();
    over.abort();
    await Promise.all(writers);

    const read = async (session: number): Promise<Shown[]> => {
      const messages: (Shown & { seq: number })[] = [];
      for (let before = ''; ; before = `&before=${messages[0]?.seq}`) {
        const url = `${second.url}/v1/sessions/http:up-${session}/messages?limit=200${before}`;
        const page: { messages: (Shown & { seq: number })[] } = await (await fetch(url, { headers })).json();
        messages.unshift(...page.messages);
        if (page.messages.length < 200) return messages;
      }
    };
    for (const [session, count] of accepted.entries()) {
      const sent = Array.from({ length: count }, (_, n) => `message ${n + 1}`);
      const said = async (role: string): Promise<string[]> =>
        (await read(session)).filter((message) => message.role === role).map(({ content }) => content);
      await expect.poll(async () => (await said('assistant')).length, LONG).toBeGreaterThanOrEqual(count);
      expect(await said('user')).toEqual(sent);
      expect(await said('assistant')).toEqual(sent.map((content) => `echo: ${content}`));
    }
    for (const gateway of [first, second])
      expect(gateway.stdout()).not.toMatch(/"level":(50|60|"error"|"fatal")/);
  },
);
