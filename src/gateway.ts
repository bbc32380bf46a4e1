/** The composition root: creates every module with what it needs and starts them. Read it from top to bottom. */
import path from 'node:path';
import { channels as manifests } from '../channels/index.ts';
import { publishSettings, publishStatus } from './commands/status.ts';
import { openAgentRuntime } from './agent-runtime.ts';
import { secretsOf } from './config-views.ts';
import type { Config } from './config.ts';
import { fileSchemaFor } from './config-schema.ts';
import type { HealthReport } from './protocol/gateway-api.ts';
import { profileSchema } from './protocol/agent/profile.ts';
import type { Tool } from './protocol/agent/tool.ts';
import { openDailyBackups } from './daily-backups.ts';
import type { Clock } from './lib/clock.ts';
import { createLifecycle } from './lifecycle.ts';
import { openSettings } from './live-config.ts';
import { redactor, type Redactor } from './ops/index.ts';
import { signInLink } from './security/index.ts';
import { type LiveSettings, writeSchemaFiles } from './settings/index.ts';
import { type HomeStore, openStore } from './store/index.ts';
import { openSecurity, openTransport, type ProcessOutput } from './transport.ts';
import { workerPlace } from './worker.ts';
import { createApi, createInbound, type GatewayParts } from './gateway-api.ts';

/** Deliveries, background subagents, platform connections and outbound webhooks that one node handles at a time. */
const OUT_CONCURRENCY = 128;
const AGENT_CONCURRENCY = 64;
const POLL_CONCURRENCY = 16;
const HOOK_CONCURRENCY = 32;
/** Answers that one node has spoken at once: speech servers are slow and often have one graphics card. */
const SPEECH_CONCURRENCY = 4;

export interface GatewayOptions extends ProcessOutput {
  /** Answers come from a script, and the page says so. */
  demo?: boolean;
  /** Tools besides the built-in ones, enabled in the default profile. */
  tools?: readonly Tool[];
  /** The time of daily backups; default: the machine's. */
  clock?: Clock;
  /** Origins that `web_fetch` may reach wherever they are; all others must be public. */
  reachable?: readonly string[];
}

export interface Gateway {
  /** Where the HTTP channel listens. */
  readonly url: string;
  health(): Promise<HealthReport>;
  /** A link that signs a browser in once, with an admin's rights; undefined when no token has them. Throws `StoreError`. */
  signInLink(): Promise<string | undefined>;
  /** Stops running work at a point where it can be resumed, and closes everything. Never throws; may be called twice. */
  stop(): Promise<void>;
}

/** Starts a gateway; when it resolves, its channels receive. Throws a `GatewayError` that names what prevents the start. */
export async function startGateway(config: Config, startOptions: GatewayOptions): Promise<Gateway> {
  const { log, redact = redactor(secretsOf(config)) } = startOptions;
  const options = { ...startOptions, redact };
  for (const detail of config.warnings) log.warn({ detail }, 'config_warning');
  const { home, env } = config;
  const settings = openSettings(config, log);
  settings.subscribe((next) => {
    options.redact.learn(secretsOf(next).secrets);
    return () => undefined;
  });
  const store = await openStore({
    home,
    databaseUrl: env.DATABASE_URL,
    worker: workerPlace(),
    newSessions: newSessionsOf(settings),
    progress: options.progress,
    log,
  });
  try {
    return await build(settings, options, store);
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Creates every module in the order of their dependencies. */
async function build(
  settings: LiveSettings<Config>,
  options: GatewayOptions & { redact: Redactor },
  store: HomeStore,
): Promise<Gateway> {
  const config = settings.current();
  const { log } = options;
  const lifecycle = createLifecycle(log);
  const security = await openSecurity(settings, options, store);
  const transport = await openTransport(settings, log, store, security);
  options.progress?.step('Asking the model servers…');
  const runtime = await openAgentRuntime(settings, options, { store, security, transport });
  const parts = { settings, log, store, security, transport, runtime };
  const inbound = createInbound(parts);
  const backups = openDailyBackups(settings, store, log, options.clock);
  const demo = options.demo ?? false;
  const api = createApi({ ...parts, inbound, backups, demo, isReady: () => lifecycle.ready });
  const { channels, bus, delivery, languages } = transport;
  for (const { name, create } of config.channels.filter(({ isOn }) => isOn)) {
    const { connections, updates, chatSettings } = store;
    const stores = { connections, updates, chatSettings, ...security.ofChannel(name) };
    const deps = { gateway: api.gateway, ...stores, languages, log: log.child({ channel: name }) };
    channels.set(name, await create(deps));
  }

  const { turns, subagents } = runtime.agent;
  bus.register({ class: 'in', handler: turns, concurrency: config.turns.concurrency });
  const out = transport.meters.deliveries(delivery.out);
  bus.register({ class: 'out', handler: out, concurrency: OUT_CONCURRENCY });
  bus.register({ class: 'agent', handler: subagents, concurrency: AGENT_CONCURRENCY });
  bus.register({ class: 'poll', handler: inbound.leader.handler, concurrency: POLL_CONCURRENCY });
  bus.register({ class: 'hook', handler: runtime.webhooks.handler, concurrency: HOOK_CONCURRENCY });
  bus.register({ class: 'speech', handler: runtime.speech.handler, concurrency: SPEECH_CONCURRENCY });
  options.progress?.step('Starting the channels…');
  publishSettings(settings, store, log);
  const url = (): string => channels.get('http')?.url ?? '';
  const { health } = api;
  const publish = (signal: AbortSignal) => publishStatus(store, url(), health, backups, log, signal);
  const schemas = {
    [path.join(config.home, 'config.schema.json')]: () => fileSchemaFor(manifests),
    [path.join(config.home, 'profile.schema.json')]: () => profileSchema,
  };
  const writeSchemas = (signal: AbortSignal) => writeSchemaFiles(schemas, log, signal);
  const components = { ...componentsOf(parts), backups, health, tell: publish, writeSchemas };
  await lifecycle.start({ ...components, receive: inbound.intake.receive, leader: inbound.leader });
  return {
    url: url(),
    health: () => health.report(),
    signInLink: () => signInLink(store.access, store.signIns, { url: url() }),
    stop: () => lifecycle.stop(),
  };
}

/** What starts and stops of what was made first. */
function componentsOf({ settings, store, transport, runtime }: GatewayParts) {
  const { channels, events, loop, bus, delivery, languageFiles, refusals, telemetry } = transport;
  const { agent, provider, profiles, scheduling, files, mcp, media, memory, speech, webhooks } = runtime;
  return {
    settings,
    retention: () => settings.current().retention,
    store,
    files,
    events,
    bus,
    scheduling,
    channels,
    agent,
    mcp,
    memory,
    speech,
    webhooks,
    delivery,
    languageFiles,
    loop,
    media,
    profiles,
    refusals,
    telemetry,
    provider,
  };
}

/** What new sessions begin with, as it is now. */
function newSessionsOf(settings: LiveSettings<Config>) {
  return {
    get mode() {
      return settings.current().turns.mode;
    },
    get queueMode() {
      return settings.current().turns.queueMode;
    },
  };
}
