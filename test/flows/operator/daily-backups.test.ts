/** The daily backup of a running gateway, the way back from a database that is broken, and one backup for several gateways. */
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { doctorCommand } from '../../../src/commands/doctor.ts';
import { loadConfig } from '../../../src/config.ts';
import { openDailyBackups } from '../../../src/daily-backups.ts';
import { startGateway } from '../../../src/gateway.ts';
import { openSettings } from '../../../src/live-config.ts';
import { FIRST_AFTER_MS } from '../../../src/ops/daily-backups.ts';
import { type HomeStore, openStore } from '../../../src/store/open-store.ts';
import { parley } from '../../child.ts';
import { createDatabase, makeEmbeddedHome, silentLog } from '../../database.ts';
import { codeBlocks, ROOT } from '../../docs/pages.ts';
import { runShell } from '../../docs/shell.ts';
import { FakeClock } from '../../fakes/clock.ts';
import { type FakeOllama, startFakeOllama } from '../../fakes/ollama/ollama.ts';
import { OWNER, WAIT } from '../setup.ts';

type Environment = Record<string, string>;
/** The day on which the clock of these tests begins. */
const DAY = '2023-11-14';

let model: FakeOllama;
beforeAll(async () => {
  model = await startFakeOllama();
  return () => model.close();
});

/** An environment with its own home, within a folder as a reader has it. */
async function environment(more: Environment = {}): Promise<{ env: Environment; folder: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-daily-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const home = path.join(folder, '.parley');
  await mkdir(home, { mode: 0o700 });
  const env = { GATEWAY_HOME: home, GATEWAY_TOKEN: OWNER, PORT: '0', OLLAMA_HOST: model.url, ...more };
  return { env, folder };
}

/** Lets the first minutes of a gateway with this store pass; returns once it has looked. */
async function firstMinutes(env: Environment, store: HomeStore): Promise<void> {
  const clock = new FakeClock();
  const config = loadConfig(env);
  const backups = openDailyBackups(openSettings(config, silentLog), store, silentLog, clock);
  backups.start();
  await vi.waitFor(() => expect(clock.waiting).toBe(1), WAIT);
  await clock.advance(FIRST_AFTER_MS);
  await vi.waitFor(() => expect(clock.waiting).toBe(1), WAIT);
  await backups.close();
}

async function doctorLine(env: Environment): Promise<string> {
  const { text } = await doctorCommand([], { PATH: process.env['PATH'] ?? '', ...env }, { colours: false });
  return text.split('\n').find((line) => line.includes(' Backup ')) ?? '';
}

const call = (url: string, route: string, init?: RequestInit): Promise<Response> =>
  fetch(`${url}/v1/sessions/http:desk/${route}`, { ...init, headers: { authorization: `Bearer ${OWNER}` } });

async function say(url: string, content: string): Promise<void> {
  const body = JSON.stringify({ content });
  const headers = { authorization: `Bearer ${OWNER}`, 'content-type': 'application/json' };
  const response = await fetch(`${url}/v1/sessions/http:desk/messages`, { method: 'POST', headers, body });
  expect(response.status).toBe(202);
  await vi.waitFor(async () => {
    expect(await (await call(url, 'messages')).text()).toContain(`echo: ${content}`);
  }, WAIT);
}

