/** All modules, each with what it needs: the first half of the composition root. Read it from top to bottom. */
import path from 'node:path';
import packageFile from '../package.json' with { type: 'json' };
import * as agent from './agent/index.ts';
import * as bus from './bus/index.ts';
import { administerChannels } from './channel-setup.ts';
import { environmentSchemaFor, fileSchemaFor } from './config-schema.ts';
import { accessOf, clockOf, type Config, limitsOf, networksOf, zoneOf } from './config.ts';
import { openDailyBackups } from './daily-backups.ts';
import * as delivery from './delivery/index.ts';
import * as intake from './intake/index.ts';
import { systemClock } from './lib/clock.ts';
import { createLifecycle, type GatewayOptions } from './lifecycle.ts';
import { editableConfig } from './live-config.ts';
import * as mcp from './mcp/index.ts';
import * as media from './media/index.ts';
import { createMemory } from './memory/index.ts';
import * as ops from './ops/index.ts';
import type { LoopMonitor } from './ops/loop-delay.ts';
import type { Telemetry } from './ops/telemetry/spans.ts';
import type { PluginHosts } from './plugins/index.ts';
import { PROFILE_SETTINGS, profileSchema } from './protocol/agent/profile.ts';
import type { Fanout } from './protocol/bus.ts';
import type { Channel, ChannelDeps } from './protocol/channel.ts';
import type { BoundTo } from './protocol/command.ts';
import { MAX_POSTS } from './protocol/delivery.ts';
import type { GatewayApi } from './protocol/gateway-api.ts';
import type { Log } from './protocol/log.ts';
import { proxyTokenOf } from './protocol/operator/sign-in.ts';
import { partOf, type WatchFolders } from './protocol/settings.ts';
import type * as providers from './providers/index.ts';
import { createScheduling } from './schedule/index.ts';
import * as security from './security/index.ts';
import * as settingFiles from './settings/index.ts';
import { type HomeStore } from './store/index.ts';
import * as tools from './tools/index.ts';
import { sharedMetrics, workerInstance, workerRestarts } from './worker.ts';

const monotonicNow = (): number => performance.now();

/** What exists before the modules. */
class Foundations {
  declare readonly settings: settingFiles.LiveSettings<Config>;
  declare readonly store: HomeStore;
  declare readonly options: GatewayOptions & { redact: ops.Redactor };
  declare readonly log: Log;
  declare readonly loop: LoopMonitor;
  declare readonly fanout: Fanout | undefined;
  declare readonly telemetry: Telemetry;
  declare readonly servers: providers.ModelServers;
  declare readonly plugins: PluginHosts;

  constructor(parts: Foundations) {
    Object.assign(this, parts);
  }
}

/** All modules, in the order of their dependencies. What a function reads when it is called may stand below it. */
export class Modules extends Foundations {
  /** The settings as they are now. */
  readonly now = (): Config => this.settings.current();
  /** As they were at the start. */
  readonly config = this.now();
  readonly home = this.config.home;
  readonly fileSchema = fileSchemaFor(this.config.manifests, this.config.plugins);
  readonly workspace = path.join(this.home, 'workspace');
  readonly watch: WatchFolders = (onChange) => settingFiles.watchFolders(onChange, this.log);

  // Access.
  readonly channelAccess = (channel: string) => accessOf(this.now(), channel);
  readonly accessPolicy = security.createAccessPolicy({
    access: this.store.access,
    groupChats: this.store.groupChats,
    monotonicNow,
    channelAccess: this.channelAccess,
    proxyTokenOf: (user) => proxyTokenOf(this.now().proxySignIn, user),
  });

