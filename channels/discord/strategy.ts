/** A shard strategy for discord.js that can really be stopped. */
import { SimpleShardingStrategy } from 'discord.js';
import type { Client } from 'discord.js';

type Build = NonNullable<NonNullable<Client['options']['ws']>['buildStrategy']>;
type Strategy = ReturnType<Build>;
type Throttler = Awaited<
  ReturnType<NonNullable<NonNullable<Client['options']['ws']>['buildIdentifyThrottler']>>
>;

/**
 * discord.js connects again half a second after it was destroyed when that happened before the gateway's hello or READY:
 * it takes the end of its own waiting for a failure. And a socket that is only just connecting is left to connect. Here a
 * stopped shard can make no new connection, and `hangUp` breaks what is left open.
 */
export class StoppableStrategy implements Strategy {
  readonly #inner: SimpleShardingStrategy;
  readonly #shards = new Set<object>();
  #stopped = false;

  constructor(manager: Parameters<Build>[0]) {
    this.#inner = new SimpleShardingStrategy(manager);
  }

  async spawn(...args: Parameters<Strategy['spawn']>): Promise<void> {
    await this.#inner.spawn(...args);
    const shards: unknown = Reflect.get(this.#inner, 'shards');
    if (!(shards instanceof Map))
      throw new TypeError('discord.js keeps its shards elsewhere: see channels/discord/strategy.ts');
    for (const shard of shards.values()) if (isObject(shard)) this.#shards.add(shard);
  }

  async connect(): Promise<void> {
    // A login that was still asking for the gateway's address when it was stopped ends here.
    if (this.#stopped) throw new Error('The connection was stopped before it began.');
    await this.#inner.connect();
  }

  async send(...args: Parameters<Strategy['send']>): Promise<void> {
    await this.#inner.send(...args);
  }

  async fetchStatus(): Promise<Awaited<ReturnType<Strategy['fetchStatus']>>> {
    return await this.#inner.fetchStatus();
  }

  async destroy(...args: Parameters<Strategy['destroy']>): Promise<void> {
    for (const shard of this.#shards) {
      Object.defineProperty(shard, 'internalConnect', { value: async () => await Promise.resolve() });
    }
    await this.#inner.destroy(...args);
  }

  /** Breaks every connection that is still there, and lets none be made. */
  hangUp(): void {
    this.#stopped = true;
    for (const shard of this.#shards) {
      const connection: unknown = Reflect.get(shard, 'connection');
      if (!isObject(connection)) continue;
      const terminate: unknown = Reflect.get(connection, 'terminate');
      // A socket broken while it connects says so in an error event, which nobody else hears any more.
      Reflect.set(connection, 'onerror', () => undefined);
      if (typeof terminate === 'function') Reflect.apply(terminate, connection, []);
    }
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Lets one identify through per `spacingMs` (Discord: 5 seconds), over all clients made after each other. */
export class IdentifyThrottle implements Throttler {
  readonly #spacingMs: number;
  #next = 0;

  constructor(spacingMs: number) {
    this.#spacingMs = spacingMs;
  }

  async waitForIdentify(_shardId: number, signal: AbortSignal): Promise<void> {
    const wait = this.#next - performance.now();
    this.#next = Math.max(performance.now(), this.#next) + this.#spacingMs;
    if (wait <= 0) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(resolve, wait);
      const abort = (): void => {
        clearTimeout(timer);
        reject(new Error('The gateway connection closed before it could identify.'));
      };
      if (signal.aborted) abort();
      else signal.addEventListener('abort', abort, { once: true });
    });
  }
}
