/** The third part of the composition root: what comes in, and what channels may ask of the gateway. */
import packageFile from '../package.json' with { type: 'json' };
import { createAdministration } from './administration.ts';
import { createProfileCommands } from './agent/index.ts';
import { createStreamCommand } from './delivery/index.ts';
import type { AgentRuntime } from './agent-runtime.ts';
import type { Config } from './config.ts';
import type { BoundTo } from './protocol/command.ts';
import type { Log } from './protocol/log.ts';
import { bindingOf, createGatewayApi, createIntake, createLeader } from './intake/index.ts';
import { fileLimitsOf, fileTypeOf, personLimitOf } from './media/index.ts';
import {
  channelHealth,
  createHealth,
  createMetrics,
  createUsageCommand,
  createWhyCommand,
} from './ops/index.ts';
import type { DailyBackups } from './ops/backup/index.ts';
import { createSignInApi } from './security/index.ts';
import type { LiveSettings } from './settings/index.ts';
import type { HomeStore } from './store/open-store.ts';
import { sharedMetrics } from './worker.ts';
import type { Security, Transport } from './transport.ts';

export interface GatewayParts {
  settings: LiveSettings<Config>;
  log: Log;
  store: HomeStore;
  security: Security;
  transport: Transport;
  runtime: AgentRuntime;
}

/** `receive`, the commands and approvals; which node receives for a bot. */
export function createInbound({ settings, log, store, security, transport, runtime }: GatewayParts) {
  const { bus, ledger, events, channels } = transport;
  const { models, profiles, scheduling, mcp } = runtime;
  const { lanes, plans, approvals, subagents } = store;
  const boundTo = boundBy(settings);
  const intake = createIntake({
    settings,
    settingsReport: () => settings.report(),
    webhooks: () => runtime.webhooks.waiting(),
    channelNotices: () => [...channels.values()].flatMap((channel) => channel.health().notice ?? []),
    usage: store.usage,
    accessPolicy: security.accessPolicy,
    bus,
    events,
    ledger,
    lanes,
    groupChats: store.groupChats,
    questions: store.questions,
    waiting: store.waiting,
    noteWaiting: (question) => transport.delivery.noteWaiting(question),
    approvals,
    plans,
    memories: runtime.memory.memories,
    tries: store.tries,
    ...transport.linking,
    openThread: transport.openThread,
    subagents,
    noteRefusal: transport.refusals.note,
    profiles: () => profiles.list(),
    defaultModel: (id, reader, say) => models.describe(id, reader, say),
    aboutModel: (model, say) => models.about(model, say),
    profileErrors: () => profiles.errors(),
    mcp: () => mcp.status(),
    boundTo,
    classify: (profileId, step) => runtime.agent.classifyStep(profileId, step),
    modelOf: (session, choice) => runtime.agent.modelOf(session, choice),
    commands: [
      ...createProfileCommands({ profiles, ledger, events, models, boundTo }),
      createUsageCommand({ usage: store.usage, prices: transport.prices, epochNow: Date.now }),
      createWhyCommand(transport),
      runtime.speech.command,
      createStreamCommand({ channels, chatSettings: store.chatSettings }),
      ...scheduling.commands,
      ...mcp.commands({
        profileOf: async (session) => models.profile((await ledger.session(session))?.profileId),
      }),
    ],
  });
  const leader = createLeader({ channels, lanes, bus, receive: intake.receive, log });
  return { ...intake, leader };
}

/** The bindings of config.json, as they are now. */
function boundBy(settings: LiveSettings<Config>): BoundTo {
  return (call) => bindingOf(settings.current().bindings, call);
}

interface ApiParts extends GatewayParts {
  inbound: ReturnType<typeof createInbound>;
  backups: Pick<DailyBackups, 'state'>;
  demo: boolean;
  isReady: () => boolean;
}

function openHealth({ settings, log, transport, runtime, inbound, demo, isReady }: ApiParts) {
  const { models, profiles, mcp } = runtime;
  return createHealth({
    ledger: transport.ledger,
    monotonicNow: () => performance.now(),
    log,
    version: packageFile.version,
    demo,
    models: (signal) => models.report(signal),
    replaced: () => models.fallbacks.replaced(),
    omissions: () => models.omissions(),
    channels: (say) =>
      channelHealth(
        settings.current().channels,
        transport.channels,
        (channel) => inbound.leader.health(channel),
        say,
      ),
    isReady,
    profileErrors: () => profiles.errors(),
    mcp: () => mcp.status(),
    settings: () => settings.report(),
  });
}

/** What channels may ask of the gateway, with its health and metrics. */
export function createApi(parts: ApiParts) {
  const { settings, log, store, security, transport, runtime, inbound, backups } = parts;
  const config = settings.current();
  const { bus, ledger, events, loop, channels, delivery, usageMeter, fanout } = transport;
  const { agent, models, profiles, scheduling, files } = runtime;
  const { leader: _leader, ...intake } = inbound;
  const health = openHealth(parts);
  const { meters } = transport;
  const metrics = createMetrics({ health, bus, usageMeter, loop, delivery, fanout, backups, meters });
  const gateway = createGatewayApi({
    ...intake,
    ...transport.linking,
    ledger,
    bus,
    accessPolicy: security.accessPolicy,
    events,
    turnConcurrency: config.turns.concurrency,
    lanes: store.lanes,
    signIns: createSignInApi(store.signIns, store.access, () => settings.current().proxySignIn),
    responses: store.responses,
    hooks: runtime.hooks,
    platform: (channel) => channels.get(channel),
    subagents: store.subagents,
    journals: store.journals,
    contexts: store.contexts,
    forks: store.forks,
    tries: store.tries,
    waiting: store.waiting,
    plans: store.plans,
    classify: (profileId, step) => agent.classifyStep(profileId, step),
    todos: store.todos,
    memories: runtime.memory.memories,
    files,
    fileLimits: fileLimitsOf(config.media),
    filesPerPerson: personLimitOf(config.media),
    keptFiles: store.keptFiles,
    fileTypeOf,
    audio: { transcribe: runtime.media.transcribe, speak: runtime.speech.speak },
    chatMoved: transport.followMigration,
    agent,
    explainTurn: (turnId, detail, say) => transport.traces.explain(turnId, detail, say),
    noteRefusal: transport.refusals.note,
    noteRequest: (answered) => transport.meters.request(answered),
    models,
    boundTo: boundBy(settings),
    schedules: scheduling.schedules,
    profiles: () => profiles.list(),
    health: (say) => health.report(say),
    usage: store.usage,
    prices: transport.prices,
    metrics: sharedMetrics(() => metrics.text()),
    administration: createAdministration({ settings, store, bus, profiles, log }),
    settings: () => ({
      ...settings.report(),
      file: config.source.file,
      values: settings.current().source.values,
    }),
  });
  return { health, gateway };
}
