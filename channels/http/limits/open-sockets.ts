/** The open connections: how many an address without a valid token may hold, and how many one token. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type HttpLimits, MAX_CONNECTIONS, MIN_IDLE_MS, RESERVED_CONNECTIONS } from '../config.ts';

/** Who holds a connection; `undefined` counts only toward the total. */
type Holder = { kind: 'address' | 'token'; id: string } | undefined;

interface Entry {
  socket: Socket;
  holder: Holder;
  busy: number;
  /** When it was opened, by a steady clock. */
  openedAt: number;
}

/** All connections. Past a limit the oldest idle connection of the same holder closes, never one of another. */
export class OpenSockets {
  readonly #entries = new Map<Socket, Entry>();
  /** By kind and id of the holder, oldest first. */
  readonly #held = new Map<string, Set<Entry>>();
  /** Connections without a valid token so far, oldest first. */
  readonly #unknown = new Set<Entry>();
  readonly #limits: HttpLimits;

  constructor(limits: HttpLimits) {
    this.#limits = limits;
  }

  /** Notes a new connection; `address` undefined = of a trusted proxy. */
  add(socket: Socket, address: string | undefined): void {
    const holder: Holder = address === undefined ? undefined : { kind: 'address', id: address };
    const entry: Entry = { socket, holder: undefined, busy: 0, openedAt: performance.now() };
    this.#entries.set(socket, entry);
    this.#give(entry, holder);
    socket.once('close', () => {
      this.#entries.delete(socket);
      this.#give(entry, undefined);
    });
    if (this.#entries.size > MAX_CONNECTIONS - RESERVED_CONNECTIONS) this.#makeRoom(entry);
  }

  /** Counts a request until its answer has ended. */
  serve(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const entry = this.#entries.get(incoming.socket);
    if (entry === undefined) return;
    entry.busy += 1;
    outgoing.once('close', () => (entry.busy -= 1));
  }

  /** Counts a connection as busy until it closes. */
  hold(socket: Socket): void {
    const entry = this.#entries.get(socket);
    if (entry !== undefined) entry.busy += 1;
  }

  /** The connection has carried a valid token: from now on it is that token's. */
  identify(socket: Socket, tokenId: string): void {
    const entry = this.#entries.get(socket);
    if (entry?.holder === undefined || (entry.holder.kind === 'token' && entry.holder.id === tokenId)) return;
    this.#give(entry, { kind: 'token', id: tokenId });
  }

  #give(entry: Entry, holder: Holder): void {
    const previousKey = entry.holder && `${entry.holder.kind} ${entry.holder.id}`;
    const previousEntries = previousKey === undefined ? undefined : this.#held.get(previousKey);
    previousEntries?.delete(entry);
    if (previousKey !== undefined && previousEntries?.size === 0) this.#held.delete(previousKey);
    this.#unknown.delete(entry);
    entry.holder = holder;
    if (holder === undefined) return;
    const key = `${holder.kind} ${holder.id}`;
    const entries = this.#held.get(key) ?? new Set();
    this.#held.set(key, entries.add(entry));
    if (holder.kind === 'address') this.#unknown.add(entry);
    const { socketsPerAddress, socketsPerToken } = this.#limits;
    const most = holder.kind === 'address' ? socketsPerAddress : socketsPerToken;
    if (entries.size > most) closeIdle(entries, entries.size - most);
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
