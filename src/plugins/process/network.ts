/**
 * Inside a plug-in's process: every connection goes through the gateway's proxy, a unix socket, which connects only to the
 * hosts of its rights. Where the process has no network of its own, nothing else is possible; elsewhere this is a guard
 * for ordinary code. Imports nothing of the gateway.
 */
import dgram from 'node:dgram';
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';

/** Names get an address of this range (RFC 2544), which no host has: the proxy resolves them. */
const STANDIN = '198.18.';
/** Names that have one; the oldest yields. */
const MAX_STANDINS = 4_096;

interface NetworkRights {
  /** The folder of the proxy's socket, in which it listens as well. */
  folder: string;
  /** Says whether a host may be connected to. */
  allows: (host: string, port: number) => boolean;
  /** Ports that it may listen on. */
  listens: readonly number[];
  /** Asks the gateway to pass connections to one of these ports on. */
  onListen: (port: number) => void;
}

type Callback = (...args: unknown[]) => void;

/**
 * Replaces what connects, resolves and listens; called once, before any code of the plug-in. Returns what ends a connection
 * that the gateway could not make.
 */
export function guardNetwork(rights: NetworkRights): (id: number, code: string) => void {
  const standins = createStandins();
  const failConnection = guardSockets(rights, standins);
  guardServers(rights);
  dgram.createSocket = () => {
    throw refusal('UDP');
  };
  replaceResolvers(standins);
  syncBuiltinESMExports();
  return failConnection;
}

/** The error of everything else. */
function refusal(what: string): Error {
  const text = `${what} is not among the rights of this plug-in (parley.plugin.json: rights)`;
  return Object.assign(new Error(text), { code: 'EACCES' });
}

/** Calls a function of Node.js as it was before it was replaced. */
function originalOf(owner: object, name: string): (self: unknown, args: unknown[]) => unknown {
  const original: unknown = Reflect.get(owner, name);
  if (typeof original !== 'function') throw new TypeError(`Node.js has no ${name}`);
  return (self, args) => Reflect.apply(original, self, args);
}

function guardSockets(
  { folder, allows }: NetworkRights,
  standins: ReturnType<typeof createStandins>,
): (id: number, code: string) => void {
  const { prototype: sockets } = net.Socket;
  const connect = originalOf(sockets, 'connect');
  const proxy = path.join(folder, 'egress.sock');
  const connecting = new Map<number, { socket: net.Socket; target: string }>();
  let lastId = 0;
  sockets.connect = function through(this: net.Socket, ...args: unknown[]): net.Socket {
    const [options, onConnect] = normalized(args);
    const host = standins.nameOf(options.host ?? 'localhost');
    const port = Number(options.port);
    if (options.path !== undefined || !allows(host, port)) {
      const target = options.path === undefined ? `network: ${host}:${port}` : 'a unix socket';
      process.nextTick(() => this.destroy(refusal(target)));
      return this;
    }
    lastId += 1;
    const id = lastId;
    connecting.set(id, { socket: this, target: `${host}:${port}` });
    this.once('close', () => connecting.delete(id));
    connect(this, [{ path: proxy }, onConnect]);
    // The first line is for the proxy: whatever is written from now on follows it.
    this.write(`${host} ${port} ${id}\n`);
    return this;
  };
  const secure = originalOf(tls, 'connect');
  tls.connect = function through(...args: unknown[]): tls.TLSSocket {
    const [options, onConnect] = normalized(args);
    const name = standins.nameOf(options.host ?? 'localhost');
    const servername = options.servername ?? (net.isIP(name) === 0 ? name : '');
    const socket = options.socket ?? net.connect({ host: name, port: Number(options.port) });
    return secure(tls, [{ ...options, socket, servername }, onConnect]) as tls.TLSSocket;
  };
  return (id, code) => {
    const { socket, target } = connecting.get(id) ?? {};
    socket?.destroy(Object.assign(new Error(`connect ${code} ${target}`), { code, syscall: 'connect' }));
  };
}

