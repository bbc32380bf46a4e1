/**
 * The process of one plug-in: it guards the network, loads the plug-in's module, and runs the calls of the gateway. It is
 * started with Node's permissions and imports nothing of the gateway but the files of this folder.
 */
import { writeFile } from 'node:fs/promises';
import net from 'node:net';
import { pathToFileURL } from 'node:url';
import type { PluginModule } from '../../protocol/plugin.ts';
import { type Frame, MAX_FRAME_BYTES, readLines, type WireError } from './frames.ts';
import { createMethods, type Methods, type Opening } from './methods.ts';
import { guardNetwork } from './network.ts';

/** Where the parent holds the other end. */
const CHANNEL_FD = 3;

const channel = new net.Socket({ fd: CHANNEL_FD, readable: true, writable: true });
const pendingCalls = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
const running = new Map<number, AbortController>();
let methods: Methods | undefined;
let failConnection: ((id: number, code: string) => void) | undefined;
let lastId = 0;

function send(frame: Frame): void {
  channel.write(`${JSON.stringify(frame)}\n`);
}

/** Calls the gateway. Rejects with an `Error` that has its code. */
async function ask(method: string, ...args: unknown[]): Promise<unknown> {
  lastId += 1;
  const id = lastId;
  return await new Promise((resolve, reject) => {
    pendingCalls.set(id, { resolve, reject });
    send({ type: 'call', id, method, args });
  });
}

function note(method: string, ...args: unknown[]): void {
  send({ type: 'note', method, args });
}

/** The first call: everything that the process must know, before any code of the plug-in runs. */
async function open(opening: Opening): Promise<string[]> {
  const { listens, folder, hosts } = opening;
  failConnection = guardNetwork({
    folder,
    allows: (host, port) => hosts.some((one) => matches(one, host.toLowerCase(), port)),
    listens,
    onListen: (port) => note('listen', port),
  });
  const module: PluginModule = await import(pathToFileURL(opening.main).href);
  methods = await createMethods(module, opening, { ask, note, writeFile });
  return Object.keys(methods);
}

function matches(rule: Opening['hosts'][number], host: string, port: number): boolean {
  const isHost = rule.host.startsWith('*.') ? host.endsWith(rule.host.slice(1)) : host === rule.host;
  return isHost && port === rule.port;
}

async function run(id: number, method: string, args: unknown[]): Promise<unknown> {
  if (method === 'open') return await open(args[0] as Opening);
  if (method === 'ping') return undefined;
  const work = methods?.[method];
  if (work === undefined)
    throw Object.assign(new Error(`The plug-in has no ${method}.`), { code: 'missing' });
  const stop = new AbortController();
  running.set(id, stop);
  try {
    // JSON has no `undefined`.
    return await work(
      args.map((one) => one ?? undefined),
      {
        signal: stop.signal,
        chunk: (value) => send({ type: 'chunk', id, value }),
        progress: (text) => note('progress', id, text),
      },
    );
  } finally {
    running.delete(id);
  }
}

function take(line: string): void {
  const frame: Frame = JSON.parse(line);
  if (frame.type === 'call')
    void run(frame.id, frame.method, frame.args).then(
      (value) => send({ type: 'answer', id: frame.id, value }),
      (error: unknown) => send({ type: 'error', id: frame.id, error: toWire(error) }),
    );
  else if (frame.type === 'note') failConnection?.(Number(frame.args[0]), String(frame.args[1]));
  else if (frame.type === 'cancel') running.get(frame.id)?.abort();
  else if (frame.type === 'answer') settle(frame.id)?.resolve(frame.value);
  else if (frame.type === 'error')
    settle(frame.id)?.reject(Object.assign(new Error(frame.error.message), frame.error));
}

function settle(id: number) {
  const one = pendingCalls.get(id);
  pendingCalls.delete(id);
  return one;
}

function toWire(error: unknown): WireError {
  const { code, message, retryAfterMs, movedTo, cause }: Record<string, unknown> = Object(error);
  const inner = cause instanceof Error ? `: ${cause.message}` : '';
  return {
    code: typeof code === 'string' ? code : '',
    message: `${typeof message === 'string' ? message : String(error)}${inner}`.slice(0, 2_000),
    ...(typeof retryAfterMs === 'number' && { retryAfterMs }),
    ...(typeof movedTo === 'string' && { movedTo }),
  };
}

readLines(channel, 16 * MAX_FRAME_BYTES, take, () => process.exit(1));
channel.on('end', () => process.exit(0));
channel.on('error', () => process.exit(0));
