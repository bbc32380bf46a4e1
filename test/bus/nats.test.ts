/** The fan-out over a real NATS server, which is asked for at `NATS_URL` or on this machine. */
import { createServer } from 'node:net';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createNatsFanout, parseNatsUrl } from '../../src/bus/nats-fanout.ts';
import { GatewayError } from '../../src/contracts/errors.ts';
import { newId } from '../../src/lib/ids.ts';
import { fanoutContract } from '../contracts/fanout.ts';
import { recordingLog } from './events.ts';

const URL_OF_NATS = process.env['NATS_URL'] ?? 'nats://127.0.0.1:4222';

const isThere = await new Promise<boolean>((resolve) => {
  const { hostname, port } = new URL(URL_OF_NATS);
  const socket = connect({ host: hostname, port: Number(port), timeout: 1_000 });
  const end = (answer: boolean) => () => {
    socket.destroy();
    resolve(answer);
  };
  socket.once('connect', end(true)).once('error', end(false)).once('timeout', end(false));
});
if (!isThere) process.stderr.write('SKIPPED: the NATS tests, because no server answers at NATS_URL.\n');

const LONG = { timeout: 15_000 };

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

describe.skipIf(!isThere)('the NATS fan-out', () => {
  it('carries batches to the other nodes of its subject and to no others', async () => {
    const subject = `parley.test.${newId()}`;
    const { log } = recordingLog();
    const heard: string[] = [];
    const fanouts = [subject, subject, `${subject}.other`].map((name) =>
      createNatsFanout({ url: URL_OF_NATS, subject: name, log }),
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
    const make = () => createNatsFanout({ url: URL_OF_NATS, subject, log: recordingLog().log });
    return Promise.resolve([make(), make()]);
  });

  it('reconnects by itself when the connection was cut', async () => {
    const subject = `parley.test.${newId()}`;
    const { log, lines } = recordingLog();
    const proxy = await cuttingProxy(new URL(URL_OF_NATS));
    open.push(() => proxy.close());
    const near = createNatsFanout({ url: `nats://127.0.0.1:${proxy.port}`, subject, log });
    const far = createNatsFanout({ url: URL_OF_NATS, subject, log });
    const heard: string[] = [];
    open.push(await near.subscribe((batch) => heard.push(batch)));
    open.push(await far.subscribe(() => undefined));
    proxy.cut();
    await vi.waitFor(() => expect(lines.join('')).toContain('"reconnect"'), LONG);
    await vi.waitFor(() => {
      far.publish('after');
      expect(heard).toContain('after');
    }, LONG);
  });
});

describe('NATS_URL', () => {
  it('is parsed into addresses and login', () => {
    expect(parseNatsUrl('nats://one:1,nats://two')).toEqual({ servers: ['one:1', 'two:4222'], login: {} });
    expect(parseNatsUrl('nats://u:p%40@h')).toEqual({
      servers: ['h:4222'],
      login: { user: 'u', pass: 'p@' },
    });
    expect(parseNatsUrl('nats://secret@h')).toEqual({ servers: ['h:4222'], login: { token: 'secret' } });
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
    const fanout = createNatsFanout({
      url: `nats://u:pw@127.0.0.1:${port}`,
      subject: 's',
      log: recordingLog().log,
    });
    const failure = await fanout.subscribe(() => undefined).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(GatewayError);
    expect(String(failure)).toContain('NATS_URL');
    expect(String(failure)).not.toContain('pw');
  });
});

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
