/** The fan-out over a real NATS server, looked up at `NATS_URL` or on this machine. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { connect as connectNats } from '@nats-io/transport-node';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { withReserve } from '../../src/bus/fanouts.ts';
import { chooseFanout } from '../../src/bus/index.ts';
import { createNatsFanout, type NatsFanoutOptions, parseNatsUrl } from '../../src/bus/nats-fanout.ts';
import type { Fanout } from '../../src/protocol/bus.ts';
import { GatewayError } from '../../src/protocol/errors.ts';
import { newId } from '../../src/lib/ids.ts';
import { fanoutContract } from '../contracts/fanout.ts';
import { makeCertificates } from '../fakes/network/certificates.ts';
import { recordingLog, TestNetwork } from './events.ts';
import { needs, skipUnless } from '../runs/needs.ts';

const URL_OF_NATS = process.env['NATS_URL'] ?? 'nats://127.0.0.1:4222';

const answers = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 1_000 });
    const end = (answer: boolean) => () => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', end(true)).once('error', end(false)).once('timeout', end(false));
  });
const isThere = await answers(new URL(URL_OF_NATS).hostname, Number(new URL(URL_OF_NATS).port));

const LONG = { timeout: 15_000 };

/** The key that the nodes of the tests share. */
const KEY = randomBytes(32);

function natsFanout(
  options: Pick<NatsFanoutOptions, 'url' | 'subject'> & Partial<NatsFanoutOptions>,
): Fanout {
  return createNatsFanout({ key: KEY, log: recordingLog().log, epochNow: Date.now, ...options });
}

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

describe('the NATS fan-out', skipUnless(isThere, 'start nats-server, or set NATS_URL'), () => {
  it('carries batches to the other nodes of its subject and to no others', async () => {
    const subject = `parley.test.${newId()}`;
    const { log } = recordingLog();
    const heard: string[] = [];
    const fanouts = [subject, subject, `${subject}.other`].map((name) =>
      natsFanout({ url: URL_OF_NATS, subject: name, log }),
    );
    for (const [index, fanout] of fanouts.entries()) {
      open.push(await fanout.subscribe((batch) => heard.push(`${index}:${batch}`)));
    }
    await vi.waitFor(() => {
      fanouts[2]?.publish('stray');
      fanouts[0]?.publish('batch');
      expect(heard).toContain('1:batch');
    }, LONG);
    expect(new Set(heard)).toEqual(new Set(['1:batch']));
  });

  fanoutContract(() => {
    const subject = `parley.test.${newId()}`;
    const make = () => natsFanout({ url: URL_OF_NATS, subject });
    return Promise.resolve([make(), make()]);
  });

  it('drops, counts and reports what other clients of the server write, repeat or change', async () => {
    const subject = `parley.test.${newId()}`;
    const { log, lines } = recordingLog();
    const heard: string[] = [];
    const [near, far] = [
      natsFanout({ url: URL_OF_NATS, subject }),
      natsFanout({ url: URL_OF_NATS, subject, log }),
    ];
    open.push(await near.subscribe(() => undefined));
    open.push(await far.subscribe((batch) => heard.push(batch)));
    const client = await connectNats({ servers: new URL(URL_OF_NATS).host });
    open.push(() => client.close());
    const seen: Uint8Array[] = [];
    client.subscribe(subject, { callback: (_, message) => void seen.push(message.data) });
    await client.flush();
    near.publish('node-1 1 -\n{"hello":true}\n');
    await vi.waitFor(() => expect([heard.length, seen.length]).toEqual([1, 1]), LONG);
    expect(Buffer.from(seen[0]!).toString('latin1')).not.toContain('hello');
    client.publish(subject, 'node-2 1 -\n{"event":{"type":"turn_started"}}\n');
    client.publish(subject, seen[0]);
    const changed = Buffer.from(seen[0]!);
    changed[changed.length - 1]! ^= 1;
    client.publish(subject, changed);
    await vi.waitFor(() => expect(far.refused?.()).toBe(3), LONG);
    expect(heard).toHaveLength(1);
    expect(lines.join('')).toContain('nats_batches_refused');
  });

  it('is used only on a shared database, whose nodes find each other by its secret', async () => {
    const { log } = recordingLog();
    const nobody: Fanout = {
      publish: () => undefined,
      subscribe: () => Promise.resolve(() => Promise.resolve()),
      isUp: () => true,
    };
    const secretOf = () => ({ subject: randomBytes(16).toString('hex'), key: randomBytes(32) });
    const [ours, theirs] = [secretOf(), secretOf()];
    const heard: string[] = [];
    const fanouts: (Fanout | undefined)[] = [];
    for (const [index, secret] of [ours, ours, theirs].entries()) {
      const database = { fanout: nobody, fanoutSecret: () => Promise.resolve(secret) };
      const fanout = await chooseFanout(URL_OF_NATS, database, log);
      fanouts.push(fanout);
      open.push(await fanout!.subscribe((batch) => heard.push(`${index}:${batch}`)));
    }
    await vi.waitFor(() => {
      fanouts[0]?.publish('batch');
      expect(heard).toContain('1:batch');
    }, LONG);
    expect(new Set(heard)).toEqual(new Set(['1:batch']));
    const fanoutSecret = () => Promise.reject(new Error('unused'));
    expect(await chooseFanout(URL_OF_NATS, { fanoutSecret }, log)).toBeUndefined();
    expect(await chooseFanout(undefined, { fanout: nobody, fanoutSecret }, log)).toBe(nobody);
  });

  it('does not connect without TLS when the address starts with tls://', async () => {
    const { host } = new URL(URL_OF_NATS);
    const failure = await natsFanout({ url: `tls://${host}`, subject: 's' })
      .subscribe(() => undefined)
      .catch(String);
    expect(failure).toMatch(/NATS_URL cannot be used .*TLS/);
  });

  it(
    'connects over TLS to a server whose certificate is trusted, and to no other',
    needs('openssl', 'nats-server'),
    async () => {
      const server = await startTlsServer();
      open.push(() => server.close());
      const url = `tls://localhost:${server.port}`;
      const attempt = async (): Promise<string> => {
        const ended = await natsFanout({ url, subject: 's' })
          .subscribe(() => undefined)
          .catch((error: unknown) => String(error));
        if (typeof ended === 'string') return ended;
        await ended();
        return 'connected';
      };
      expect(await attempt()).toMatch(/NATS_URL cannot be used .*certificate/);
      const known = getCACertificates();
      setDefaultCACertificates([...known, await readFile(server.authority, 'utf8')]);
      open.push(async () => setDefaultCACertificates(known));
      expect(await attempt()).toBe('connected');
    },
  );

  it('has the database in reserve, which carries batches while the server is away, from its first second on', async () => {
    const proxy = await cuttingProxy(new URL(URL_OF_NATS));
    const subject = `parley.test.${newId()}`;
    const database = new TestNetwork();
    const heard: string[] = [];
    const [near, far] = [0, 1].map(() =>
      withReserve(natsFanout({ url: `nats://127.0.0.1:${proxy.port}`, subject }), database.fanout()),
    );
    open.push(await near!.subscribe(() => undefined));
    open.push(await far!.subscribe((batch) => heard.push(batch)));
    near!.publish('over NATS');
    await vi.waitFor(() => expect(heard).toEqual(['over NATS']), LONG);
    expect([near!.isUp(), database.batches]).toEqual([true, []]);
    await proxy.close();
    await vi.waitFor(() => expect(near!.isUp()).toBe(false), LONG);
    near!.publish('over the database');
    expect(heard).toEqual(['over NATS', 'over the database']);
  });

  it('reconnects on its own when the connection is cut, and says so', async () => {
    const subject = `parley.test.${newId()}`;
    const { log, lines } = recordingLog();
    const proxy = await cuttingProxy(new URL(URL_OF_NATS));
    open.push(() => proxy.close());
    const near = natsFanout({ url: `nats://127.0.0.1:${proxy.port}`, subject, log });
    const far = natsFanout({ url: URL_OF_NATS, subject, log });
    const heard: string[] = [];
    let resumes = 0;
    const [onBatch, onResumed] = [(batch: string) => void heard.push(batch), () => void (resumes += 1)];
    open.push(await withReserve(near, new TestNetwork().fanout()).subscribe(onBatch, onResumed));
    open.push(await far.subscribe(() => undefined));
    expect(resumes).toBe(0);
    proxy.cut();
    await vi.waitFor(() => expect(lines.join('')).toContain('"reconnect"'), LONG);
    expect(resumes).toBe(1);
    await vi.waitFor(() => {
      far.publish('after');
      expect(heard).toContain('after');
    }, LONG);
  });
});