  // The two buses, and the ledger of turns.
  readonly channels = new Map<string, Channel>();
  readonly events = bus.createEventBus({ fanout: this.fanout, turns: this.store.ledger, log: this.log });
  readonly bus = bus.createMessageBus({
    lanes: this.store.lanes,
    instance: this.store.instance,
    log: this.log,
    stopNotifier: this.events.stopNotifier,
  });
  readonly meters = ops.createMeters(packageFile.version, workerRestarts());
  readonly budgets = ops.createBudgets({ store: this.store, now: this.now, epochNow: Date.now });
  readonly settling = this.budgets.settling(this.store);
  readonly meteredLedger = ops.meterUsage(this.settling.ledger, this.meters.usage);
  readonly ledger = intake.bindTurns(this.meteredLedger, () => this.now().bindings);

  // What is noted about turns, and about messages that do not become turns.
  readonly prices = () => this.now().prices;
  readonly traces = ops.createTraces(this.store.traces, this.prices, [this.meters, this.telemetry]);
  readonly refusals = ops.createRefusalNotes(
    (refusals) => this.store.traces.noteRefusals(refusals),
    systemClock,
    this.log,
  );

  // The languages of the texts, and the one that each person reads.
  readonly networks = networksOf(this.config);
  readonly languageFiles = settingFiles.createLanguages({
    folder: path.join(this.home, 'languages'),
    watch: this.watch,
    writeCommand: this.networks.writeCommand,
    settings: () => [
      ...settingFiles.descriptionsOf(settingFiles.jsonSchema(this.fileSchema)).keys(),
      ...settingFiles.descriptionsOf(settingFiles.jsonSchema(profileSchema), PROFILE_SETTINGS).keys(),
    ],
    log: this.log,
  });
  readonly languages = intake.createPersonLanguages({
    languages: this.languageFiles,
    setting: () => this.now().language,
    chatSettings: this.store.chatSettings,
    ownerOf: async (session) => {
      const tokenId = (await this.ledger.session(session))?.ownerTokenId;
      return tokenId === undefined ? undefined : `token:${tokenId}`;
    },
    monotonicNow,
  });

  /** What most modules use. */
  readonly common = {
    ledger: this.ledger,
    bus: this.bus,
    events: this.events,
    languages: this.languages,
    metered: this.budgets.metered,
    log: this.log,
    monotonicNow,
    epochNow: Date.now,
  };

  // Delivery to the channels.
  readonly files = tools.createSessionFiles(
    path.join(this.workspace, 'sessions'),
    this.log,
    this.store.files,
  );
  readonly outgoing = tools.createOutgoingFiles(this.files, media.fileTypeOf, (file) =>
    this.store.keptFiles.keep(file),
  );
  readonly followMigration = intake.createFollowChatMigration(this, this.channelAccess);
  readonly dropSurface = intake.createDropSurface(this.store.surfaces, this, this.networks.labelOf, this.log);
  readonly delivery = delivery.createDelivery({
    ...this.common,
    channels: this.channels,
    surfaces: this.store.surfaces,
    dropSurface: this.dropSurface,
    lanes: this.store.lanes,
    plans: this.store.plans,
    say: (to) => this.languages.say(to),
    files: this.outgoing,
    streamModes: delivery.createStreamModes(this.channels, this.store.chatSettings, this.log),
    followMigration: this.followMigration,
  });
  readonly post = delivery.createPost(this.store.posts, this.bus, this.channels);

  // Files of messages and speech.
  readonly media = media.createMedia({
    ...this.common,
    channels: this.channels,
    files: this.files,
    keptFiles: this.store.keptFiles,
    settings: this.config.media,
    transcriber:
      this.config.transcription &&
      media.createTranscriber({
        settings: this.config.transcription,
        apiKey: this.config.env.TRANSCRIPTION_API_KEY,
        metered: this.budgets.metered,
        log: this.log,
      }),
  });
  readonly speech = media.createSpeech({
    ...this.common,
    settings: () => this.now().speech,
    service: security.createServiceFetch(),
    lanes: this.store.lanes,
    files: this.files,
    fileTypeOf: media.fileTypeOf,
    keptFiles: this.store.keptFiles,
    // However many messages the turn has sent, its speech is one more.
    post: delivery.createPost(this.store.posts, this.bus, this.channels, MAX_POSTS + 1),
  });

