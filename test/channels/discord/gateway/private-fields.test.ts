/** The private field of @discordjs/ws that the channel uses: present in the installed version, and named when it changes. */
import { DefaultWebSocketManagerOptions, version, WebSocketShard } from '@discordjs/ws';
import { describe, expect, it } from 'vitest';
import {
  breakSocket,
  checkShard,
  PrivateFieldError,
} from '../../../../channels/discord/gateway/private-fields.ts';
import { fatalError } from '../../../../channels/discord/errors.ts';

/** A shard of @discordjs/ws that has not connected. */
function newShard(): WebSocketShard {
  const session_start_limit = { total: 1, remaining: 1, reset_after: 1, max_concurrency: 1 };
  const gatewayInformation = { url: 'ws://127.0.0.1', shards: 1, session_start_limit };
  const options = { ...DefaultWebSocketManagerOptions, token: '', intents: 0 as const, shardCount: 1 };
  const context = {
    options: { ...options, gatewayInformation },
    retrieveSessionInfo: () => null,
    updateSessionInfo: () => undefined,
    waitForIdentify: () => Promise.resolve(),
  };
  return new WebSocketShard(context, 0);
}

function thrownBy(use: () => void): PrivateFieldError {
  try {
    use();
  } catch (error) {
    if (error instanceof PrivateFieldError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('the private field of the installed @discordjs/ws', () => {
  it('is the one the channel reads', () => {
    const shard = newShard();
    expect(() => checkShard(shard)).not.toThrow();
    // Without a socket there is nothing to break.
    expect(() => breakSocket(shard)).not.toThrow();
  });

  it('is named with the version when it is gone, and no connection is attempted again', () => {
    const shard = newShard();
    Reflect.deleteProperty(shard, 'connection');
    const error = thrownBy(() => checkShard(shard));
    expect(error.message).toMatch(/^@discordjs\/ws \d+\.\d+\.\d+ has no .*npm ci/);
    expect(error.message).toContain(
      `${version} has no socket or null in its private field WebSocketShard.connection`,
    );
    expect(fatalError(error)).toMatchObject({ code: 'rejected', retryable: false, message: error.message });
  });

  it('is named when it holds something that cannot be broken', () => {
    const shard = newShard();
    Reflect.set(shard, 'connection', { close: () => undefined });
    expect(thrownBy(() => breakSocket(shard)).message).toContain('socket with terminate()');
  });
});
