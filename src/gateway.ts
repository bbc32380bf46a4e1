/** The only wiring: the ground, the mind, the lanes that carry their work, the doors, and the life of it all. */
import { createMessageBus } from './bus/index.ts';
import type { LaneRunner, LaneBudget, MessageBus } from './contracts/bus.ts';
import type { Config } from './config.ts';
import { makeDoors } from './doors.ts';
import type { Doors } from './doors.ts';
import { layGround } from './ground.ts';
import type { Voice } from './ground.ts';
import type { HealthReport } from './contracts/gateway-api.ts';
import { createLeader } from './intake/index.ts';
import { createLife } from './lifecycle.ts';
import type { Life } from './lifecycle.ts';
import { openMind } from './mind.ts';
import { openStore } from './store/open-store.ts';
import type { HomeStore } from './store/open-store.ts';
import type { Tool } from './contracts/tool.ts';

/** Deliveries, subagents in the background and held connections of one node at a time. */
const OUT_CONCURRENCY = 128;
const RUN_CONCURRENCY = 64;
const POLL_CONCURRENCY = 16;

export interface GatewayOptions extends Voice {
  /** Answers come from a script, and the page says so. */
  demo?: boolean;
  /** Tools beside the house's own, switched on in the default profile. */
  tools?: readonly Tool[];
}

export interface Gateway {
  /** Where the HTTP channel listens. */
  readonly url: string;
  health(): Promise<HealthReport>;
  /** Leaves running work where it can be taken up again and closes everything. Never throws; twice is fine. */
  stop(): Promise<void>;
}

/** Starts a gateway; when it resolves, the doors are open. Throws `GatewayError` naming what keeps it from starting. */
export async function startGateway(config: Config, options: GatewayOptions): Promise<Gateway> {
  const { log } = options;
  for (const warning of config.warnings) log.warn(warning);
  const { home, env, turns } = config;
  const store = await openStore({ home, databaseUrl: env.DATABASE_URL, newSessions: turns, log });
  try {
    return await build(config, options, store);
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function build(config: Config, options: GatewayOptions, store: HomeStore): Promise<Gateway> {
  // The bus carries what the others make, so it is made after them; none of them needs it before the start.
  const carrier: LaneRunner = {
    claimingNode: (laneClass) => bus.claimingNode(laneClass),
    run: (step) => bus.run(step),
  };
  const ground = await layGround(config, store, options);
  const { log, channels, events, delivery } = ground;
  const { lanes, instance } = store;
  const mind = await openMind(ground, carrier, options.tools ?? []);
  const leader = createLeader({
    channels,
    lanes,
    bus: carrier,
    receive: (message, how) => doors.receive(message, how),
    log,
  });
  const budgets: LaneBudget[] = [
    { class: 'in', handler: mind.agent.turns, concurrency: config.turns.concurrency },
    { class: 'out', handler: delivery.out, concurrency: OUT_CONCURRENCY },
    { class: 'run', handler: mind.agent.subagents, concurrency: RUN_CONCURRENCY },
    { class: 'poll', handler: leader.handler, concurrency: POLL_CONCURRENCY },
  ];
  const bus: MessageBus = createMessageBus({ lanes, instance, budgets, log, hints: events.hints });
  const demo = options.demo ?? false;
  const doors: Doors = await makeDoors({ ground, mind, bus, leader, demo, isReady: () => life.ready });
  const life: Life = createLife({ ground, mind, bus, leader, doors });
  await life.start();
  return {
    url: channels.get('http')?.url ?? '',
    health: () => doors.health.report(),
    stop: () => life.stop(),
  };
}
