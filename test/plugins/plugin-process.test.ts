/** A plug-in's process: what it may do, and that whatever it does wrong ends in a word and harms only itself. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { LINES_AT_ONCE } from '../../src/plugins/plugin-log.ts';
import { MAX_ASKED, MAX_CALLS } from '../../src/plugins/plugin-process.ts';
import { MAX_FRAME_BYTES } from '../../src/plugins/process/frames.ts';
import { GatewayError } from '../../src/protocol/errors.ts';
import { makeCertificates } from '../fakes/network/certificates.ts';
import { openToy, TOY_SECRET, toolFacts, toolsSource, type Toy } from './harness.ts';

const WAIT = { timeout: 20_000, interval: 20 };

async function withTool(body: string, manifest: Record<string, unknown> = {}, parts = {}): Promise<Toy> {
  return await openToy({ tools: toolFacts('run'), ...manifest }, toolsSource(`run: ${body}`), parts);
}

const run = (toy: Toy, args: object = {}): Promise<unknown> => toy.process.call('tool', ['run', args, {}]);

/** A server on loopback that answers `hi`. */
async function startServer(): Promise<string> {
  const server = createServer((_request, response) => response.end('hi')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

/** A port of loopback on which nothing listens. */
async function freePort(): Promise<number> {
  const probe = net.createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}

const FETCH = `async ({ url }) => {
  try { return await (await fetch(url)).text(); } catch (error) { return error.cause?.message ?? error.message; }
}`;

describe('a plug-in', () => {
  it('gets its settings, its arguments, and of the environment only what its rights name', async () => {
    const toy = await withTool(
      'async (args) => JSON.stringify({ args, settings: host.settings, tz: process.env.TZ, other: process.env.HIDDEN ?? null })',
      { rights: { environment: ['TZ'] } },
    );
    const answer: unknown = JSON.parse(String(await run(toy, { a: [1, 'ü'] })));
    expect(answer).toEqual({ args: { a: [1, 'ü'] }, settings: { TOY_SECRET }, tz: 'UTC', other: null });
  });

  it('connects to the host in its setting by fetch, http and plain sockets, and to no other', async () => {
    const [own, other] = [await startServer(), await startServer()];
    const toy = await withTool(
      FETCH,
      { settings: [{ name: 'TOY_URL', description: 'url' }], rights: { network: ['{TOY_URL}'] } },
      { settings: { TOY_URL: own } },
    );
    expect(await run(toy, { url: own })).toBe('hi');
    expect(await run(toy, { url: other })).toMatch(
      /network: 127\.0\.0\.1:\d+ is not among the rights of this plug-in/,
    );
    expect(await run(toy, { url: 'https://example.org/' })).toMatch(/network: example\.org:443 is not among/);
  });

  it('speaks TLS with the host itself, whose certificate it checks by its name', async () => {
    const { authority, certificate, key, remove } = await makeCertificates('DNS:localhost');
    const server = createTlsServer(
      { cert: readFileSync(certificate), key: readFileSync(key) },
      (_request, response) => response.end('secret hi'),
    ).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(async () => {
      server.close();
      await remove();
    });
    const address = server.address();
    const url = `https://localhost:${typeof address === 'object' ? address?.port : ''}/`;
    const body = `async ({ url, ca }) => {
      const https = await import('node:https');
      return await new Promise((resolve) => {
        const request = https.get(url, { ca }, (answer) => answer.on('data', (data) => resolve(String(data))));
        request.on('error', (error) => resolve(error.code));
      });
    }`;
    const toy = await withTool(
      body,
      { settings: [{ name: 'TOY_URL', description: 'url' }], rights: { network: ['{TOY_URL}'] } },
      { settings: { TOY_URL: url } },
    );
    expect(await run(toy, { url, ca: readFileSync(authority, 'utf8') })).toBe('secret hi');
    expect(await run(toy, { url })).toMatch(/SELF_SIGNED|UNABLE_TO/);
  });

  it('learns why a host cannot be reached', async () => {
    const port = await freePort();
    const settings = [{ name: 'TOY_URL', description: 'url' }];
    const rights = { network: ['{TOY_URL}'] };
    const toy = await withTool(
      FETCH,
      { settings, rights },
      { settings: { TOY_URL: `http://127.0.0.1:${port}` } },
    );
    expect(await run(toy, { url: `http://127.0.0.1:${port}/` })).toBe(
      `connect ECONNREFUSED 127.0.0.1:${port}`,
    );
  });

  it.each(['unshare', 'open'] as const)(
    'is kept from other hosts and files also with %s',
    async (confinement) => {
      const [own, other] = [await startServer(), await startServer()];
      const rights = { network: ['{TOY_URL}'] };
      const settings = [{ name: 'TOY_URL', description: 'url' }];
      const body = `async ({ url, file }) => {
      const fs = await import('node:fs');
      if (file) try { return fs.readFileSync(file, 'utf8'); } catch (error) { return error.code; }
      return await (${FETCH})({ url });
    }`;
      const toy = await withTool(body, { settings, rights }, { settings: { TOY_URL: own }, confinement });
      expect(await run(toy, { url: own })).toBe('hi');
      expect(await run(toy, { url: other })).toContain('is not among the rights');
      expect(await run(toy, { file: '/etc/passwd' })).toBe('ERR_ACCESS_DENIED');
    },
  );

  it('opens no UDP socket, no unix socket and no port that its rights do not name', async () => {
    const toy = await withTool(`async () => {
      const [net, dgram] = [await import('node:net'), await import('node:dgram')];
      const failed = (emitter) => new Promise((resolve) => emitter.once('error', (error) => resolve(error.code)));
      const udp = (() => { try { return dgram.createSocket('udp4'); } catch (error) { return error.code; } })();
      return [udp, await failed(net.connect('/tmp/x.sock')), await failed(net.createServer().listen(0))].join();
    }`);
    expect(await run(toy)).toBe('EACCES,EACCES,EACCES');
  });

  it('reads no file outside of its folder, also not over a link, and starts no program', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'parley-home-'));
    onTestFinished(() => rm(home, { recursive: true }));
    await writeFile(path.join(home, '.env'), `TELEGRAM_BOT_TOKEN=${TOY_SECRET}`);
    const toy = await withTool(`async ({ file }) => {
      const fs = await import('node:fs');
      const cp = await import('node:child_process');
      const code = (work) => { try { return String(work()); } catch (error) { return error.code; } };
      return [
        code(() => fs.readFileSync(file)),
        code(() => fs.symlinkSync(file, host.dataFolder + '/link')),
        code(() => fs.writeFileSync(host.dataFolder + '/x', 'x')),
        code(() => cp.execSync('id')),
      ].join();
    }`);
    const answer = String(await run(toy, { file: path.join(home, '.env') }));
    expect(answer).toMatch(/^(ERR_ACCESS_DENIED,?){4}$/);
  });

  it('writes where its rights say, and nowhere else', async () => {
    const toy = await withTool(
      `async () => {
        const fs = await import('node:fs');
        fs.writeFileSync(host.dataFolder + '/state/a.txt', 'kept');
        try { fs.writeFileSync(host.dataFolder + '/b.txt', ''); } catch (error) { return fs.readFileSync(host.dataFolder + '/state/a.txt') + error.code; }
      }`,
      { rights: { files: { write: ['state'] } } },
    );
    expect(await run(toy)).toMatch(/^kept(ERR_ACCESS_DENIED|EROFS)$/);
  });

  it('passes its failures on with their codes, without a secret', async () => {
    const toy = await withTool(
      `async () => { throw Object.assign(new Error('refused ' + host.settings.TOY_SECRET), { code: 'rate_limited', retryAfterMs: 70 }); }`,
    );
    await expect(run(toy)).rejects.toMatchObject({
      code: 'rate_limited',
      retryAfterMs: 70,
      message: 'refused [secret]',
    });
  });

  it('shows no secret in its log, which loses lines rather than growing without end', async () => {
    const toy = await withTool(
      `async () => {
      for (let line = 0; line < 5000; line += 1) host.log('warn', 'token', { token: host.settings.TOY_SECRET, line });
      console.error('printed ' + host.settings.TOY_SECRET);
      return 'done';
    }`,
      {},
      { timing: { monotonicNow: () => 0 } },
    );
    expect(await run(toy)).toBe('done');
    await vi.waitFor(
      () => expect(toy.log.filter((line) => line.includes('plugin_log')).length).toBe(LINES_AT_ONCE),
      WAIT,
    );
    expect(toy.log.join('')).not.toContain(TOY_SECRET);
    expect(toy.log.join('')).toContain('[secret]');
  });

  it('whose calls the gateway cannot keep up with is not read any further', async () => {
    let open = 0;
    let most = 0;
    const release = Promise.withResolvers<undefined>();
    const serve = async (): Promise<unknown> => {
      most = Math.max(most, (open += 1));
      await release.promise;
      open -= 1;
      return undefined;
    };
    const toy = await withTool(
      `async () => { await Promise.all(Array.from({ length: 500 }, (_, at) => host.store.set('k' + at, 'x'.repeat(5_000)))); return 'all'; }`,
      {},
      { serve },
    );
    const answer = run(toy);
    await vi.waitFor(() => expect(open).toBeGreaterThanOrEqual(MAX_ASKED), WAIT);
    release.resolve(undefined);
    expect(await answer).toBe('all');
    // What was read in one go before the pause may be a little more.
    expect(most).toBeLessThan(MAX_ASKED + 32);
  });
});

