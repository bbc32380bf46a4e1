/** The open connections: how many an address without a valid token may hold, and how many one token. */
import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { type Caller, hasScope } from '../../../src/protocol/access.ts';
import { type HttpLimits, MAX_CONNECTIONS, MIN_IDLE_MS, RESERVED_CONNECTIONS } from '../config.ts';
import { HttpError } from '../errors.ts';

/** An address without a valid token, or a token. */
interface Holder {
  key: string;
  most: number;
  /** Oldest first. */
  entries: Set<Entry>;
  /** How many of them are busy. */
  busy: number;
}

interface Entry {
  socket: Socket;
  /** `undefined` counts only toward the total. */
  holder: Holder | undefined;
  /** It comes from a trusted proxy, so it carries requests of many callers. */
  isProxied: boolean;
  /** Requests of known callers that are being answered. */
  busy: number;
  /** When it was opened, by a steady clock. */
  openedAt: number;
}

/**
 * All connections. Past a limit the oldest one of the same holder closes, unless it is busy with a request whose caller
 * is known: what strangers send keeps nothing open.
 */
export class OpenSockets {
  readonly #entries = new Map<Socket, Entry>();
  readonly #holders = new Map<string, Holder>();
  /** Connections without a valid token so far, oldest first. */
  readonly #unknown = new Set<Entry>();
  readonly #limits: HttpLimits;
  #busy = 0;

  constructor(limits: HttpLimits) {
    this.#limits = limits;
  }

  /** Notes a new connection; `address` undefined = of a trusted proxy. */
  add(socket: Socket, address: string | undefined): void {
    const isProxied = address === undefined;
    const entry: Entry = { socket, holder: undefined, isProxied, busy: 0, openedAt: performance.now() };
    this.#entries.set(socket, entry);
    if (address !== undefined) {
      this.#unknown.add(entry);
      this.#give(entry, this.#holder(`address ${address}`, this.#limits.socketsPerAddress));
    }
    socket.once('close', () => {
      this.#entries.delete(socket);
      this.#give(entry, undefined);
    });
    if (this.#entries.size >= MAX_CONNECTIONS) this.#makeRoom(entry);
  }

  /**
   * A token came: the connection is its, and busy until `work` closes. Throws `HttpError` 429 or 503 when too many are
   * busy; admins have no such limit.
   */
  identify(socket: Socket, caller: Caller, work: EventEmitter): void {
    const entry = this.#entries.get(socket);
    if (entry === undefined) return;
    const { socketsPerToken } = this.#limits;
    const holder = this.#holder(`token ${caller.tokenId}`, socketsPerToken);
    if (entry.busy === 0 && !hasScope(caller, 'admin')) {
      if (holder.busy >= socketsPerToken) {
        const text = `This token has ${holder.busy} connections busy, the maximum at a time; try again when a request or stream has ended.`;
        throw new HttpError(429, 'too_many_requests', text, { retryAfterMs: 1_000 });
      }
      if (this.#busy >= MAX_CONNECTIONS - RESERVED_CONNECTIONS) {
        const text = 'All connections of tokens without admin are busy; try again soon.';
        throw new HttpError(503, 'too_many_connections', text, { retryAfterMs: 1_000 });
      }
    }
    this.#unknown.delete(entry);
    if (entry.holder !== holder) this.#give(entry, holder);
    this.serve(socket, work);
  }

  /** The caller is known, by a token or a signature: the connection is busy until `work` closes. */
  serve(socket: Socket, work: EventEmitter): void {
    const entry = this.#entries.get(socket);
    if (entry === undefined) return;
    this.#count(entry, 1);
    work.once('close', () => {
      this.#count(entry, -1);
      if (entry.isProxied && entry.busy === 0) this.#give(entry, undefined);
    });
  }

  /** True while the connection carries a request whose caller is known. */
  isServed(socket: Socket): boolean {
    return (this.#entries.get(socket)?.busy ?? 0) > 0;
  }

  #count(entry: Entry, change: 1 | -1): void {
    const was = Math.sign(entry.busy);
    entry.busy += change;
    const difference = Math.sign(entry.busy) - was;
    this.#busy += difference;
    if (entry.holder !== undefined) entry.holder.busy += difference;
  }

  #holder(key: string, most: number): Holder {
    return this.#holders.get(key) ?? { key, most, entries: new Set(), busy: 0 };
  }

  #give(entry: Entry, holder: Holder | undefined): void {
    const share = Math.sign(entry.busy);
    const previous = entry.holder;
    if (previous !== undefined) {
      previous.entries.delete(entry);
      previous.busy -= share;
      if (previous.entries.size === 0) this.#holders.delete(previous.key);
    }
    entry.holder = holder;
    if (holder === undefined) {
      this.#unknown.delete(entry);
      return;
    }
    holder.entries.add(entry);
    holder.busy += share;
    this.#holders.set(holder.key, holder);
    if (holder.entries.size > holder.most) closeIdle(holder.entries, holder.entries.size - holder.most);
  }

  /** Past the total limit, those without a valid token go first. */
  #makeRoom(newest: Entry): void {
    const idle = oldestIdle(this.#unknown, newest) ?? oldestIdle(this.#entries.values(), newest);
    idle?.socket.destroy();
  }
}

/** Closes this many idle ones, oldest first; new ones stay for a moment, as many clients may connect at once. */
function closeIdle(entries: Iterable<Entry>, count: number): void {
  const settled = performance.now() - MIN_IDLE_MS;
  let remaining = count;
  for (const entry of entries) {
    if (remaining === 0 || entry.openedAt > settled) return;
    if (entry.busy > 0 || entry.socket.destroyed) continue;
    entry.socket.destroy();
    remaining -= 1;
  }
}

function oldestIdle(entries: Iterable<Entry>, except: Entry): Entry | undefined {
  for (const entry of entries)
    if (entry.busy === 0 && entry !== except && !entry.socket.destroyed) return entry;
  return undefined;
}
