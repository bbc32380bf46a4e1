/** Where people meet the gateway: its commands, the one way in, what the channels may ask, health, and the channels. */
import packageFile from '../package.json' with { type: 'json' };
import { createProfileCommands } from './agent/index.ts';
import type { MessageBus } from './contracts/bus.ts';
import type { Ground } from './ground.ts';
import {
  createApprovalCommands,
  createApprovals,
  createCommands,
  createGatewayApi,
  createMemoryCommands,
  createPlanButtons,
  createPlanCommands,
  createReceive,
  listingOf,
  queueCommand,
} from './intake/index.ts';
import type { Leader } from './intake/index.ts';
import type { Mind } from './mind.ts';
import { channelHealth, createHealth, createMetrics, createUsageCommand } from './ops/index.ts';

/** What the doors lead to. */
export interface Behind {
  ground: Ground;
  mind: Mind;
  bus: MessageBus;
  leader: Leader;
  demo: boolean;
  isReady: () => boolean;
}

/** The doors, as `makeDoors` makes them. */
export type Doors = Awaited<ReturnType<typeof makeDoors>>;

/** Makes the doors and fills the ground's channels; none is open yet. Throws `GatewayError` of a channel's settings. */
export async function makeDoors(behind: Behind) {
  const { ground, mind, bus, leader } = behind;
  const { config, log, now, store, ledger, meter, events, gatekeeper, channels } = ground;
  const { agent, profiles, scheduling } = mind;
  const { lanes, plans } = store;
  const approvals = createApprovals({ store: store.approvals, lanes, bus, log });
  const control = { plans, approvals, ledger, lanes, bus };
  const profileFaults = () => profiles.faults();
  const commands = createCommands(
    {
      lanes,
      bus,
      ledger,
      runs: store.runs,
      defaultModel: (id) => agent.defaultModel(id),
      profileFaults,
      now: Date.now,
    },
    [
      ...createProfileCommands({ profiles, ledger, events, agent }),
      createUsageCommand({ usage: store.usage, now: Date.now }),
      ...createMemoryCommands(store.memories),
      ...createApprovalCommands(approvals),
      ...createPlanCommands({ ...control, events }),
      queueCommand({ ledger }),
      ...scheduling.commands,
    ],
  );
  const common = { approvals, ledger, bus, gatekeeper, events };
  const buttons = [createPlanButtons(control)];
  const receive = createReceive({ ...common, commands, buttons, log, now });
  const health = createHealth({
    ledger,
    now,
    log,
    version: packageFile.version,
    demo: behind.demo,
    askModel: (signal) => agent.models(signal),
    channels: () => channelHealth(config.channels, channels, (channel) => leader.health(channel)),
    isReady: behind.isReady,
    profileFaults,
  });
  const metrics = createMetrics({
    usage: () => meter.lines(),
    counts: () => health.counts(),
    running: () => bus.running(),
    delivery: () => ground.delivery.counts(),
  });
  const gateway = createGatewayApi({
    ...common,
    commands: listingOf(commands),
    lanes,
    plans,
    receive,
    todos: store.todos,
    chatMoved: ground.followMove,
    agent,
    schedules: scheduling.schedules,
    profileIds: () => profiles.list().map((profile) => profile.id),
    health: () => health.report(),
    usage: store.usage,
    metrics: () => metrics.text(),
  });
  for (const { name, create } of config.channels.filter(({ isOn }) => isOn)) {
    channels.set(name, await create({ log: log.child({ channel: name }), gateway }));
  }
  return { receive, health, metrics };
}
