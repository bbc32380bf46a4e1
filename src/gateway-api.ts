/** The third part of the composition root: what comes in, and what channels may ask of the gateway. */
import type { GatewayApi } from './protocol/gateway-api.ts';
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
import { type DailyBackups } from './ops/daily-backups.ts';
import { createSignInApi } from './security/index.ts';
import type { LiveSettings } from './settings/index.ts';
import type { HomeStore } from './store/index.ts';
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
  const boundTo = boundBy(settings);
  const intake = createIntake({
    store: { ...store, memories: runtime.memory.memories },
    ledger,
    bus,
    events,
    log,
    settings,
    accessPolicy: security.accessPolicy,
    languages: transport.languages,
    profiles: () => profiles.list(),
    models,
    boundTo,
    agent: runtime.agent,
    linking: transport.linking,
    openThread: transport.openThread,
    status: {
      profileErrors: () => profiles.errors(),
      mcp: () => mcp.status(),
      settings: () => settings.report(),
      webhooks: () => runtime.webhooks.waiting(),
      channelNotices: () => [...channels.values()].flatMap((channel) => channel.health().notice ?? []),
    },
    noteRefusal: transport.refusals.note,
    noteWaiting: (question) => transport.delivery.noteWaiting(question),
    commands: [
      ...createProfileCommands({ profiles, ledger, events, models, boundTo }),
      createUsageCommand(store.usage, transport.prices, Date.now),
      createWhyCommand(transport.traces, transport.refusals),
      runtime.speech.command,
      createStreamCommand(channels, store.chatSettings),
      ...scheduling.commands,
      ...mcp.commands(async (session) => models.profile((await ledger.session(session))?.profileId)),
    ],
  });
  const leader = createLeader({ channels, lanes: store.lanes, bus, receive: intake.receive, log });
  return { intake, leader };
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
  const { settings, log, store, transport, runtime, inbound, backups } = parts;
  const config = settings.current();
  const { bus, loop, channels, delivery, fanout, meters } = transport;
  const { agent, profiles, scheduling, files } = runtime;
  const health = openHealth(parts);
  const metrics = createMetrics({ health, bus, loop, delivery, fanout, backups, meters });
  const limits = fileLimitsOf(config.media);
  const personLimit = personLimitOf(config.media);
  const gateway: GatewayApi = {
    ...createGatewayApi(inbound.intake, {
      agent,
      storage: { files, keptFiles: store.keptFiles, limits, personLimit, typeOf: fileTypeOf },
      schedules: scheduling.schedules,
      prices: transport.prices,
      explainTurn: (turnId, detail, say) => transport.traces.explain(turnId, detail, say),
      channels,
    }),
    turnConcurrency: config.turns.concurrency,
    signIns: createSignInApi(store.signIns, store.access, () => settings.current().proxySignIn),
    responses: store.responses,
    hooks: runtime.hooks,
    audio: { transcribe: runtime.media.transcribe, speak: runtime.speech.speak },
    chatMoved: transport.followMigration,
    noteRequest: (request) => transport.meters.request(request),
    health: (say) => health.report(say),
    metrics: sharedMetrics(() => metrics.text()),
    administration: createAdministration({ settings, store, bus, profiles, log }),
    settings: () => ({
      ...settings.report(),
      file: config.source.file,
      values: settings.current().source.values,
    }),
  };
  return { health, gateway };
}