describe('a daily backup', () => {
  it('brings a gateway back whose database is broken, by the commands that the page shows', async () => {
    const { env, folder } = await environment();
    const home = env['GATEWAY_HOME'] ?? '';
    const clock = new FakeClock();
    const gateway = await startGateway(loadConfig(env), { log: silentLog, clock });
    try {
      await say(gateway.url, 'Remember the grüße 🙂');
      await call(gateway.url, 'files?name=plan.txt', { method: 'POST', body: 'The plan.' });
      await clock.advance(FIRST_AFTER_MS);
      const fine = new RegExp(
        `^ok .* The last daily backup is from .* \\(0 hours old\\): .*/parley-${DAY}\\.backup\\.$`,
      );
      await vi.waitFor(async () => expect(await doctorLine(env)).toMatch(fine), WAIT);
      const metrics = await fetch(`${gateway.url}/metrics`, {
        headers: { authorization: `Bearer ${OWNER}` },
      });
      expect(await metrics.text()).toMatch(/^parley_backup_age_seconds \d/m);
      await vi.waitFor(async () => {
        const { stdout } = await parley(['status'], env);
        expect(stdout).toMatch(/^ {2}backup +daily, the last at \d{4}-\d\d-\d\dT/m);
      }, WAIT);
    } finally {
      await gateway.stop();
    }
    // As after a failure of the disk.
    for (const entry of await readdir(path.join(home, 'pg'), { withFileTypes: true, recursive: true })) {
      if (entry.isFile()) await writeFile(path.join(entry.parentPath, entry.name), 'broken');
    }
    const shown = codeBlocks('docs/operating.md').find(({ text }) => text.includes('pg.broken'))?.text ?? '';
    const commands = shown.replace('2026-11-29', DAY);
    const npx = 'set -e\nnpx() { shift; node "$CLONE/src/launch.js" "$@"; }';
    const typed = { CLONE: ROOT, HOME: folder };
    const { code, output } = await runShell(`${npx}\n${commands}`, { cwd: folder, env: typed });
    expect({ code, output }).toEqual({
      code: 0,
      output: expect.stringMatching(/Restored: \d+ rows, \d+ files/),
    });

    const again = await startGateway(loadConfig(env), { log: silentLog });
    try {
      const text = await (await call(again.url, 'messages')).text();
      expect(text).toContain('echo: Remember the grüße 🙂');
      await say(again.url, 'And now?');
    } finally {
      await again.stop();
    }
  }, 120_000);

  it('that cannot be written is reported by the doctor with the reason, and the gateway stays ready', async () => {
    const home = await makeEmbeddedHome();
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    const { env } = await environment({ GATEWAY_HOME: home });
    await mkdir(path.join(home, 'backups'), { mode: 0o700 });
    await chmod(path.join(home, 'backups'), 0o777);
    await chmod(home, 0o700);
    const clock = new FakeClock();
    const gateway = await startGateway(loadConfig(env), { log: silentLog, clock });
    try {
      await vi.waitFor(() => expect(clock.waiting).toBe(1), WAIT);
      await clock.advance(FIRST_AFTER_MS);
      await vi.waitFor(async () => {
        expect(await doctorLine(env)).toMatch(
          /^warning .*There is no daily backup yet\. The next one failed: All users .* can replace files/,
        );
      }, WAIT);
      expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
    } finally {
      await gateway.stop();
    }
  });
});

describe('daily backups on Postgres', () => {
  it('are off unless the settings ask for them, and then one of several gateways writes them', async () => {
    const url = await createDatabase();
    const nodes = await Promise.all([1, 2, 3].map(() => environment({ DATABASE_URL: url })));
    const stores: HomeStore[] = [];
    for (const { env } of nodes) {
      const { GATEWAY_HOME: home = '', DATABASE_URL: databaseUrl } = env;
      const store = await openStore({ home, databaseUrl, log: silentLog });
      onTestFinished(() => store.close());
      stores.push(store);
    }
    const round = async (): Promise<string[]> => {
      await Promise.all(nodes.map(({ env }, at) => firstMinutes(env, stores[at]!)));
      const written = nodes.map(async ({ env }) => {
        const names = await readdir(env['GATEWAY_HOME'] ?? '', { recursive: true });
        return names.filter((name) => name.endsWith('.backup'));
      });
      return (await Promise.all(written)).flat();
    };
    expect(await round()).toEqual([]);
    expect(await doctorLine(nodes[0]!.env)).toMatch(
      /^ok .*Daily backups are off, as usual with DATABASE_URL/,
    );
    for (const { env } of nodes)
      await writeFile(path.join(env['GATEWAY_HOME'] ?? '', 'config.json'), '{"backup":{"daily":true}}', {
        mode: 0o600,
      });
    expect(await round()).toEqual([`backups/parley-${DAY}.backup`]);
    // Whoever asks later on the same day writes no second one.
    expect(await round()).toEqual([`backups/parley-${DAY}.backup`]);
  });
});
