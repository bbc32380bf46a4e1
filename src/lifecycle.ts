/** The order in which the gateway wakes and goes to rest: what others need begins first and ends last. */
import type { MessageBus } from './contracts/bus.ts';
import type { Doors } from './doors.ts';
import type { Ground } from './ground.ts';
import type { Leader } from './intake/index.ts';
import type { Mind } from './mind.ts';
import { announceState, startRetention } from './ops/index.ts';

/** How long running work may take to come to a place where it can be left, in milliseconds. */
export const DRAIN_MS = 20_000;

/** Everything that begins and ends. */
export interface Household {
  ground: Ground;
  mind: Mind;
  bus: MessageBus;
  leader: Leader;
  doors: Doors;
}

/** One life, from `start` to `stop`. */
export interface Life {
  /** True while the doors are open. */
  readonly ready: boolean;
  /** Opens the doors. Throws `GatewayError` of what could not begin; everything is closed by then. */
  start(): Promise<void>;
  /** Leaves running work where it can be taken up again and closes everything. Never throws; twice is fine. */
  stop(): Promise<void>;
}

/** Makes the life of a household; nothing has begun yet. */
export function createLife(house: Household): Life {
  const { log } = house.ground;
  const closing = new AbortController();
  let ready = false;
  let ended: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    ready = false;
    closing.abort();
    await closeAll(house);
  };
  const stop = (): Promise<void> =>
    (ended ??= end().catch((error: unknown) =>
      log.error({ err: error }, 'the gateway did not stop cleanly'),
    ));
  return {
    get ready() {
      return ready;
    },
    async start() {
      startRetention(house.ground.store.lanes, log, closing.signal);
      try {
        await openAll(house);
        ready = true;
      } catch (error) {
        await stop();
        throw error;
      }
      announceState(log, house.doors.health.report(), enterAll(house, closing.signal));
    },
    stop,
  };
}

/** Channels of which any number of nodes may receive begin here; the others wait for their lane. */
async function openAll({ ground, mind, bus, doors }: Household): Promise<void> {
  await ground.events.start();
  await bus.start();
  await mind.scheduling.start();
  for (const channel of ground.channels.values()) {
    if (channel.identify === undefined) await channel.start(doors.receive);
  }
}

/** Resolves when every channel of which one node at a time receives has its place in the queue for that. */
async function enterAll({ ground, leader }: Household, signal: AbortSignal): Promise<unknown> {
  const led = [...ground.channels.values()].filter((channel) => channel.identify !== undefined);
  return await Promise.all(led.map((channel) => leader.enter(channel, signal)));
}

async function closeAll({ ground, mind, bus }: Household): Promise<void> {
  await ground.store.leaving();
  await mind.scheduling.stop();
  await bus.stop(DRAIN_MS);
  await mind.agent.close();
  for (const channel of ground.channels.values()) await channel.stop();
  ground.delivery.close();
  ground.loop.stop();
  await mind.profiles.close();
  await ground.events.stop();
  await ground.models.provider.close();
  await ground.store.close();
}