  // What starts turns that no person asked for, with the rights of its creator.
  readonly sendSystemMessage = intake.createSendSystemMessage(this.ledger, this.bus, this.events);
  readonly creatorAccess = security.createCreatorAccess({
    access: this.store.access,
    ledger: this.ledger,
    channelAccess: this.channelAccess,
    surfaces: this.store.surfaces,
  });
  readonly hooks = intake.createHooks({
    ...this.common,
    hooks: () => this.now().hooks,
    sendSystemMessage: this.sendSystemMessage,
    creatorAccess: this.creatorAccess,
    store: this.store,
  });
  readonly scheduling = createScheduling({
    ...this.common,
    store: this.store.schedules,
    sendSystemMessage: this.sendSystemMessage,
    creatorAccess: this.creatorAccess,
    settings: partOf(this.settings, (config) => ({ limits: config.schedules, ...clockOf(config) })),
  });

  // Models and profiles.
  readonly profiles = agent.createProfiles({
    folder: path.join(this.home, 'profiles'),
    readJson: settingFiles.readJson,
    watch: this.watch,
    log: this.log,
  });
  readonly provider = this.servers.provider;
  readonly models = agent.createModels({
    provider: this.provider,
    profiles: () => this.profiles.list(),
    model: this.servers.model,
    usualServer: this.servers.usual,
    named: () =>
      this.now().bindings.flatMap(({ model }, at) =>
        model === undefined ? [] : [{ place: `config.json: bindings.${at}.model`, model }],
      ),
    choices: this.store.choices,
    log: this.log,
  });
  readonly memory = createMemory({
    ...this.common,
    memories: this.store.memories,
    vectors: this.store.memoryVectors,
    embed: (request, signal) => this.provider.embed(request, signal),
    model: () => this.now().memory.embeddingModel,
  });

  // Tools: those that are built in or added by the program, and those of MCP servers, which come and go.
  readonly sandbox = tools.createSandbox({ home: this.home, hidden: [this.workspace] });
  /** It may reach its service anywhere, because the operator has named it. */
  readonly search = partOf(
    this.settings,
    ({ search }) =>
      search &&
      tools.createSearch(search, security.createEgress({ allow: [new URL(search.baseUrl).origin] })),
  );
  readonly ownTools = tools.createTools(
    {
      ...this.store,
      egress: security.createEgress({
        allow: this.options.reachable ?? [],
        ports: () => this.now().tools.ports,
        limits: { wireBytes: tools.MAX_FETCHED_BYTES, decodedBytes: tools.MAX_FETCHED_BYTES },
      }),
      search: () => this.search.current(),
      sandbox: () => (this.now().tools.exec ? this.sandbox : undefined),
      memories: this.memory.memories,
      profiles: {
        profiles: () => this.profiles.list(),
        isOwner: (userId) => this.accessPolicy.isOwner(userId),
        check: (id, signal) => this.models.checkProfile(id, signal),
        setProfile: (session, profileId) => this.ledger.updateSession(session, { profileId }),
      },
      schedules: this.scheduling.schedules,
      post: this.post,
      findChat: intake.createFindChat({
        ...this.store,
        ...this.common,
        creatorAccess: this.creatorAccess,
        labelOf: this.networks.labelOf,
      }),
      keepFile: (folder, file) => this.outgoing.keep(folder, file),
      documentText: this.media.documentText,
    },
    this.options.tools,
  );
  readonly mcp = mcp.createMcp({
    settings: partOf(this.settings, ({ mcpServers }) => mcpServers),
    version: packageFile.version,
    environment: this.config.environment,
    folder: path.join(this.home, 'mcp'),
    service: security.createServiceFetch(),
    logins: mcp.createLogins(mcp.loginsFolder(this.home), settingFiles.writeWhole, this.options.redact.learn),
    watch: this.watch,
    keepFile: this.media.keepToolFile,
    save: (status) => this.store.mcp.saveMcpStatus(this.store.instance, status),
    log: this.log,
  });

