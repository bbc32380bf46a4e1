/** What the gateway's rooms stand on: the store, the model servers, the event bus, the screens, and who may come near. */
import { chooseFanout, createEventBus } from './bus/index.ts';
import type { Channel } from './contracts/channel.ts';
import { accessOf } from './config.ts';
import type { Config } from './config.ts';
import { createDelivery } from './delivery/index.ts';
import { createFollowChatMigration } from './intake/index.ts';
import { newId } from './lib/ids.ts';
import type { Log } from './contracts/log.ts';
import { meterUsage, startLoopMonitor } from './ops/index.ts';
import { openModelServers } from './providers/index.ts';
import { createAccessPolicy, ensureFirstToken } from './security/index.ts';
import type { HomeStore } from './store/open-store.ts';

/** How the process that the gateway runs in speaks. */
export interface Voice {
  log: Log;
  /** Tells the person at the terminal the first token; undefined = there is no terminal, write it to a file. */
  announceToken?: ((token: string) => void) | undefined;
}

/** The ground, as `layGround` lays it. */
export type Ground = Awaited<ReturnType<typeof layGround>>;

/** Lays the ground over an open store; nothing runs yet. Throws `GatewayError` naming what is missing. */
export async function layGround(config: Config, store: HomeStore, { log, announceToken }: Voice) {
  const { env, home } = config;
  const { access, lanes } = store;
  const first = { access, home, fromEnvironment: env.GATEWAY_TOKEN, announce: announceToken };
  const { file } = await ensureFirstToken(first);
  if (file !== undefined) log.info({ file }, 'the first token is in this file');

  const now = (): number => performance.now();
  const channelAccess = (channel: string) => accessOf(config, channel);
  /** Filled once the doors are made. */
  const channels = new Map<string, Channel>();
  const meter = meterUsage(store.ledger);
  const { ledger } = meter;
  const models = openModelServers(config);
  const fanout = await chooseFanout(env, store.fanout, log);
  const loop = startLoopMonitor();
  const nodeId = newId();
  const events = createEventBus({ ...(fanout && { fanout }), nodeId, log, loopDelayMs: loop.recentMs });
  const followMove = createFollowChatMigration({ store: store.moves, channelAccess, log });
  const delivery = createDelivery({ channels, ledger, lanes, events, followMove, log });
  const gatekeeper = createAccessPolicy({ access, now, channelAccess });
  return {
    config,
    log,
    now,
    store,
    ledger,
    meter,
    models,
    loop,
    events,
    delivery,
    followMove,
    channels,
    channelAccess,
    gatekeeper,
  };
}
