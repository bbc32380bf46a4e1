/** The second part of the composition root: models, profiles, tools, the agent, and the schedules that start turns by themselves. */
import path from 'node:path';
import packageFile from '../package.json' with { type: 'json' };
import { builtInProfiles, createAgent, createModels, createProfiles } from './agent/index.ts';
import { clockOf, limitsOf, zoneOf } from './config-views.ts';
import type { Config } from './config.ts';
import { MAX_POSTS } from './contracts/delivery.ts';
import type { Log } from './contracts/log.ts';
import { partOf } from './contracts/settings.ts';
import type { Settings, WatchFolders } from './contracts/settings.ts';
import type { Tool } from './contracts/tools/tool.ts';
import { createAnswerFiles, createPost, createWebhooks } from './delivery/index.ts';
import { createMemory } from './memory/index.ts';
import { createLogins, createMcp, loginsFolder } from './mcp/index.ts';
import { ConfigError } from './contracts/errors.ts';
import {
  createAskedElsewhere,
  createFindChat,
  createHooks,
  createSendSystemMessage,
  unknownBoundProfiles,
} from './intake/index.ts';
import { createMedia, createSpeech, createTranscriber, fileTypeOf } from './media/index.ts';
import { openModelServers } from './providers/index.ts';
import { createScheduling } from './schedule/index.ts';
import { createCreatorAccess, createEgress, createServiceFetch } from './security/index.ts';
import { readJson, watchFolders, writeWhole } from './settings/index.ts';
import type { Redactor } from './ops/index.ts';
import type { HomeStore } from './store/open-store.ts';
import {
  canWork,
  createSandbox,
  createSearch,
  createTools,
  enabledTools,
  MAX_FETCHED_BYTES,
  mayBeMcpTool,
  withChangingTools,
} from './tools/index.ts';
import type { SearchSettings } from './tools/web/search/services.ts';
import type { Security, Transport } from './transport.ts';

/** The search of these settings; it reaches its service wherever that is, because the operator has named it. */
function searchOf(settings: SearchSettings) {
  return createSearch(settings, createEgress({ allow: [new URL(settings.baseUrl).origin] }));
}

/** Posts to public addresses only, unless the operator says that the receiver is a private one. */
function webhookEgress({ url, private: isPrivate }: { url: string; private: boolean }) {
  const { origin } = new URL(url);
  return createEgress(isPrivate ? { allow: [origin] } : { posts: [origin] });
}

export type AgentRuntime = Awaited<ReturnType<typeof openAgentRuntime>>;

/** What a program that starts a gateway adds to it. */
interface RuntimeOptions {
  log: Log;
  redact: Redactor;
  tools?: readonly Tool[];
  reachable?: readonly string[];
}