  // The agent, which takes turns once the bus delivers them.
  readonly agent = agent.createAgent({
    stores: { ...this.store, ...this.settling, ledger: this.ledger, memories: this.memory.memories },
    media: {
      files: this.files,
      receiveFiles: this.media.receive,
      pictures: this.media.pictures,
      readInline: this.media.readInline,
      answerFiles: delivery.createAnswerFiles((folder, file) => this.outgoing.keep(folder, file)),
    },
    chats: {
      events: this.events,
      live: this.delivery.live,
      post: this.post,
      mirrorQuestion: intake.createMirrorQuestion(this, this.networks.labelOf),
      languages: this.languages,
    },
    background: this.bus,
    ownerChats: security.createOwnerChats(this),
    isOwner: (userId) => this.accessPolicy.isOwner(userId),
    budgets: this.budgets,
    provider: this.provider,
    embed: (request, signal) => this.provider.embed(request, signal),
    models: this.models,
    tools: tools.withChangingTools(this.ownTools, tools.joinTools(this.mcp.tools, this.plugins.tools), () => {
      const { tools, search } = this.now();
      return { exec: tools.exec, searches: search !== undefined };
    }),
    log: this.log,
    redact: this.options.redact,
    profiles: () => this.profiles.list(),
    workspaceDir: this.workspace,
    environmentNote: { epochNow: Date.now, channelLabel: this.networks.labelOf },
    settings: partOf(this.settings, (config) => ({
      limits: limitsOf(config),
      timeZone: zoneOf(config),
      afterTurn: config.afterTurn,
      speaks: config.speech !== undefined,
    })),
    traces: this.traces,
  });

  // Events of the gateway, posted to the addresses of the settings.
  readonly webhooks = delivery.createWebhooks({
    ...this.common,
    webhooks: () => this.now().webhooks,
    store: this.store.webhooks,
    lanes: this.store.lanes,
    egressOf: ({ url, private: isPrivate }) => security.egressTo(url, isPrivate),
  });

  readonly push = delivery.createPush({ ...this.common, store: this.store, egressOf: security.egressTo });

  // What comes in: `receive`, the commands and approvals; and which node receives for a bot.
  readonly reports = {
    profileErrors: () => this.profiles.errors(),
    mcp: () => this.mcp.status(),
    plugins: () => this.plugins.status(),
    settings: () => this.settings.report(),
  };
  readonly boundTo: BoundTo = (call) => intake.bindingOf(this.now().bindings, call);
  readonly intake = intake.createIntake({
    ...this.common,
    store: { ...this.store, memories: this.memory.memories },
    settings: this.settings,
    accessPolicy: this.accessPolicy,
    profiles: () => this.profiles.list(),
    models: this.models,
    boundTo: this.boundTo,
    agent: this.agent,
    linking: { ...this.networks, dropSurface: this.dropSurface },
    channels: this.channels,
    status: {
      ...this.reports,
      webhooks: () => this.webhooks.waiting(),
      channelNotices: () => [...this.channels.values()].flatMap((channel) => channel.health().notice ?? []),
    },
    noteRefusal: (refusal) => {
      this.meters.refused(refusal);
      this.refusals.note(refusal);
    },
    noteWaiting: (question) => this.delivery.noteWaiting(question),
    commands: [
      ...agent.createProfileCommands(this),
      ops.createUsageCommand(this.store.usage, this.prices, Date.now, this.budgets),
      ops.createWhyCommand(this.traces, this.refusals),
      this.speech.command,
      delivery.createStreamCommand(this.channels, this.store.chatSettings),
      delivery.createRichCommand(this.channels, this.store.chatSettings),
      ...this.scheduling.commands,
      ...this.mcp.commands(async (session) =>
        this.models.profile((await this.ledger.session(session))?.profileId),
      ),
    ],
  });
  readonly receive = this.intake.receive;
  readonly leader = intake.createLeader({
    ...this.common,
    channels: this.channels,
    lanes: this.store.lanes,
    receive: this.receive,
  });

