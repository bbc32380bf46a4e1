/**
 * The private field of @discordjs/ws that the channel depends on, checked before use: another version fails with its
 * name.
 */
import { version } from '@discordjs/ws';

/** A private field is missing, or holds something other than it did in the version that this file was written for. */
export class PrivateFieldError extends TypeError {
  override readonly name = 'PrivateFieldError';

  constructor(field: string, expected: string) {
    super(
      `@discordjs/ws ${version} has no ${expected} in its private field ${field}: run "npm ci" for the version in package-lock.json, or adapt channels/discord/gateway/private-fields.ts to this one.`,
    );
  }
}

/** Throws `PrivateFieldError` unless the shard has the field that `breakSocket` reads. */
export function checkShard(shard: object): void {
  if (!('connection' in shard)) throw new PrivateFieldError('WebSocketShard.connection', 'socket or null');
}

/**
 * Breaks the shard's socket in whatever state it is: the shard itself does not close a socket that is still
 * connecting, and waits half a minute for the other side to answer a close. Throws `PrivateFieldError` for a socket
 * that cannot be broken.
 */
export function breakSocket(shard: object): void {
  const connection: unknown = Reflect.get(shard, 'connection');
  if (connection === null) return;
  const terminate: unknown = isObject(connection) ? Reflect.get(connection, 'terminate') : undefined;
  if (!isListenable(connection) || typeof terminate !== 'function')
    throw new PrivateFieldError('WebSocketShard.connection', 'socket with terminate()');
  // A socket broken while it connects emits an error event, which nothing else listens to any more.
  connection.addEventListener('error', () => undefined);
  Reflect.apply(terminate, connection, []);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isListenable(value: unknown): value is Pick<EventTarget, 'addEventListener'> {
  return isObject(value) && typeof Reflect.get(value, 'addEventListener') === 'function';
}
