/** `parley start --workers`: several processes behind one port, one of which dies in the middle of a turn. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { MAX_WORKERS, readWorkers } from '../../../src/commands/start.ts';
import { embeddedDatabase, type RunDatabase, serverDatabase } from '../../crash/databases.ts';
import { serverUrl } from '../../database.ts';
import { type FakeOllama, startFakeOllama } from '../../fakes/ollama/ollama.ts';
import { OWNER } from '../setup.ts';
import { needs } from '../../runs/needs.ts';

/** Processes on a busy machine. */
const LONG = { timeout: 60_000, interval: 50 };

/** A program that gives another one a terminal (util-linux). */

interface Started {
  child: ChildProcess;
  output(): string;
  /** Lines of the log with this event. */
  events(event: string): { worker: number; pid: number }[];
}

function startParley(home: string, env: Record<string, string>): Started {
  const child = spawn(process.execPath, ['src/launch.js', 'start', '--workers', '2'], {
    env: { PATH: process.env['PATH'] ?? '', PORT: '0', GATEWAY_HOME: home, GATEWAY_TOKEN: OWNER, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (bytes: Buffer) => (text += bytes.toString()));
  return {
    child,
    output: () => text,
    events: (event) =>
      text
        .split('\n')
        .filter((line) => line.includes(`"${event}"`))
        .map((line) => JSON.parse(line)),
  };
}

describe('--workers', () => {
  it('accepts auto, or a number within its bounds', () => {
    expect(readWorkers([])).toBe(1);
    expect(readWorkers(['--workers', 'auto'], 4)).toBe(4);
    expect(readWorkers(['--workers', 'auto'], 400)).toBe(MAX_WORKERS);
    expect(readWorkers(['--workers', String(MAX_WORKERS)])).toBe(MAX_WORKERS);
    for (const wrong of [
      ['--workers', '0'],
      ['--workers', String(MAX_WORKERS + 1)],
      ['--workers', 'two'],
      ['fast'],
    ])
      expect(() => readWorkers(wrong)).toThrow(/--workers/);
  });
});

const DATABASES = {
  embedded: (folder: string) => Promise.resolve(embeddedDatabase(folder)),
  postgres: () => serverDatabase(serverUrl(), 0),
};

describe.each(['embedded', 'postgres'] as const)('two workers on %s', (kind) => {
  let ollama: FakeOllama;
  let database: RunDatabase;
  let folder: string;
  let parley: Started;
  let url: string;

  beforeAll(async () => {
    ollama = await startFakeOllama();
    folder = await mkdtemp(path.join(tmpdir(), 'parley-workers-'));
    database = await DATABASES[kind](folder);
    const home = path.join(folder, 'home0');
    parley = startParley(home, { ...database.environment(0), OLLAMA_HOST: ollama.url });
    url = await vi.waitFor(() => {
      const found = /Parley is ready: (\S+).*2 workers/.exec(parley.output());
      if (found === null) throw new Error(parley.output());
      return found[1] ?? '';
    }, LONG);
  }, 90_000);

  afterAll(async () => {
    parley.child.kill('SIGKILL');
    await ollama.close();
    await database.close();
    await rm(folder, { recursive: true, force: true });
  });

  const call = async (route: string, json?: unknown): Promise<unknown> => {
    const answer = await fetch(url + route, {
      method: json === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${OWNER}`, 'content-type': 'application/json' },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    });
    return await answer.json();
  };
  const nodes = async (sql: postgres.Sql): Promise<string[]> => {
    const rows = await sql<{ instance: string }[]>`select instance from node where lease_until > now()`;
    return rows.map(({ instance }) => instance.slice(-2)).toSorted();
  };
  const live = (): Promise<string[]> => database.read(nodes);

  it(
    'print one sign-in link on a terminal, from the supervisor, and it works',
    { ...needs('script'), timeout: 90_000 },
    async () => {
      const second = await mkdtemp(path.join(tmpdir(), 'parley-workers-'));
      const terminal = spawn(
        'script',
        ['-qfec', `"${process.execPath}" src/launch.js start --workers 2`, '/dev/null'],
        {
          env: {
            PATH: process.env['PATH'] ?? '',
            PORT: '0',
            GATEWAY_HOME: second,
            GATEWAY_TOKEN: OWNER,
            OLLAMA_HOST: ollama.url,
            ...database.environment(0),
          },
          stdio: ['pipe', 'pipe', 'inherit'],
        },
      );
      let shown = '';
      terminal.stdout.on('data', (bytes: Buffer) => (shown += bytes.toString()));
      const ended = once(terminal, 'close');
      const link = await vi.waitFor(() => {
        const found =
          /2 workers\)\s+Sign-in link \(works once, for ten minutes\): {2}(http:\S+)\/#code=([\w-]+)/.exec(
            shown,
          );
        if (found === null) throw new Error(shown);
        return { url: found[1] ?? '', code: found[2] ?? '' };
      }, LONG);
      const answer = await fetch(`${link.url}/v1/sign-in`, {
        method: 'POST',
        headers: { 'x-parley-page': '1', 'content-type': 'application/json' },
        body: JSON.stringify({ code: link.code }),
      });
      expect(await answer.json()).toEqual({ signedIn: true, pageKey: expect.any(String) });
      expect(shown.match(/Sign-in link/g)).toHaveLength(1);
      terminal.stdin.write('\u0003');
      await ended;
      await rm(second, { recursive: true, force: true });
    },
  );

  it('are separate nodes, and a killed one restarts without losing anything', async () => {
    await vi.waitFor(async () => expect(await live()).toEqual([':1', ':2']), LONG);
    ollama.answer({ text: 'Here after all.', hold: true }, { when: 'stay' });
    await call('/v1/sessions/http:workers/messages', { content: 'stay' });
    await vi.waitFor(() => expect(ollama.calls).toHaveLength(1), LONG);
    const owner = await database.read(
      async (sql) =>
        await sql<{ instance: string }[]>`
          select node.instance from lane join node on node.id = lane.owner where lane.key = 'in:http:workers'`,
    );
    const number = Number(owner[0]?.instance.at(-1));
    const pid = parley.events('worker_started').find(({ worker }) => worker === number)?.pid ?? 0;
    ollama.answer({ text: 'Here after all.' }, { when: 'stay' });
    process.kill(pid, 'SIGKILL');
    await vi.waitFor(async () => {
      const { messages } = (await call('/v1/sessions/http:workers/messages').catch(() => ({
        messages: [],
      }))) as {
        messages: { content: string }[];
      };
      expect(messages.map(({ content }) => content)).toEqual(['stay', 'Here after all.']);
    }, LONG);
    await vi.waitFor(() => expect(parley.events('worker_started')).toHaveLength(3), LONG);
    expect(parley.events('worker_died')).toMatchObject([{ worker: number, signal: 'SIGKILL' }]);
    await vi.waitFor(async () => expect(await live()).toEqual([':1', ':2']), LONG);
  }, 90_000);

  it('return the metrics of all of them, whichever is asked', async () => {
    for (let n = 0; n < 4; n += 1) {
      const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${OWNER}` } });
      const text = await answer.text();
      expect(text).toMatch(
        /^parley_build_info\{worker="1",version=[^\n]*\n^parley_build_info\{worker="2",version=/m,
      );
      expect(text.match(/^# TYPE parley_store_up gauge$/gm)).toHaveLength(1);
      expect(text).toMatch(/^parley_turn_seconds_count\{worker="[12]",outcome="completed"\} 1$/m);
    }
  });

  it('end together, releasing the work they hold, when the supervisor is asked to', async () => {
    parley.child.kill('SIGTERM');
    const [code] = await once(parley.child, 'exit');
    expect(code).toBe(0);
    const read = await database.keep(nodes);
    expect(await read()).toEqual([]);
  }, 60_000);
});
