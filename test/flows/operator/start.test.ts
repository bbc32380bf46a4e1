/** What a start reports while it takes time, and when it is refused. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, type TestContext } from 'vitest';
import { firstConfig } from '../../../src/commands/init/first-config.ts';
import { createStartNotes } from '../../../src/ops/start.ts';
import { loadConfig } from '../../../src/config.ts';
import { startGateway } from '../../../src/gateway.ts';
import { listDir } from '../../../src/tools/files/list-dir.ts';
import { type Child, startGatewayProcess, startParley } from '../../child.ts';
import { makeEmbeddedHome, silentLog } from '../../database.ts';

type Finished = TestContext['onTestFinished'];

async function freshHome(onTestFinished: Finished): Promise<string> {
  const home = await mkdtemp(path.join(tmpdir(), 'parley-start-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  return home;
}

/** Starts a command whose Postgres does not answer: for half a minute it waits, so these tests wait at the same time. */
async function startWithoutPostgres(command: string, onTestFinished: Finished): Promise<Child> {
  const settings = {
    GATEWAY_HOME: await freshHome(onTestFinished),
    PORT: '0',
    DATABASE_URL: 'postgres://parley:very-secret-word@127.0.0.1:9/parley',
  };
  return startParley([command], settings, { cleanup: onTestFinished });
}

it.concurrent('reports that the first start prepares the database, and writes the settings with their defaults, once', async ({
  expect,
  onTestFinished,
}) => {
  const cleanup = onTestFinished;
  const settings = { GATEWAY_HOME: await freshHome(cleanup), OLLAMA_HOST: 'http://127.0.0.1:9' };
  const first = await startGatewayProcess(settings, { cleanup });
  expect(first.stdout()).toContain('Preparing the database (first start)…');
  first.signal('SIGTERM');
  expect(await first.ended).toBe(0);
  const file = path.join(settings.GATEWAY_HOME, 'config.json');
  expect(await readFile(file, 'utf8')).toBe(firstConfig());
  await writeFile(file, '{}');
  const second = await startGatewayProcess(settings, { cleanup });
  expect(second.stdout()).not.toContain('first start');
  expect(await readFile(file, 'utf8')).toBe('{}');
}, 120_000);

it.concurrent('reports which Postgres it is waiting for, why, and how long, without the password', async ({
  expect,
  onTestFinished,
}) => {
  const child = await startWithoutPostgres('start', onTestFinished);
  await expect
    .poll(() => child.stdout() + child.stderr(), { timeout: 20_000 })
    .toMatch(/Waiting for Postgres at 127\.0\.0\.1:9 \(ECONNREFUSED\), 2\d s left/);
  expect(child.stdout()).not.toContain('very-secret-word');
}, 30_000);

it.concurrent('reports it for every other command as well, and names host and port at the end', async ({
  expect,
  onTestFinished,
}) => {
  const child = await startWithoutPostgres('status', onTestFinished);
  await expect
    .poll(() => child.stderr(), { timeout: 20_000 })
    .toMatch(/Waiting for Postgres at 127\.0\.0\.1:9 \(ECONNREFUSED\), 2\d s left/);
  expect(await child.ended).toBe(1);
  expect(child.stderr()).toContain('The database at 127.0.0.1:9 cannot be reached (ECONNREFUSED).');
  expect(child.stderr()).not.toContain('very-secret-word');
}, 90_000);

it.skipIf(process.platform !== 'linux')(
  'ends at once for a home that the system does not let anyone create',
  async () => {
    for (const args of [['start'], ['status'], ['config', 'set', 'persona', 'Ada']]) {
      const child = startParley(args, { GATEWAY_HOME: '/proc/nope', PORT: '0' });
      expect(await child.ended).toBe(1);
      expect(child.stderr()).toContain('GATEWAY_HOME /proc/nope is not writable (ENOENT)');
    }
  },
  60_000,
);

it('names a step once it has lasted a second, and each only once', async () => {
  const shown: string[] = [];
  const notes = createStartNotes((text) => shown.push(text), 5);
  notes.step('quick');
  notes.step('slow');
  await expect.poll(() => shown).toEqual(['slow']);
  notes.tell('slow');
  notes.tell('Waiting');
  notes.step('never');
  notes.end();
  expect(shown).toEqual(['slow', 'Waiting']);
});

it('is refused when two tools have the same name, with what to do', async ({ onTestFinished }) => {
  const home = await makeEmbeddedHome();
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const config = loadConfig({ GATEWAY_HOME: home, PORT: '0', OLLAMA_HOST: 'http://127.0.0.1:9' });
  await expect(startGateway(config, { log: silentLog, tools: [listDir] })).rejects.toThrow(
    /^Two tools are called "list_dir": .*\. Rename one of them\.$/,
  );
}, 60_000);
