/** The composition root: creates every module with what it needs and starts them. Read it from top to bottom. */
import path from 'node:path';
import packageFile from '../package.json' with { type: 'json' };
import { createAgent, createModels, createProfileCommands, createProfiles } from './agent/index.ts';
import { chooseFanout, createEventBus, createMessageBus } from './bus/index.ts';
import { accessOf, clockOf, limitsOf } from './config.ts';
import type { Config } from './config.ts';
import type { Channel } from './contracts/channel.ts';
import type { HealthReport } from './contracts/gateway-api.ts';
import type { Log } from './contracts/log.ts';
import { defaultProfile } from './contracts/profile.ts';
import type { Tool } from './contracts/tool.ts';
import { createDelivery, createPost } from './delivery/index.ts';
import {
  createFollowChatMigration,
  createGatewayApi,
  createIntake,
  createLeader,
  createSendSystemMessage,
  listingOf,
} from './intake/index.ts';
import { newId } from './lib/ids.ts';
import { createLifecycle } from './lifecycle.ts';
import {
  channelHealth,
  createHealth,
  createMetrics,
  createUsageCommand,
  meterUsage,
  startLoopMonitor,
} from './ops/index.ts';
import { openModelServers } from './providers/index.ts';
import { createScheduling } from './schedule/index.ts';
import { createAccessPolicy, createCreatorAccess, createEgress, ensureFirstToken } from './security/index.ts';
import { openStore } from './store/open-store.ts';
import type { HomeStore } from './store/open-store.ts';
import { checkEnabledTools, createSandbox, createTools, openWorkspace } from './tools/index.ts';

/** Deliveries, background subagents and platform connections that one node handles at a time. */
const OUT_CONCURRENCY = 128;
const AGENT_CONCURRENCY = 64;
const POLL_CONCURRENCY = 16;

/** How the process around the gateway logs and prints. */
export interface ProcessOutput {
  log: Log;
  /** Shows the first token on the terminal; undefined = there is no terminal, and the token is written to a file. */
  announceToken?: ((token: string) => void) | undefined;
}

export interface GatewayOptions extends ProcessOutput {
  /** Answers come from a script, and the page says so. */
  demo?: boolean;
  /** Tools beside the built-in ones, enabled in the default profile. */
  tools?: readonly Tool[];
}

export interface Gateway {
  /** Where the HTTP channel listens. */
  readonly url: string;
  health(): Promise<HealthReport>;
  /** Stops running work at a point where it can be resumed, and closes everything. Never throws; may be called twice. */
  stop(): Promise<void>;
}

/** Starts a gateway; when it resolves, its channels receive. Throws a `GatewayError` that names what prevents the start. */
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

/** Creates every module in the order of their dependencies. */
async function build(config: Config, options: GatewayOptions, store: HomeStore): Promise<Gateway> {
  const { log } = options;
  const lifecycle = createLifecycle(log);
  const security = await openSecurity(config, options, store);
  const transport = await openTransport(config, log, store, security);
  const runtime = await openAgentRuntime(config, options, { store, security, transport });
  const parts = { config, log, store, security, transport, runtime };
  const inbound = createInbound(parts);
  const demo = options.demo ?? false;
  const api = createApi({ ...parts, inbound, demo, isReady: () => lifecycle.ready });
  const { channels, bus, delivery } = transport;
  for (const { name, create } of config.channels.filter(({ isOn }) => isOn)) {
    channels.set(name, await create({ log: log.child({ channel: name }), gateway: api.gateway }));
  }

  const { turns, subagents } = runtime.agent;
  bus.register({ class: 'in', handler: turns, concurrency: config.turns.concurrency });
  bus.register({ class: 'out', handler: delivery.out, concurrency: OUT_CONCURRENCY });
  bus.register({ class: 'agent', handler: subagents, concurrency: AGENT_CONCURRENCY });
  bus.register({ class: 'poll', handler: inbound.leader.handler, concurrency: POLL_CONCURRENCY });
  await lifecycle.start({ store, ...transport, ...runtime, ...inbound, ...api });
  const url = channels.get('http')?.url ?? '';
  return { url, health: () => api.health.report(), stop: () => lifecycle.stop() };
}

type Made<Make extends (...args: never[]) => unknown> = Awaited<ReturnType<Make>>;
type Security = Made<typeof openSecurity>;
type Transport = Made<typeof openTransport>;
type AgentRuntime = Made<typeof openAgentRuntime>;

/** Access control; prints or writes the first token. */
async function openSecurity(config: Config, { log, announceToken }: ProcessOutput, { access }: HomeStore) {
  const { env, home } = config;
  const first = { access, home, fromEnvironment: env.GATEWAY_TOKEN, announce: announceToken };
  const { file } = await ensureFirstToken(first);
  if (file !== undefined) log.info({ file }, 'first_token_written');
  const channelAccess = (channel: string) => accessOf(config, channel);
  const accessPolicy = createAccessPolicy({ access, now: () => performance.now(), channelAccess });
  return { channelAccess, accessPolicy };
}

/** The two buses, and delivery to the channels, which are loaded last. */
async function openTransport(config: Config, log: Log, store: HomeStore, { channelAccess }: Security) {
  const { lanes, instance } = store;
  const channels = new Map<string, Channel>();
  const loop = startLoopMonitor();
  const fanout = await chooseFanout(config.env, store.fanout, log);
  const loopDelayMs = () => loop.recentMs();
  const events = createEventBus({ ...(fanout && { fanout }), nodeId: newId(), log, loopDelayMs });
  const bus = createMessageBus({ lanes, instance, log, stopNotifier: events.stopNotifier });
  const usageMeter = meterUsage(store.ledger);
  const { ledger } = usageMeter;
  const followMove = createFollowChatMigration({ store: store.moves, channelAccess, log });
  const delivery = createDelivery({ channels, ledger, lanes, events, followMigration: followMove, log });
  return { channels, events, loop, bus, usageMeter, ledger, followMove, delivery };
}

