/**
 * An upgrade of one gateway after the other: two versions running on one Postgres, and no message lost, doubled or
 * overtaken.
 */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { startGatewayProcess } from '../../child.ts';
import { serverDatabase } from '../../crash/databases.ts';
import { startFakeOllama } from '../../fakes/ollama/ollama.ts';
import { OWNER } from '../setup.ts';
import { needs, skipUnless } from '../../runs/needs.ts';

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
const databaseUrl = process.env['DATABASE_URL'];

/** That version's files, with the packages of this one. */
async function unpack(commit: string, folder: string): Promise<string> {
  const root = path.join(folder, 'older');
  await mkdir(root);
  const files = execFileSync('git', ['archive', commit, 'src', 'channels', 'drizzle', 'package.json'], {
    cwd: ROOT,
    maxBuffer: 256 * 1024 * 1024,
  });
  execFileSync('tar', ['-x', '-C', root], { input: files });
  await symlink(path.join(ROOT, 'node_modules'), path.join(root, 'node_modules'));
  return root;
}

interface Shown {
  role: string;
  content: string;
}

it(
  'the older version keeps running next to the newer one, is stopped, and everything is answered once and in order',
  {
    ...needs('database'),
    ...skipUnless(older !== undefined, 'use a clone with the history of drizzle/'),
    timeout: 300_000,
  },
  async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'parley-upgrade-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const ollama = await startFakeOllama();
    onTestFinished(() => ollama.close());
    const database = await serverDatabase(databaseUrl ?? '', 0);
    onTestFinished(() => database.close());
    const start = async (home: string, root?: string) =>
      await startGatewayProcess(
        {
          ...database.environment(0),
          GATEWAY_HOME: path.join(folder, home),
          GATEWAY_TOKEN: OWNER,
          OLLAMA_HOST: ollama.url,
        },
        root === undefined ? {} : { root },
      );

    const first = await start('a', await unpack(older ?? '', folder));
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
    const second = await start('b');
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