describe('a plug-in that', () => {
  it.each([
    ['ends at once', 'async () => process.abort()', 'plugin_ended', /ended (with status 134|by SIGABRT)/],
    ['leaves', 'async () => process.exit(3)', 'plugin_ended', /ended with status 3/],
    [
      'fills its heap',
      'async () => { const all = []; for (;;) all.push({ text: String(Math.random()).repeat(10) }); }',
      'plugin_ended',
      /out of memory|ended/i,
    ],
    [
      'says more than a frame holds',
      `async () => 'x'.repeat(${MAX_FRAME_BYTES})`,
      'plugin_ended',
      /line of more than 4 MiB/,
    ],
    [
      'says nothing that is a frame',
      `async () => { const { default: fs } = await import('node:fs'); fs.writeSync(3, 'hello\\n'); return new Promise(() => {}); }`,
      'plugin_ended',
      /no frame of the contract/,
    ],
  ])(
    '%s fails its call with the reason, and starts again',
    async (_, body, code, reason) => {
      const toy = await openToy(
        { tools: toolFacts('run', 'echo'), rights: { memory: 64 } },
        toolsSource(`run: ${body}, echo: async () => 'here'`),
      );
      await expect(run(toy)).rejects.toMatchObject({
        code,
        retryable: true,
        message: expect.stringMatching(reason),
      });
      expect(toy.process.state().state).toBe('waiting');
      const echo = (): Promise<unknown> => toy.process.call('tool', ['echo', {}, {}]);
      await vi.waitFor(async () => expect(await echo()).toBe('here'), WAIT);
    },
    60_000,
  );

  it('allocates buffers without end is stopped by its limit', async () => {
    const toy = await withTool(
      'async () => { const all = []; for (;;) all.push(Buffer.alloc(10 << 20, 1)); }',
      { rights: { memory: 64 } },
    );
    await expect(run(toy)).rejects.toThrow(/allocat|memory|ended/i);
  });

  it('hangs in a loop is ended once it shows no sign of life', async () => {
    const toy = await withTool('async () => { for (;;); }', {}, { timing: { callMs: 500, pingMs: 300 } });
    await expect(run(toy)).rejects.toMatchObject({ code: 'plugin_slow', retryable: true });
    await vi.waitFor(
      () => expect(toy.process.state()).toEqual({ state: 'waiting', detail: 'it did not answer any more' }),
      WAIT,
    );
  });

  it('only waits too long keeps running', async () => {
    const toy = await withTool(
      'async () => new Promise(() => {})',
      {},
      { timing: { callMs: 500, pingMs: 5_000 } },
    );
    await expect(run(toy)).rejects.toMatchObject({ code: 'plugin_slow' });
    expect(await toy.process.call('ping', [])).toBeUndefined();
    expect(toy.process.state().state).toBe('up');
  });

  it('throws as it is loaded says so, and is tried again with growing pauses', async () => {
    const toy = await openToy({ tools: toolFacts('run') }, `throw new Error('no licence ${TOY_SECRET}');`, {
      timing: { restartMs: 60_000, mostRestartMs: 60_000 },
    });
    await expect(run(toy)).rejects.toThrow('is not running: it could not be loaded: no licence [secret]');
    await expect(run(toy)).rejects.toMatchObject({ code: 'plugin_down', retryAfterMs: expect.any(Number) });
  });

  it('promises a function that it does not export is not started', async () => {
    const toy = await openToy({ tools: toolFacts('run') }, 'export const other = 1;');
    await expect(run(toy)).rejects.toThrow('promises tools, but main exports no function tools');
  });

  it('is not what was installed is not started at all', async () => {
    const verify = (): Promise<void> =>
      Promise.reject(new GatewayError('plugin_changed', 'The files differ.'));
    const toy = await withTool(`async () => 'never'`, {}, { verify });
    await expect(run(toy)).rejects.toThrow('The files differ.');
    expect(toy.process.state()).toEqual({ state: 'refused', detail: 'The files differ.' });
  });
});

it(`takes at most ${MAX_CALLS} calls at a time`, async () => {
  const toy = await withTool('async () => new Promise(() => {})');
  await toy.process.start();
  const calls = Array.from({ length: MAX_CALLS + 1 }, () =>
    run(toy).catch((error: GatewayError) => error.code),
  );
  expect(await calls.at(-1)).toBe('plugin_busy');
  await toy.process.close();
  expect(new Set(await Promise.all(calls.slice(0, -1)))).toEqual(new Set(['plugin_ended']));
});

it('ends its process and everything of its start when it is closed', async () => {
  const toy = await withTool(`async () => process.pid`);
  await run(toy);
  expect(await toy.process.close()).toBe('ended');
  await expect(run(toy)).rejects.toMatchObject({ code: 'plugin_down' });
});

it('passes connections to a port of its rights on', async () => {
  const port = await freePort();
  const toy = await withTool(
    `async () => { const http = await import('node:http'); await new Promise((done) => http.createServer((_, res) => res.end('inside')).listen(${port}, done)); return 'listening'; }`,
    { rights: { listen: [port] } },
  );
  expect(await run(toy)).toBe('listening');
  await vi.waitFor(
    async () => expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('inside'),
    WAIT,
  );
});
