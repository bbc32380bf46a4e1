/** A shard strategy for discord.js that can really be stopped. */
import { SimpleShardingStrategy } from 'discord.js';
import type { Client } from 'discord.js';
import { shardsOf } from './private-fields.ts';
import type { Shard } from './private-fields.ts';

type Build = NonNullable<NonNullable<Client['options']['ws']>['buildStrategy']>;
type Strategy = ReturnType<Build>;
type Throttler = Awaited<
  ReturnType<NonNullable<NonNullable<Client['options']['ws']>['buildIdentifyThrottler']>>
>;

/**
 * discord.js connects again half a second after it was destroyed if that happened before the gateway's hello or READY: it
 * takes the end of its own wait for a failure. And it leaves a socket alone that is still connecting. Here a stopped shard
 * opens no new connection, and `terminate` breaks the sockets that are left.
 */
export class StoppableStrategy implements Strategy {
  readonly #inner: SimpleShardingStrategy;
  readonly #shards = new Set<Shard>();
  #stopped = false;

  constructor(manager: Parameters<Build>[0]) {
    this.#inner = new SimpleShardingStrategy(manager);
  }

  async spawn(...args: Parameters<Strategy['spawn']>): Promise<void> {
    await this.#inner.spawn(...args);
    for (const shard of shardsOf(this.#inner)) this.#shards.add(shard);
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
    for (const shard of this.#shards) shard.preventConnects();
    await this.#inner.destroy(...args);
  }

  /** Breaks every connection that is still open, and allows no new one. Throws `PrivateFieldError`. */
  terminate(): void {
    this.#stopped = true;
    for (const shard of this.#shards) shard.terminate();
  }
}

/** Allows one identify per `spacingMs` (Discord: 5 seconds), over all clients made one after another. */
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