/** Models, profiles, tools and the agent, and the schedules that start turns by themselves. */
async function openAgentRuntime(
  config: Config,
  { log, tools: added = [] }: GatewayOptions,
  { store, security, transport }: { store: HomeStore; security: Security; transport: Transport },
) {
  const { env, home } = config;
  const { ledger, bus, events, delivery } = transport;
  const { accessPolicy, channelAccess } = security;
  const workspaceDir = path.join(home, 'workspace');
  const scheduling = createScheduling({
    store: store.schedules,
    ledger,
    events,
    log,
    announce: createSendSystemMessage({ ledger, bus, events }),
    standing: createCreatorAccess({ access: store.access, ledger, channelAccess }),
    epochNow: Date.now,
    ...clockOf(config),
  });
  const profiles = createProfiles({ folder: path.join(home, 'profiles'), log });
  const listProfiles = () => profiles.list();
  const { provider, model, usual, modelProblem } = await openModelServers(config);
  const models = createModels({ provider, profiles: listProfiles, model, usualServer: usual });
  const builtIn = {
    egress: createEgress({ ports: config.tools.ports }),
    search: {
      apiKey: env.BRAVE_API_KEY,
      apiRoot: env.BRAVE_API_ROOT,
      egress: createEgress({ allow: [new URL(env.BRAVE_API_ROOT).origin] }),
    },
    sandbox: config.tools.exec ? createSandbox() : undefined,
    memories: store.memories,
    todos: store.todos,
    scratchpad: store.scratchpad,
    profiles: {
      profiles: listProfiles,
      isOwner: (userId: string) => accessPolicy.isOwner(userId),
      check: (id: string, signal: AbortSignal) => models.checkProfile(id, signal),
      ledger,
    },
    schedules: scheduling.schedules,
    post: createPost(store.posts, bus),
  };
  const tools = createTools(builtIn, added);
  checkEnabledTools(config.tools.enabled, tools);
  const enabledTools = [...config.tools.enabled, ...added.map((tool) => tool.name)];
  await profiles.open({
    usual: { ...defaultProfile(config.persona), enabledTools },
    toolNames: tools.map((tool) => tool.name),
    modelProblem,
  });
  const agent = createAgent({
    ledger,
    subagents: store.subagents,
    background: { claimingNode: () => bus.claimingNode('agent'), run: (step) => bus.runHeads(step) },
    lanes: store.lanes,
    approvals: store.approvals,
    isOwner: (userId) => accessPolicy.isOwner(userId),
    plans: store.plans,
    memories: store.memories,
    contexts: store.contexts,
    todos: store.todos,
    events,
    live: delivery.live,
    provider,
    models,
    tools,
    log,
    profiles: listProfiles,
    workspaceDir,
    workspace: (session) => openWorkspace(path.join(workspaceDir, 'sessions'), session),
    limits: limitsOf(config),
  });
  return { agent, models, provider, profiles, scheduling };
}

interface Parts {
  config: Config;
  log: Log;
  store: HomeStore;
  security: Security;
  transport: Transport;
  runtime: AgentRuntime;
}

/** `receive`, the commands and approvals; which node receives for a bot. */
function createInbound({ log, store, security, transport, runtime }: Parts) {
  const { bus, ledger, events, channels } = transport;
  const { models, profiles, scheduling } = runtime;
  const { lanes, plans, approvals, memories, subagents } = store;
  const intake = createIntake({
    accessPolicy: security.accessPolicy,
    bus,
    events,
    ledger,
    lanes,
    approvals,
    plans,
    memories,
    subagents,
    defaultModel: (id) => models.describe(id),
    profileErrors: () => profiles.errors(),
    commands: [
      ...createProfileCommands({ profiles, ledger, events, models }),
      createUsageCommand({ usage: store.usage, epochNow: Date.now }),
      ...scheduling.commands,
    ],
    log,
  });
  const { receive } = intake;
  const leader = createLeader({ channels, lanes, bus, receive, log });
  return { ...intake, leader };
}

interface ApiParts extends Parts {
  inbound: Made<typeof createInbound>;
  demo: boolean;
  isReady: () => boolean;
}

/** What channels may ask of the gateway, with its health and metrics. */
function createApi(parts: ApiParts) {
  const { config, log, store, security, transport, runtime, inbound, demo, isReady } = parts;
  const { bus, ledger, events, loop, channels, delivery, usageMeter } = transport;
  const { agent, models, profiles, scheduling } = runtime;
  const { approvals, commands, receive, leader } = inbound;
  const health = createHealth({
    ledger,
    monotonicNow: () => performance.now(),
    log,
    version: packageFile.version,
    demo,
    askModel: (signal) => models.list(signal),
    channels: () => channelHealth(config.channels, channels, (channel) => leader.health(channel)),
    isReady,
    profileErrors: () => profiles.errors(),
  });
  const metrics = createMetrics({ health, bus, usageMeter, loop, delivery });
  const gateway = createGatewayApi({
    approvals,
    ledger,
    bus,
    accessPolicy: security.accessPolicy,
    events,
    commands: listingOf(commands),
    lanes: store.lanes,
    plans: store.plans,
    receive,
    todos: store.todos,
    chatMoved: transport.followMove,
    agent,
    models,
    schedules: scheduling.schedules,
    profileIds: () => profiles.list().map((profile) => profile.id),
    health: () => health.report(),
    usage: store.usage,
    metrics: () => metrics.text(),
  });
  return { health, gateway };
}
