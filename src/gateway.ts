/** The only wiring: every room is made here, handed what it needs, started in order and stopped in the opposite one. */
import path from 'node:path';
import packageFile from '../package.json' with { type: 'json' };
import { channelEntries, urlOf } from '../channels/index.ts';
import { createAgent, createProfileCommands, openProfiles } from './agent/index.ts';
import { chooseFanout, createEventBus, createMessageBus } from './bus/index.ts';
import type { LaneBudget } from './bus.ts';
import type { Channel } from './channel.ts';
import { accessOf, clockOf } from './config.ts';
import type { Config } from './config.ts';
import { createDelivery, createPost } from './delivery/index.ts';
import type { GatewayApi } from './gateway-api.ts';
import type { HealthReport } from './health.ts';
import {
  createApprovalCommands,
  createApprovals,
  createAnnounce,
  createCommands,
  createGatewayApi,
  createLeader,
  createMemoryCommands,
  createPlanButtons,
  createPlanCommands,
  createReceive,
  listingOf,
  queueCommand,
} from './intake/index.ts';
import { newId } from './lib/ids.ts';
import type { Log } from './log.ts';
import {
  announceState,
  channelHealth,
  createHealth,
  createMetrics,
  createUsageCommand,
  meterUsage,
  startRetention,
} from './ops/index.ts';
import { defaultProfile } from './profile.ts';
import { openModelServers } from './providers/index.ts';
import type { Announce, Receive } from './receive.ts';
import { createScheduling } from './schedule/index.ts';
import { createEgress, createGatekeeper, createStanding, ensureFirstToken } from './security/index.ts';
import { openStore } from './store/open-store.ts';
import type { HomeStore } from './store/open-store.ts';
import type { Tool } from './tool.ts';
import { createSandbox, createTools, openWorkspace } from './tools/index.ts';
import type { ToolsOptions } from './tools/index.ts';

/** How long running work may take to come to a place where it can be left, in milliseconds. */
export const DRAIN_MS = 20_000;
/** Deliveries, subagents in the background and held connections of one node at a time. */
const OUT_CONCURRENCY = 128;
const RUN_CONCURRENCY = 64;
const POLL_CONCURRENCY = 16;

