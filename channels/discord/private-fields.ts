/** The private fields of discord.js that the channel depends on, each checked before use: another version fails by name. */
import { version } from 'discord.js';
import type { Client } from 'discord.js';

/** A private field is missing, or holds something else than it does in the version this file was written for. */
export class PrivateFieldError extends TypeError {
  override readonly name = 'PrivateFieldError';

  constructor(field: string, expected: string) {
    super(
      `discord.js ${version} has no ${expected} in its private field ${field}: run "npm ci" for the version in package-lock.json, or adapt channels/discord/private-fields.ts to this one.`,
    );
  }
}

/** One shard's connection to the gateway. */
export interface Shard {
  /** Makes it impossible for the shard to open another connection, now and after its own waits. */
  preventConnects(): void;
  /** Breaks the socket, in whatever state it is. Throws `PrivateFieldError` for a socket that cannot be broken. */
  terminate(): void;
}

/** The shards that a sharding strategy has spawned. Throws `PrivateFieldError`. */
export function shardsOf(strategy: object): Shard[] {
  const shards: unknown = Reflect.get(strategy, 'shards');
  if (!(shards instanceof Map)) throw new PrivateFieldError('SimpleShardingStrategy.shards', 'Map');
  return [...shards.values()].map(toShard);
}

function toShard(shard: unknown): Shard {
  if (!isObject(shard) || typeof Reflect.get(shard, 'internalConnect') !== 'function')
    throw new PrivateFieldError('WebSocketShard.internalConnect', 'function');
  if (!('connection' in shard)) throw new PrivateFieldError('WebSocketShard.connection', 'socket or null');
  return {
    preventConnects() {
      Object.defineProperty(shard, 'internalConnect', { value: () => Promise.resolve() });
    },
    terminate() {
      const connection: unknown = Reflect.get(shard, 'connection');
      if (connection === null) return;
      const terminate: unknown = isObject(connection) ? Reflect.get(connection, 'terminate') : undefined;
      if (!isObject(connection) || typeof terminate !== 'function')
        throw new PrivateFieldError('WebSocketShard.connection', 'socket with terminate()');
      // A socket broken while it connects emits an error event, which nothing else listens to any more.
      Reflect.set(connection, 'onerror', () => undefined);
      Reflect.apply(terminate, connection, []);
    },
  };
}

/**
 * Keeps the client from building its own objects from each event: nothing reads them, and a field that discord.js misses
 * would be an unhandled rejection. Throws `PrivateFieldError`.
 */
export function ignorePackets({ ws }: Pick<Client, 'ws'>): void {
  if (typeof Reflect.get(ws, 'handlePacket') !== 'function')
    throw new PrivateFieldError('WebSocketManager.handlePacket', 'function');
  Object.defineProperty(ws, 'handlePacket', { value: () => true });
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