  // Operation.
  readonly lifecycle = createLifecycle(this.log);
  readonly backups = openDailyBackups(this.settings, this.store, this.log, this.options.clock);
  readonly health = ops.createHealth({
    ...this.common,
    version: packageFile.version,
    demo: this.options.demo ?? false,
    models: (signal) => this.models.report(signal),
    replaced: () => this.models.fallbacks.replaced(),
    omissions: () => this.models.omissions(),
    channels: (say) =>
      ops.channelHealth(this.now().channels, this.channels, (channel) => this.leader.health(channel), say),
    isReady: () => this.lifecycle.ready,
    fanout: this.fanout,
    ...this.reports,
  });
  readonly metrics = ops.createMetrics(this);

  // What channels may ask of the gateway.
  readonly api: GatewayApi = {
    ...intake.createGatewayApi(this.intake, {
      agent: this.agent,
      storage: {
        files: this.files,
        keptFiles: this.store.keptFiles,
        limits: media.fileLimitsOf(this.config.media),
        personLimit: media.personLimitOf(this.config.media),
        typeOf: media.fileTypeOf,
      },
      schedules: this.scheduling.schedules,
      prices: this.prices,
      budgets: this.budgets,
      explainTurn: (turnId, detail, say) => this.traces.explain(turnId, detail, say),
      channels: this.channels,
      tools: this.ownTools,
      ownerChats: security.createOwnerChats(this),
    }),
    turnConcurrency: this.config.turns.concurrency,
    signIns: security.createSignInApi(this.store.signIns, this.store.access, () => this.now().proxySignIn, {
      channels: this.channels,
      mayWrite: (message) => this.accessPolicy.mayWrite(message),
    }),
    responses: this.store.responses,
    hooks: this.hooks,
    push: this.push.api,
    audio: { ...this.media.recordings, speak: this.speech.speak },
    chatMoved: this.followMigration,
    serveMcp: mcp.createServeMcp(packageFile.version),
    noteRequest: (request) => this.meters.request(request),
    health: (say) => this.health.report(say),
    metrics: sharedMetrics(() => this.metrics.text()),
    administration: {
      ...security.administerAccess(this.store.access, this.config.manifests, this.channelAccess, this.log),
      ...security.administerTokens(this.store.access, this.log),
      ...ops.createMaintenance(this.store, () => this.bus.sweepSoon(), path.resolve(this.home)),
      ...settingFiles.administerConfig(
        editableConfig(this.config.environment),
        this.fileSchema,
        Object.keys(environmentSchemaFor(this.config.manifests).shape),
        this.settings,
        this.log,
      ),
      ...administerChannels(this, workerInstance() !== undefined),
      ...agent.createProfileFiles({
        folder: path.join(this.home, 'profiles'),
        profiles: this.profiles,
        readJson: settingFiles.readJson,
        edited: settingFiles.editedText,
        write: settingFiles.writeWhole,
        schema: (texts) =>
          settingFiles.describedIn(settingFiles.jsonSchema(profileSchema), texts, PROFILE_SETTINGS),
        log: this.log,
      }),
    },
    settings: () => ({ ...this.settings.report(), ...this.now().source }),
  };

  /** What a channel is created with. */
  readonly depsOf = (name: string): ChannelDeps => ({
    gateway: this.api,
    access: () => this.channelAccess(name),
    owners: () => security.ownersOf(this.store.access, this.channelAccess, name),
    connections: this.store.connections,
    updates: this.store.updates,
    chatSettings: this.store.chatSettings,
    keys: this.store.keys,
    languages: this.languages,
    openPlugin: (plugin, deps) => this.plugins.openChannel(plugin, deps, this.receive),
    log: this.log.child({ channel: name }),
  });
}