export interface GatewayOptions {
  log: Log;
  /** Tells the person at the terminal the first token; undefined = there is no terminal, write it to a file. */
  announceToken?: ((token: string) => void) | undefined;
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
  const { env, home } = config;
  for (const warning of config.warnings) log.warn(warning);
  const store = await openStore({ home, databaseUrl: env.DATABASE_URL, log });
  try {
    return await wire(config, options, store);
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function wire(config: Config, options: GatewayOptions, store: HomeStore): Promise<Gateway> {
  const { log } = options;
  const { env, home } = config;
  const { lanes, access, plans } = store;
  const meter = meterUsage(store.ledger);
  const { ledger } = meter;
  const now = (): number => performance.now();
  const closing = new AbortController();
  const channels = new Map<string, Channel>();
  let ready = false;

  const first = { access, home, fromEnvironment: env.GATEWAY_TOKEN, announce: options.announceToken };
  const { file } = await ensureFirstToken(first);
  if (file !== undefined) log.info({ file }, 'the first token is in this file');

  const { provider, model, usual } = openModelServers(config);
  const fanout = await chooseFanout(env, store.fanout, log);
  const events = createEventBus({ ...(fanout && { fanout }), nodeId: newId(), log });
  const delivery = createDelivery({ channels, ledger, lanes, events, log });
  const channelAccess = (channel: string) => accessOf(config, channel);
  const announce: Announce = (message) => house(message);
  const scheduling = createScheduling({
    store: store.schedules,
    ledger,
    events,
    log,
    announce,
    standing: createStanding({ access, ledger, channelAccess }),
    now: Date.now,
    ...clockOf(config),
  });
  const added = options.tools ?? [];
  const gatekeeper = createGatekeeper({ access, now, channelAccess });
  const isOwner = (userId: string) => gatekeeper.isOwner(userId);
  const switching = { profiles: () => profiles.list(), isOwner, ledger };
  const post = createPost(store.posts, () => bus);
  const own = { ...store, profiles: switching, schedules: scheduling.schedules, post };
  const tools = [...toolsFor(config, own), ...added];
  const enabledTools = [...config.tools.enabled, ...added.map((tool) => tool.name)];
  const profiles = await openProfiles({
    folder: path.join(home, 'profiles'),
    usual: { ...defaultProfile(config.persona), enabledTools },
    toolNames: tools.map((tool) => tool.name),
    log,
  });
  const agent = createAgent({
    ...store,
    ledger,
    background: { claimant: () => bus.claimant('run'), run: (step) => bus.run(step) },
    events,
    live: delivery.live,
    provider,
    tools,
    log,
    profiles: () => profiles.list(),
    model,
    usualServer: usual,
    houseFolder: path.join(home, 'workspace'),
    workspace: (session) => openWorkspace(path.join(home, 'workspace', 'sessions'), session),
    limits: {
      firstChunkMs: env.LLM_STREAM_FIRST_CHUNK_TIMEOUT * 1_000,
      chunkMs: env.LLM_STREAM_CHUNK_TIMEOUT * 1_000,
      approvalMs: config.approvals.expireMinutes * 60_000,
    },
  });

  const receive: Receive = (message, how) => intake(message, how);
  const leader = createLeader({
    channels,
    lanes,
    receive,
    log,
    bus: { claimant: (laneClass) => bus.claimant(laneClass), run: (step) => bus.run(step) },
  });
  const budgets: LaneBudget[] = [
    { class: 'in', handler: agent.turns, concurrency: config.turns.concurrency },
    { class: 'out', handler: delivery.out, concurrency: OUT_CONCURRENCY },
    { class: 'run', handler: agent.subagents, concurrency: RUN_CONCURRENCY },
    { class: 'poll', handler: leader.handler, concurrency: POLL_CONCURRENCY },
  ];
  const bus = createMessageBus({ lanes, instance: store.instance, budgets, log, hints: events.hints });
  const approvals = createApprovals({ store: store.approvals, lanes, bus, log });
  const house = createAnnounce({ ledger, bus, events });
  const control = { plans, approvals, ledger, lanes, bus };
  const commands = createCommands(
    {
      lanes,
      bus,
      ledger,
      defaultModel: (id) => agent.defaultModel(id),
      profileFaults: () => profiles.faults(),
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
  const doors = { approvals, ledger, bus, gatekeeper, events };
  const buttons = [createPlanButtons(control)];
  const intake = createReceive({ ...doors, ...config.turns, commands, buttons, log, now });

  const health = createHealth({
    ledger,
    now,
    log,
    version: packageFile.version,
    demo: options.demo ?? false,
    askModel: (signal) => agent.models(signal),
    channels: () => channelHealth(channelEntries, channels, (channel) => leader.health(channel)),
    isReady: () => ready,
    profileFaults: () => profiles.faults(),
  });
  const metrics = createMetrics({
    usage: () => meter.lines(),
    counts: () => health.counts(),
    running: () => bus.running(),
    delivery: () => delivery.counts(),
  });
  const gateway: GatewayApi = createGatewayApi({
    ...doors,
    commands: listingOf(commands),
    lanes,
    plans,
    receive,
    todos: store.todos,
    agent,
    schedules: scheduling.schedules,
    profileIds: () => profiles.list().map((profile) => profile.id),
    health: () => health.report(),
    usage: store.usage,
    metrics: () => metrics.text(),
  });

  for (const entry of channelEntries.filter((candidate) => candidate.isOn(config))) {
    channels.set(entry.name, await entry.load(config, { log: log.child({ channel: entry.name }), gateway }));
  }
  const endRetention = startRetention(lanes, log);
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    ready = false;
    closing.abort();
    endRetention();
    await store.leaving();
    await scheduling.stop();
    await bus.stop(DRAIN_MS);
    await agent.close();
    for (const channel of channels.values()) await channel.stop();
    delivery.close();
    metrics.close();
    await profiles.close();
    await events.stop();
    await provider.close();
    await store.close();
  };
  try {
    await events.start();
    await bus.start();
    await scheduling.start();
    for (const channel of channels.values()) if (channel.identify === undefined) await channel.start(receive);
    ready = true;
  } catch (error) {
    await stop();
    throw error;
  }
  const entering = [...channels.values()]
    .filter((channel) => channel.identify !== undefined)
    .map((channel) => leader.enter(channel, closing.signal));
  announceState(log, health.report(), Promise.all(entering));
  return {
    url: urlOf(channels.get('http')),
    health: () => health.report(),
    stop: () =>
      (stopped ??= stop().catch((error: unknown) =>
        log.error({ err: error }, 'the gateway did not stop cleanly'),
      )),
  };
}

/** Pages are read from public addresses only; the search service wherever the operator says it is. */
function toolsFor(
  { env, tools }: Config,
  own: Omit<ToolsOptions, 'egress' | 'search' | 'sandbox'>,
): readonly Tool[] {
  return createTools({
    egress: createEgress({ ports: tools.ports }),
    search: {
      apiKey: env.BRAVE_API_KEY,
      apiRoot: env.BRAVE_API_ROOT,
      egress: createEgress({ allow: [new URL(env.BRAVE_API_ROOT).origin] }),
    },
    sandbox: tools.exec ? createSandbox() : undefined,
    ...own,
  });
}