/** Models, profiles, tools and the agent, and the schedules that start turns by themselves. */
export async function openAgentRuntime(
  settings: Settings<Config>,
  { log, tools: added = [], reachable = [], redact }: RuntimeOptions,
  { store, security, transport }: { store: HomeStore; security: Security; transport: Transport },
) {
  const config = settings.current();
  const { env, home } = config;
  const { ledger, bus, events, delivery, files } = transport;
  const { languages } = transport.linking;
  const { accessPolicy, channelAccess } = security;
  const workspaceDir = path.join(home, 'workspace');
  const media = createMedia({
    channels: transport.channels,
    files,
    keptFiles: store.keptFiles,
    settings: config.media,
    transcriber:
      config.transcription &&
      createTranscriber({ settings: config.transcription, apiKey: env.TRANSCRIPTION_API_KEY, log }),
    log,
    monotonicNow: () => performance.now(),
  });
  const announce = createSendSystemMessage({ ledger, bus, events });
  const standing = createCreatorAccess({
    access: store.access,
    ledger,
    channelAccess,
    surfaces: store.surfaces,
  });
  const hooks = createHooks({
    hooks: () => settings.current().hooks,
    announce,
    standing,
    ledger,
    log,
    now: () => Date.now(),
  });
  const scheduling = createScheduling({
    store: store.schedules,
    ledger,
    events,
    log,
    announce,
    standing,
    languages,
    settings: partOf(settings, (now) => ({ limits: now.schedules, ...clockOf(now) })),
  });
  const watch: WatchFolders = (changed) => watchFolders(changed, log);
  const profiles = createProfiles({ folder: path.join(home, 'profiles'), readJson, watch, log });
  const listProfiles = () => profiles.list();
  const { provider, model, usual, modelProblem } = await openModelServers(config);
  const models = createModels({
    provider,
    profiles: listProfiles,
    model,
    usualServer: usual,
    named: () =>
      settings
        .current()
        .bindings.flatMap(({ model: bound }, at) =>
          bound === undefined ? [] : [{ place: `config.json: bindings.${at}.model`, model: bound }],
        ),
    choices: store.choices,
    log,
  });
  const { subagents, lanes, approvals, plans, contexts, todos, scratchpad } = store;
  const memory = createMemory({
    memories: store.memories,
    vectors: store.memoryVectors,
    provider,
    model: () => settings.current().memory.embeddingModel,
    log,
    monotonicNow: () => performance.now(),
  });
  const { memories } = memory;
  settings.subscribe((next) => {
    const isOther = next.memory.embeddingModel !== settings.current().memory.embeddingModel;
    return () => (isOther ? memory.refresh() : undefined);
  });
  const sandbox = createSandbox({ home, hidden: [workspaceDir] });
  const post = createPost(store.posts, bus, transport.channels);
  const speech = createSpeech({
    settings: () => settings.current().speech,
    service: createServiceFetch(),
    ledger,
    lanes: store.lanes,
    files,
    fileTypeOf,
    keptFiles: store.keptFiles,
    // However many messages the turn has sent, its speech is one more.
    post: createPost(store.posts, bus, transport.channels, MAX_POSTS + 1),
    events,
    languages,
    log,
  });
  const search = partOf(settings, (now) => now.search && searchOf(now.search));
  const builtIn = {
    egress: createEgress({
      allow: reachable,
      ports: () => settings.current().tools.ports,
      limits: { wireBytes: MAX_FETCHED_BYTES, decodedBytes: MAX_FETCHED_BYTES },
    }),
    search: () => search.current(),
    sandbox: () => (settings.current().tools.exec ? sandbox : undefined),
    memories,
    todos,
    scratchpad,
    profiles: {
      profiles: listProfiles,
      isOwner: (userId: string) => accessPolicy.isOwner(userId),
      check: (id: string, signal: AbortSignal) => models.checkProfile(id, signal),
      ledger,
    },
    schedules: scheduling.schedules,
    post,
    findChat: createFindChat({ ...transport.linking, ledger, standing }),
    outgoing: transport.outgoing,
    documentText: media.documentText,
  };
  const tools = createTools(builtIn, added);
  const mcp = createMcp({
    settings: partOf(settings, (now) => now.mcpServers),
    version: packageFile.version,
    environment: config.environment,
    folder: path.join(home, 'mcp'),
    service: createServiceFetch(),
    logins: createLogins({ folder: loginsFolder(home), write: writeWhole, learnSecrets: redact.learn }),
    watch,
    keepFile: media.keepToolFile,
    save: (status) => store.mcp.saveMcpStatus(store.instance, status),
    log,
  });
  const profileRules = (now: Config) => {
    const servers = now.mcpServers.map(({ name }) => name);
    const searches = now.search !== undefined;
    const named = now.tools.enabled;
    return {
      ...builtInProfiles(
        { persona: now.persona, enabledTools: enabledTools({ named, tools, added, servers, searches }) },
        (name) => canWork(tools, name, { exec: now.tools.exec, searches }),
      ),
      toolNames: tools.map((tool) => tool.name),
      mayCome: (name: string) => mayBeMcpTool(name, servers),
      modelProblem,
    };
  };
  await profiles.open(profileRules(config));
  const checkBindings = ({ bindings }: Config): void => {
    const ids = profiles.list().map(({ id }) => id);
    const unknown = unknownBoundProfiles(bindings, ids);
    if (unknown.length > 0) throw new ConfigError('bad_config', `config.json: ${unknown.join('; ')}.`);
  };
  checkBindings(config);
  settings.subscribe((next) => {
    checkBindings(next);
    return () => undefined;
  });
  settings.subscribe((next) => profiles.prepare(profileRules(next)));
  const forTurns = partOf(settings, (now) => ({
    limits: limitsOf(now),
    timeZone: zoneOf(now),
    afterTurn: now.afterTurn,
    speaks: now.speech !== undefined,
  }));
  const tables = { subagents, lanes, approvals, plans, memories, contexts, todos };
  const agent = createAgent({
    ...tables,
    ledger,
    background: { claimingNode: () => bus.claimingNode('agent'), run: (step) => bus.runHeads(step) },
    isOwner: (userId) => accessPolicy.isOwner(userId),
    events,
    languages,
    live: delivery.live,
    provider,
    embedder: provider,
    models,
    tools: withChangingTools(tools, {
      more: mcp.tools,
      searches: () => settings.current().search !== undefined,
    }),
    log,
    redact,
    profiles: listProfiles,
    workspaceDir,
    surroundings: {
      now: Date.now,
      channelLabel: transport.linking.labelOf,
    },
    files,
    settings: () => forTurns.current(),
    receiveFiles: media.receive,
    pictures: media.pictures,
    readInline: media.readInline,
    answerFiles: createAnswerFiles(transport.outgoing),
    askedElsewhere: createAskedElsewhere({ ...transport.linking, ledger, bus }),
    post,
    traces: { ...transport.traces, noteAttempt: (id, attempt) => store.traces.noteAttempt(id, attempt) },
  });
  const webhooks = createWebhooks({
    webhooks: () => settings.current().webhooks,
    store: store.webhooks,
    lanes: store.lanes,
    bus,
    events,
    egressOf: webhookEgress,
    now: () => Date.now(),
    log,
  });
  return {
    agent,
    models,
    provider,
    profiles,
    scheduling,
    files,
    mcp,
    media,
    memory,
    speech,
    hooks,
    webhooks,
  };
}
