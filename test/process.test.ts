/** The gateway as a whole process: what keeps it from starting, what it reports, how it ends. */
import { rm, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import path from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { chat, parley, type RunningGateway, startGatewayProcess, startParley } from './child.ts';
import { makeEmbeddedHome, silentLog, WHOLE_HOME } from './database.ts';
import { startFakeOllama } from './fakes/ollama/ollama.ts';
import { openStore } from '../src/store/open-store.ts';

const TOKEN = 'a-token-of-thirty-two-or-more-0123456789';
/** Nothing listens on loopback's discard port. */
const NO_MODEL = 'http://127.0.0.1:9';

describe('the process', () => {
  // Asked before the other tests: a gateway waits half a minute for a model server that may just be restarting.
  let unanswered: ReturnType<typeof chatWithoutModel> | undefined;
  beforeAll(() => {
    const ends: (() => Promise<void>)[] = [];
    unanswered = chatWithoutModel((end) => ends.push(end));
    // If it fails, the test that waits for it reports the failure.
    unanswered.catch(() => undefined);
    return async () => {
      for (const end of ends.toReversed()) await end();
    };
  });

  let home = '';
  beforeEach(async () => {
    home = await makeEmbeddedHome();
  });
  afterEach(() => rm(home, WHOLE_HOME));

  it('reports all three failures of a configuration and exits with 1', async () => {
    await writeFile(path.join(home, 'config.json'), '{"acess": {}}', { mode: 0o600 });
    const end = await parley(['start'], { GATEWAY_HOME: home, PORT: 'eighty', TELEGRAM_BOT_TOKEN: 'secret' });
    expect(end.code).toBe(1);
    for (const name of ['PORT', 'TELEGRAM_BOT_TOKEN', 'config.json', 'acess'])
      expect(end.stderr).toContain(name);
    expect(end.stderr).not.toContain('secret"');
    expect(end.stderr).not.toMatch(/^\s+at /m);
  });

  it('names PORT when the port is busy, and leaves the home free', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    const end = await parley(['start'], { GATEWAY_HOME: home, PORT: String(port), OLLAMA_HOST: NO_MODEL });
    expect(end.code).toBe(1);
    expect(end.stderr).toMatch(new RegExp(`${port}.*in use.*PORT`));
    const store = await openStore({ home, log: silentLog, lockWaitMs: 0 });
    await store.close();
  });

  it('names GATEWAY_HOME when it cannot be written', async () => {
    const file = path.join(home, 'a-file');
    await writeFile(file, '');
    const end = await parley(['start'], { GATEWAY_HOME: path.join(file, 'home'), PORT: '0' });
    expect(end.code).toBe(1);
    expect(end.stderr).toContain('GATEWAY_HOME');
  });

  it('immediately refuses a second process on the home, naming the first', async () => {
    const first = await startGatewayProcess({ GATEWAY_HOME: home, OLLAMA_HOST: NO_MODEL });
    const second = startParley(['start'], { GATEWAY_HOME: home, PORT: '0', OLLAMA_HOST: NO_MODEL });
    expect(await second.ended).toBe(1);
    expect(second.stderr()).toContain(`process ${first.pid}`);
    expect(second.stderr()).toContain('GATEWAY_HOME');
  });

  it('refuses the database of a newer version and leaves it as it is', async () => {
    const store = await openStore({ home, log: silentLog });
    await store.close();
    await claimNewerVersion(home);
    const end = await parley(['start'], { GATEWAY_HOME: home, PORT: '0', OLLAMA_HOST: NO_MODEL });
    expect(end.code).toBe(1);
    expect(end.stderr).toContain('newer version');
  });

  it('writes the first token to a private file when no one is watching, and never to the log', async () => {
    const gateway = await startGatewayProcess({
      GATEWAY_HOME: home,
      OLLAMA_HOST: NO_MODEL,
      LOG_LEVEL: 'trace',
    });
    const file = path.join(home, 'token');
    const token = (await readFile(file, 'utf8')).trim();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await chat(gateway.url, token, { content: '/help' })).text).toContain('/stop');
    expect(gateway.stdout()).toContain(file);
    expect(gateway.stdout() + gateway.stderr()).not.toContain(token);
  });

  it('exits with 0 within 25 s of SIGTERM in the middle of an answer, and the next process finishes that answer', async () => {
    const model = await startFakeOllama({ fallback: { text: 'one two three four five six', perSecond: 4 } });
    onTestFinished(() => model.close());
    const settings = { GATEWAY_HOME: home, GATEWAY_TOKEN: TOKEN, OLLAMA_HOST: model.url };
    const first = await startGatewayProcess(settings);
    const asked = chat(first.url, TOKEN, { stream: true }).catch(String);
    await expect.poll(() => model.active, { timeout: 20_000 }).toBe(1);
    const began = performance.now();
    first.signal('SIGTERM');
    const second = startGatewayProcess(settings);
    expect(await first.ended).toBe(0);
    expect(performance.now() - began).toBeLessThan(25_000);
    await asked;
    const { url } = await second;
    await expect
      .poll(async () => JSON.stringify(await messages(url)), { timeout: 30_000 })
      .toContain('one two three four five six');
  }, 90_000);

  it('exits cleanly when its terminal is closed', async () => {
    const gateway = await startGatewayProcess({ GATEWAY_HOME: home, OLLAMA_HOST: NO_MODEL });
    gateway.signal('SIGHUP');
    expect(await gateway.ended).toBe(0);
  });

  it('exits immediately on a second SIGTERM', async () => {
    const model = await startFakeOllama({ fallback: { text: 'word '.repeat(400), perSecond: 10 } });
    onTestFinished(() => model.close());
    const gateway = await startGatewayProcess({
      GATEWAY_HOME: home,
      GATEWAY_TOKEN: TOKEN,
      OLLAMA_HOST: model.url,
    });
    const asked = chat(gateway.url, TOKEN, { stream: true }).catch(String);
    await expect.poll(() => model.active, { timeout: 20_000 }).toBe(1);
    gateway.signal('SIGTERM');
    await expect.poll(() => gateway.stdout()).toContain('stopping');
    const began = performance.now();
    gateway.signal('SIGTERM');
    expect(await gateway.ended).not.toBeNull();
    expect(performance.now() - began).toBeLessThan(2_000);
    await asked;
  });

  it('tells a chat what to do when there is no model server', async () => {
    const { gateway, text } = (await unanswered)!;
    expect(text).toContain('ollama serve');
    expect(text).toContain('OLLAMA_HOST');
    await expect.poll(() => gateway.stdout()).toContain('no_model_available');
  }, 90_000);

  it.runIf(process.platform === 'linux')(
    'needs less than 600 MB of memory to start and for a first chat',
    async () => {
      const { gateway } = (await unanswered)!;
      const status = await readFile(`/proc/${gateway.pid}/status`, 'utf8');
      expect(Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) / 1_024).toBeLessThan(600);
    },
    90_000,
  );
});