describe('NATS_URL', () => {
  it('is parsed into addresses and login', () => {
    const plain = { login: {}, tls: false };
    expect(parseNatsUrl('nats://one:1,nats://two')).toEqual({ ...plain, servers: ['one:1', 'two:4222'] });
    expect(parseNatsUrl('nats://u:p%40@h')).toMatchObject({ login: { user: 'u', pass: 'p@' } });
    expect(parseNatsUrl('nats://secret@h')).toMatchObject({ login: { token: 'secret' } });
    expect(parseNatsUrl('nats://one,tls://two').tls).toBe(true);
    expect(() => parseNatsUrl('http://one')).toThrow(/NATS_URL/);
  });

  it('is named but not repeated in the error when it is not a URL', () => {
    expect(() => parseNatsUrl('s3cret')).toThrow(/NATS_URL/);
    expect(() => parseNatsUrl('s3cret')).not.toThrow(/s3cret/);
  });

  it('is named in the error when no server answers', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const fanout = natsFanout({ url: `nats://u:pw@127.0.0.1:${port}`, subject: 's' });
    const failure = await fanout.subscribe(() => undefined).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(GatewayError);
    expect(String(failure)).toContain('NATS_URL');
    expect(String(failure)).not.toContain('pw');
  });
});

/** A separate nats-server for the test, with a certificate for localhost. */
async function startTlsServer() {
  const certificates = await makeCertificates('DNS:localhost');
  const holder = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => holder.once('listening', resolve));
  const { port } = holder.address() as AddressInfo;
  await new Promise((resolve) => holder.close(resolve));
  const { certificate, key, authority } = certificates;
  const tls = ['--tls', '--tlscert', certificate, '--tlskey', key];
  const child = spawn('nats-server', ['-a', '127.0.0.1', '-p', String(port), ...tls], { stdio: 'ignore' });
  await vi.waitFor(async () => expect(await answers('127.0.0.1', port)).toBe(true), LONG);
  return {
    port,
    authority,
    async close() {
      const ended = once(child, 'close');
      child.kill();
      await ended;
      await certificates.remove();
    },
  };
}

/** A TCP proxy whose connections can be cut. */
async function cuttingProxy(target: URL) {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect({ host: target.hostname, port: Number(target.port) });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
    }
    near.pipe(far).pipe(near);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    close: () => {
      cut();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
