/**
 * Connections of a program that has no network of its own: it writes `host port id` and a line break to a unix socket,
 * then whatever the connection carries. Only the hosts of its list are connected to, at the address that was checked.
 */
import { lookup } from 'node:dns/promises';
import net from 'node:net';
import { errorCode } from '../protocol/errors.ts';
import { isPublicAddress, isPublicName } from './egress-addresses.ts';

/** Connections of one program at a time. */
export const MAX_PROXIED = 128;
/** Longest first line, in bytes, and how long it and the connection may take, in milliseconds. */
const MAX_LINE_BYTES = 512;
const OPENING_MS = 15_000;
/** How long a connection stays that its program has been told of, in milliseconds: it ends it itself, with the reason. */
const TOLD_MS = 5_000;

/** A rule of the list. */
export interface ProxiedHost {
  /** Lower-case; `*.example.org` is every name below it. */
  host: string;
  port: number;
  /** Its address may be a private one. */
  isPrivate: boolean;
}

export interface EgressProxyOptions {
  /** Path of the socket. */
  socket: string;
  hosts: readonly ProxiedHost[];
  /** Told for each connection that is not allowed; never with what was sent. */
  onRefused: (target: string) => void;
  /** Tells the program why its connection failed, by a code such as `ECONNREFUSED`. */
  onFailed: (id: number, code: string) => void;
}

/** Listens until `close`, which ends all connections. Throws the errors of the file system. */
export async function openEgressProxy(options: EgressProxyOptions): Promise<{ close(): Promise<void> }> {
  const open = new Set<net.Socket>();
  const server = net.createServer({ pauseOnConnect: true, allowHalfOpen: true }, (client) => {
    track(open, client);
    let timer = setTimeout(() => client.destroy(), OPENING_MS);
    client.once('close', () => clearTimeout(timer));
    void connectFor(client, options, open).then(
      () => clearTimeout(timer),
      () => {
        clearTimeout(timer);
        if (!client.destroyed) timer = setTimeout(() => client.destroy(), TOLD_MS);
      },
    );
  });
  server.maxConnections = MAX_PROXIED;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.socket, resolve);
  });
  return {
    async close() {
      const closing = new Promise((resolve) => server.close(resolve));
      for (const socket of open) socket.destroy();
      await closing;
    },
  };
}

function track(open: Set<net.Socket>, socket: net.Socket): void {
  open.add(socket);
  socket.once('close', () => open.delete(socket));
  // The other side learns of it as its connection ends.
  socket.on('error', () => undefined);
}

async function connectFor(
  client: net.Socket,
  { hosts, onRefused, onFailed }: EgressProxyOptions,
  open: Set<net.Socket>,
): Promise<void> {
  const { line, rest } = await firstLine(client).catch((error: unknown) => {
    client.destroy();
    throw error;
  });
  const [, host = '', port = '', id = ''] =
    /^([\w.:*-]{1,253}) (\d{1,5}) (\d{1,15})$/.exec(line.toLowerCase()) ?? [];
  try {
    const rule = hosts.find((one) => isCovered(one, host, Number(port)));
    const address = rule && (await addressOf(host, rule.isPrivate));
    if (address === undefined) {
      onRefused(host === '' ? 'something that is no host' : `${host}:${port}`);
      throw Object.assign(new Error('refused'), { code: 'EACCES' });
    }
    if (!client.destroyed) await join(client, { address, port: Number(port), rest }, open);
  } catch (error) {
    if (id === '') client.destroy();
    else onFailed(Number(id), errorCode(error) || 'ECONNRESET');
    throw error;
  }
}

/** Connects, and passes everything on in both directions. Throws the system's error. */
async function join(
  client: net.Socket,
  { address, port, rest }: { address: string; port: number; rest: Buffer },
  open: Set<net.Socket>,
): Promise<void> {
  const target = net.connect({ host: address, port, allowHalfOpen: true });
  track(open, target);
  client.once('close', () => target.destroy());
  await new Promise<void>((resolve, reject) => {
    target.once('connect', resolve);
    target.once('error', reject);
  });
  target.once('close', () => client.destroy());
  if (rest.length > 0) target.write(rest);
  client.pipe(target);
  target.pipe(client);
}

/** Reads to the first line break; the client stays paused. */
async function firstLine(client: net.Socket): Promise<{ line: string; rest: Buffer }> {
  return await new Promise((resolve, reject) => {
    let text = Buffer.alloc(0);
    const read = (data: Buffer): void => {
      text = Buffer.concat([text, data]);
      const end = text.indexOf(10);
      if (end === -1 && text.length <= MAX_LINE_BYTES) return;
      client.off('data', read);
      client.pause();
      if (end === -1 || end > MAX_LINE_BYTES) reject(new Error('no first line'));
      else resolve({ line: text.subarray(0, end).toString('latin1'), rest: text.subarray(end + 1) });
    };
    client.on('data', read);
    client.once('close', () => reject(new Error('closed')));
    client.resume();
  });
}

function isCovered(rule: ProxiedHost, host: string, port: number): boolean {
  const isHost = rule.host.startsWith('*.') ? host.endsWith(rule.host.slice(1)) : host === rule.host;
  return isHost && rule.port === port;
}

/** The address to connect to; undefined where one of a name's is not public and must be. */
async function addressOf(host: string, isPrivate: boolean): Promise<string | undefined> {
  if (net.isIP(host) !== 0) return isPrivate || isPublicAddress(host) ? host : undefined;
  if (!isPrivate && !isPublicName(host)) return undefined;
  const addresses = await lookup(host, { all: true });
  const isAllowed = isPrivate || addresses.every(({ address }) => isPublicAddress(address));
  return isAllowed ? addresses[0]?.address : undefined;
}
