/** The private fields of discord.js that the channel uses: present in the installed version, and named when they change. */
import { Client, SimpleShardingStrategy, version } from 'discord.js';
import { afterEach, describe, expect, it } from 'vitest';
import { ignorePackets, PrivateFieldError, shardsOf } from '../../../channels/discord/private-fields.ts';
import { DiscordSetup, failureOf } from '../../fakes/discord/setup.ts';

/** A sharding strategy of discord.js with the one shard it spawned; only connecting would need more of a manager. */
async function spawnShard(): Promise<{ strategy: object; shard: object }> {
  const manager = {
    options: {},
    fetchGatewayInformation: () => Promise.resolve({}),
    getShardCount: () => Promise.resolve(1),
  };
  const strategy: SimpleShardingStrategy = Reflect.construct(SimpleShardingStrategy, [manager]);
  await strategy.spawn([0]);
  const shards: unknown = Reflect.get(strategy, 'shards');
  const shard: unknown = shards instanceof Map ? shards.get(0) : undefined;
  if (typeof shard !== 'object' || shard === null) throw new Error('discord.js has spawned no shard');
  return { strategy, shard };
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

function realClient(): Client {
  return new Client({ intents: [] });
}

describe('the private fields of the installed discord.js', () => {
  it('are those the channel reads', async () => {
    const { strategy } = await spawnShard();
    const shards = shardsOf(strategy);
    expect(shards).toHaveLength(1);
    // Without a socket there is nothing to break.
    for (const shard of shards) expect(() => shard.terminate()).not.toThrow();
    const client = realClient();
    ignorePackets(client);
    expect(Reflect.apply(Reflect.get(client.ws, 'handlePacket'), client.ws, [{ t: 'READY' }])).toBe(true);
  });

  const changed: [string, (spawned: { strategy: object; shard: object }) => void][] = [
    ['SimpleShardingStrategy.shards', ({ strategy }) => Reflect.set(strategy, 'shards', [])],
    ['WebSocketShard.internalConnect', ({ shard }) => Reflect.set(shard, 'internalConnect', undefined)],
    ['WebSocketShard.connection', ({ shard }) => Reflect.deleteProperty(shard, 'connection')],
    [
      'WebSocketShard.connection',
      ({ shard }) => Reflect.set(shard, 'connection', { close: () => undefined }),
    ],
  ];

  it.each(changed)('are named with the version when %s is not what it was', async (field, change) => {
    const spawned = await spawnShard();
    change(spawned);
    const use = () => {
      for (const shard of shardsOf(spawned.strategy)) shard.terminate();
    };
    const error = thrownBy(use);
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toContain(`discord.js ${version} has no `);
    expect(error.message).toContain(field);
  });

  it('are named with the version when the client handles packets elsewhere', () => {
    const client = realClient();
    Object.defineProperty(client.ws, 'handlePacket', { value: undefined });
    const error = thrownBy(() => ignorePackets(client));
    expect(error.message).toContain(`discord.js ${version} has no `);
    expect(error.message).toContain('WebSocketManager.handlePacket');
  });
});

describe('a channel on another discord.js', () => {
  let setup: DiscordSetup | undefined;
  let restore = (): void => undefined;
  afterEach(async () => {
    restore();
    await setup?.close();
  });

  it('does not start, and names the version and the command that installs the right one', async () => {
    setup = await DiscordSetup.open();
    const { shard } = await spawnShard();
    const prototype: object = Reflect.getPrototypeOf(shard) ?? {};
    const original = Reflect.getOwnPropertyDescriptor(prototype, 'internalConnect') ?? {};
    restore = () => void Reflect.defineProperty(prototype, 'internalConnect', original);
    Reflect.deleteProperty(prototype, 'internalConnect');
    const failure = await failureOf(setup.start());
    expect(failure).toMatchObject({ code: 'rejected', retryable: false });
    expect(failure.message).toMatch(/^discord\.js \d+\.\d+\.\d+ has no function.*internalConnect.*npm ci/);
    expect(setup.channel.health()).toEqual({ state: 'dead', detail: failure.message });
    expect(setup.discord.gateway.counts.connections).toBe(0);
  });
});