function guardServers({ folder, listens, onListen }: NetworkRights): void {
  const { prototype: servers } = net.Server;
  const listen = originalOf(servers, 'listen');
  servers.listen = function within(this: net.Server, ...args: unknown[]): net.Server {
    const [options, onListening] = normalized(args);
    const port = Number(options.port);
    if (!listens.includes(port)) {
      process.nextTick(() => this.emit('error', refusal(`listen: ${options.path ?? port}`)));
      return this;
    }
    this.once('listening', () => onListen(port));
    listen(this, [{ path: path.join(folder, `port-${port}.sock`) }, onListening]);
    return this;
  };
}

interface Connecting {
  host?: string | undefined;
  port?: number | string;
  path?: string;
  socket?: unknown;
  servername?: string;
}

/** `(options, done)`, `(port, host, options, done)` or `(path, done)`, which all of them accept. */
function normalized(args: readonly unknown[]): [Connecting, unknown] {
  // What Node's own functions pass each other is already an array.
  const list: readonly unknown[] = Array.isArray(args[0]) ? args[0] : args;
  const callback = list.findLast((one) => typeof one === 'function');
  const [first, second] = list;
  const more: Connecting = Object.assign({}, ...list.filter((one) => typeof one === 'object'));
  if (typeof first !== 'string' && typeof first !== 'number') return [more, callback];
  if (!/^\d+$/.test(String(first))) return [{ ...more, path: String(first) }, callback];
  return [{ ...more, port: first, ...(typeof second === 'string' && { host: second }) }, callback];
}

/** Stand-in addresses of names. */
function createStandins() {
  const names = new Map<string, string>();
  const addresses = new Map<string, string>();
  let count = 0;
  return {
    addressOf(name: string): string {
      const existing = addresses.get(name);
      if (existing !== undefined) return existing;
      const address = `${STANDIN}${count >> 8}.${count & 255}`;
      count = (count + 1) % MAX_STANDINS;
      addresses.delete(names.get(address) ?? '');
      names.set(address, name);
      addresses.set(name, address);
      return address;
    },
    nameOf: (host: string): string => names.get(host) ?? host,
  };
}

/** Some libraries resolve a name before they connect: it gets a stand-in, and everything else has no answer. */
function replaceResolvers(standins: ReturnType<typeof createStandins>): void {
  const resolved = (name: string): string => (net.isIP(name) === 0 ? standins.addressOf(name) : name);
  const lookup = (name: string, ...rest: unknown[]): void => {
    const answer = rest.at(-1) as Callback;
    const isAll = (rest[0] as { all?: boolean } | undefined)?.all === true;
    const address = resolved(name);
    const family = net.isIP(address);
    process.nextTick(() => (isAll ? answer(null, [{ address, family }]) : answer(null, address, family)));
  };
  const fail = (name: string, ...rest: unknown[]): void => {
    const answer = rest.at(-1) as Callback;
    process.nextTick(() => answer(Object.assign(new Error(`queryDns ENODATA ${name}`), { code: 'ENODATA' })));
  };
  const asPromise =
    (work: (name: string, ...rest: unknown[]) => void, pick: (value: unknown) => unknown) =>
    async (name: string, options?: unknown): Promise<unknown> =>
      await new Promise((resolve, reject) => {
        const answer: Callback = (error, value) => (error === null ? resolve(pick(value)) : reject(error));
        work(name, options, answer);
      });
  const resolve4 = (name: string, ...rest: unknown[]): void =>
    process.nextTick(() => (rest.at(-1) as Callback)(null, [resolved(name)]));
  const failing = Object.keys(dns).filter((key) => key.startsWith('resolve') || key === 'reverse');
  Object.assign(dns, Object.fromEntries(failing.map((key) => [key, fail])), { lookup, resolve4 });
  const promised = Object.fromEntries(failing.map((key) => [key, asPromise(fail, String)]));
  const lookupAsync = async (name: string, options?: { all?: boolean }): Promise<unknown> => {
    const address = resolved(name);
    const family = net.isIP(address);
    return options?.all === true ? [{ address, family }] : { address, family };
  };
  Object.assign(dns.promises, promised, {
    lookup: lookupAsync,
    resolve4: asPromise(resolve4, (value) => value),
  });
}
