/** The composition root: opens what takes time, creates the modules of `modules.ts` and starts them. */
import packageFile from '../package.json' with { type: 'json' };
import * as agent from './agent/index.ts';
import * as bus from './bus/index.ts';
import { openChannel } from './channel-setup.ts';
import { publishSettings, publishStatus } from './commands/status.ts';
import { schemaFiles } from './config-schema.ts';
import { type Config, secretsOf } from './config.ts';
import * as intake from './intake/index.ts';
import { type Gateway, type GatewayOptions } from './lifecycle.ts';
import { newSessionsOf, openSettings } from './live-config.ts';
import { Modules } from './modules.ts';
import { kindsWith, openPluginHosts } from './plugin-setup.ts';
import * as ops from './ops/index.ts';
import * as providers from './providers/index.ts';
import * as security from './security/index.ts';
import * as settingFiles from './settings/index.ts';
import { type HomeStore, openStore } from './store/index.ts';
import * as tools from './tools/index.ts';
import { workerPlace } from './worker.ts';

/** Deliveries, background subagents, platform connections and outbound webhooks that one node handles at a time. */
const OUT_CONCURRENCY = 128;
const AGENT_CONCURRENCY = 64;
const POLL_CONCURRENCY = 16;
const HOOK_CONCURRENCY = 32;
/** Answers that one node has spoken at once: speech servers are slow and often have one graphics card. */
const SPEECH_CONCURRENCY = 4;

/** Starts a gateway; when it resolves, its channels receive. Throws a `GatewayError` that names what prevents the start. */
export async function startGateway(config: Config, options: GatewayOptions): Promise<Gateway> {
  const { log, progress, redact = ops.redactor(secretsOf(config)) } = options;
  for (const detail of config.warnings) log.warn({ detail }, 'config_warning');
  const settings = openSettings(config, log);
  settings.subscribe((next) => {
    redact.learn(secretsOf(next).secrets);
    return () => undefined;
  });
  const store = await openStore({
    home: config.home,
    databaseUrl: config.env.DATABASE_URL,
    worker: workerPlace(),
    newSessions: newSessionsOf(settings),
    progress,
    log,
  });
  try {
    const modules = await openModules(settings, store, { ...options, redact });
    await openProfiles(modules);
    for (const channel of settings.current().channels) if (channel.isOn) await openChannel(modules, channel);
    return await startModules(modules);
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Opens what takes time, and creates the modules with it. */
async function openModules(
  settings: settingFiles.LiveSettings<Config>,
  store: HomeStore,
  options: GatewayOptions & { redact: ops.Redactor },
): Promise<Modules> {
  const { log, progress, showToken } = options;
  const config = settings.current();
  const { home, env } = config;
  await ops.checkRestore(home);
  const first = { access: store.access, home, fromEnvironment: env.GATEWAY_TOKEN, showToken };
  const { file, revoked } = await security.ensureFirstToken(first);
  if (file !== undefined) log.info({ file }, 'first_token_written');
  if (revoked !== undefined) log.warn({ token: revoked }, 'token_stays_revoked');
  const loop = ops.startLoopMonitor();
  const fanout = await bus.chooseFanout(env.NATS_URL, store, log);
  const plugins = openPluginHosts(config, { keys: store.keys, log, redact: options.redact });
  const kinds = kindsWith(config.plugins, plugins);
  const serverOf = providers.serverLookup(config.modelServers, kinds);
  const about = { version: packageFile.version, serverOf };
  const telemetry = await ops.startTelemetry(env, about, log);
  progress?.step('Asking the model servers…');
  const servers = await providers.openModelServers(config, { kinds, loopDelayMs: () => loop.recentMs() });
  const modules = new Modules({ settings, store, options, log, loop, fanout, telemetry, servers, plugins });
  await modules.languageFiles.open();
  return modules;
}

/** Opens the profiles under the settings as they are, and again whenever those change. Throws `ConfigError`. */
export async function openProfiles(modules: Modules): Promise<void> {
  const { settings, profiles, ownTools, options, servers } = modules;
  const rules = ({ mcpServers, search, persona, tools: { enabled, exec } }: Config) => {
    const { enabledTools, canWork, ...names } = tools.profileTools({
      named: enabled,
      tools: ownTools,
      added: options.tools ?? [],
      servers: [...mcpServers, ...modules.plugins.tools.map(({ server = '' }) => ({ name: server }))].map(
        ({ name }) => name,
      ),
      searches: search !== undefined,
      exec,
    });
    const builtIn = agent.builtInProfiles({ persona, enabledTools }, canWork);
    return { ...builtIn, ...names, modelProblem: servers.modelProblem };
  };
  await profiles.open(rules(settings.current()));
  intake.checkBoundProfiles(settings.current().bindings, profiles.list());
  settings.subscribe(({ bindings }) => {
    intake.checkBoundProfiles(bindings, profiles.list());
    return () => undefined;
  });
  settings.subscribe((next) => profiles.prepare(rules(next)));
}

/** Gives the lanes their handlers, starts the modules in their order, and then what tells others about this gateway. */
async function startModules(modules: Modules): Promise<Gateway> {
  const { settings, store, options, channels, health, backups, lifecycle, home, memory, log } = modules;
  const { bus: lanes, meters, leader, webhooks, speech, config } = modules;
  lanes.register({ class: 'in', handler: modules.agent.turns, concurrency: config.turns.concurrency });
  const out = meters.deliveries(modules.delivery.out);
  lanes.register({ class: 'out', handler: out, concurrency: OUT_CONCURRENCY });
  lanes.register({ class: 'agent', handler: modules.agent.subagents, concurrency: AGENT_CONCURRENCY });
  lanes.register({ class: 'poll', handler: leader.handler, concurrency: POLL_CONCURRENCY });
  lanes.register({ class: 'hook', handler: webhooks.handler, concurrency: HOOK_CONCURRENCY });
  lanes.register({ class: 'push', handler: modules.push.handler, concurrency: HOOK_CONCURRENCY });
  lanes.register({ class: 'speech', handler: speech.handler, concurrency: SPEECH_CONCURRENCY });
  options.progress?.step('Starting the channels…');
  settings.subscribe((next) => {
    const isOther = next.memory.embeddingModel !== settings.current().memory.embeddingModel;
    return () => (isOther ? memory.refresh() : undefined);
  });
  publishSettings(settings, store, log);
  const url = (): string => channels.get('http')?.url ?? '';
  await lifecycle.start(modules, (signal) => {
    void publishStatus(store, url(), health, backups, modules.reports.plugins, log, signal);
    void settingFiles.writeSchemaFiles(schemaFiles(home, config.manifests, config.plugins), log, signal);
  });
  return {
    url: url(),
    health: () => health.report(),
    signInLink: () => security.signInLink(store.access, store.signIns, { url: url() }),
    stop: () => lifecycle.stop(),
  };
}