/** A chat with a gateway that finds no model server; returns the answer. */
async function chatWithoutModel(
  cleanup: (end: () => Promise<void>) => void,
): Promise<{ gateway: RunningGateway; text: string }> {
  const home = await makeEmbeddedHome();
  cleanup(() => rm(home, WHOLE_HOME));
  const settings = { GATEWAY_HOME: home, GATEWAY_TOKEN: TOKEN, OLLAMA_HOST: NO_MODEL };
  const gateway = await startGatewayProcess(settings, { cleanup });
  const { text } = await chat(gateway.url, TOKEN);
  return { gateway, text };
}

async function messages(url: string): Promise<unknown> {
  const response = await fetch(`${url}/v1/sessions/http:test/messages`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  return await response.json();
}

/** Writes what a later version's migration would leave behind. */
async function claimNewerVersion(home: string): Promise<void> {
  const { openEmbedded } = await import('../src/store/embedded/embedded.ts');
  const { default: postgres } = await import('postgres');
  const embedded = await openEmbedded(home, silentLog);
  const sql = postgres({
    path: embedded.socketPath,
    user: 'parley',
    database: 'postgres',
    max: 1,
    fetch_types: false,
  });
  await sql`insert into migration (hash, created_at) values ('later', 4102444800000)`;
  await sql.end();
  await embedded.close();
}
