/**
 * The second part of the composition root: models, profiles, tools, the agent, and the schedules that start turns on
 * their own.
 */
import path from 'node:path';
import { createAgent, createModels, createProfiles } from './agent/index.ts';
import { type AgentParts, openMcp, openProfiles, openTools } from './agent-tools.ts';
import { clockOf, limitsOf, zoneOf } from './config-views.ts';
import type { Config } from './config.ts';
import { MAX_POSTS } from './protocol/delivery.ts';
import type { Log } from './protocol/log.ts';
import { partOf, type Settings, type WatchFolders } from './protocol/settings.ts';
import type { Tool } from './protocol/agent/tool.ts';
import { createAnswerFiles, createPost, createWebhooks } from './delivery/index.ts';
import { createMemory } from './memory/index.ts';
import { createMirrorQuestion, createHooks, createSendSystemMessage } from './intake/index.ts';
import { createMedia, createSpeech, createTranscriber, fileTypeOf } from './media/index.ts';
import { openModelServers } from './providers/index.ts';
import { createScheduling } from './schedule/index.ts';
import { createCreatorAccess, createEgress, createServiceFetch } from './security/index.ts';
import { readJson, watchFolders } from './settings/index.ts';
import type { Redactor } from './ops/index.ts';
import type { HomeStore } from './store/index.ts';
import { withChangingTools } from './tools/index.ts';
import type { Security, Transport } from './transport.ts';

/** Posts to public addresses only, unless the operator says that the receiver is private. */
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

/** Models, profiles, tools and the agent, and the schedules that start turns on their own. */
export async function openAgentRuntime(
  settings: Settings<Config>,
  { log, tools: newTools = [], reachable = [], redact }: RuntimeOptions,
  foundations: { store: HomeStore; security: Security; transport: Transport },
) {
  const parts = { settings, log, ...foundations };
  const watch: WatchFolders = (onChange) => watchFolders(onChange, log);
  const media = openMedia(parts);
  const { creatorAccess, hooks, scheduling } = openStarters(parts);
  const { profiles, provider, models, modelProblem } = await openModels(parts, watch);
  const memory = openMemory(parts, provider);
  const speech = openSpeech(parts);
  const { memories } = memory;
  const reached = { memories, schedules: scheduling.schedules, models, profiles, creatorAccess, media };
  const tools = openTools(parts, reached, { added: newTools, reachable });
  const mcp = openMcp(parts, media.keepToolFile, { watch, learnSecrets: redact.learn });
  await openProfiles(settings, profiles, { tools, added: newTools, modelProblem });
  const allTools = withChangingTools(tools, mcp.tools, () => {
    const { tools: rules, search } = settings.current();
    return { exec: rules.exec, searches: search !== undefined };
  });
  const agent = openAgent(parts, { media, profiles, provider, models, memories, tools: allTools, redact });
  const webhooks = openWebhooks(parts);
  const { files } = foundations.transport;
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

/** Files of messages: fetched, read, and transcribed if a transcription server is set. */
function openMedia({ settings, log, store, transport }: AgentParts) {
  const { env, media, transcription } = settings.current();
  return createMedia({
    channels: transport.channels,
    files: transport.files,
    keptFiles: store.keptFiles,
    settings: media,
    transcriber:
      transcription && createTranscriber({ settings: transcription, apiKey: env.TRANSCRIPTION_API_KEY, log }),
    log,
    monotonicNow: () => performance.now(),
  });
}

/** What starts turns that no person asked for: schedules and hooks, with the rights of their creators. */
function openStarters({ settings, log, store, security, transport }: AgentParts) {
  const { ledger, bus, events } = transport;
  const sendSystemMessage = createSendSystemMessage(ledger, bus, events);
  const creatorAccess = createCreatorAccess({
    access: store.access,
    ledger,
    channelAccess: security.channelAccess,
    surfaces: store.surfaces,
  });
  const hooks = createHooks({
    hooks: () => settings.current().hooks,
    sendSystemMessage,
    creatorAccess,
    ledger,
    posts: store.posts,
    events,
    log,
    epochNow: () => Date.now(),
  });
  const scheduling = createScheduling({
    store: store.schedules,
    ledger,
    events,
    log,
    sendSystemMessage,
    creatorAccess,
    languages: transport.languages,
    settings: partOf(settings, (now) => ({ limits: now.schedules, ...clockOf(now) })),
  });
  return { creatorAccess, hooks, scheduling };
}

/** The model servers, and which of their models answers under which profile. */
async function openModels({ settings, log, store, transport }: AgentParts, watch: WatchFolders) {
  const config = settings.current();
  const profiles = createProfiles({ folder: path.join(config.home, 'profiles'), readJson, watch, log });
  const { provider, model, usual, modelProblem } = await openModelServers(config, {
    loopDelayMs: () => transport.loop.recentMs(),
  });
  const namedModels = () =>
    settings
      .current()
      .bindings.flatMap(({ model: modelName }, at) =>
        modelName === undefined ? [] : [{ place: `config.json: bindings.${at}.model`, model: modelName }],
      );
  const models = createModels({
    provider,
    profiles: () => profiles.list(),
    model,
    usualServer: usual,
    named: namedModels,
    choices: store.choices,
    log,
  });
  return { profiles, provider, models, modelProblem };
}

type Provider = Awaited<ReturnType<typeof openModelServers>>['provider'];

/** The memory of users; made searchable again when the embedding model changes. */
function openMemory({ settings, log, store }: AgentParts, provider: Provider) {
  const memory = createMemory({
    memories: store.memories,
    vectors: store.memoryVectors,
    embed: (request, signal) => provider.embed(request, signal),
    model: () => settings.current().memory.embeddingModel,
    log,
    monotonicNow: () => performance.now(),
  });
  settings.subscribe((next) => {
    const isOther = next.memory.embeddingModel !== settings.current().memory.embeddingModel;
    return () => (isOther ? memory.refresh() : undefined);
  });
  return memory;
}

/** Spoken answers, if a speech server is set. */
function openSpeech({ settings, log, store, transport }: AgentParts) {
  return createSpeech({
    settings: () => settings.current().speech,
    service: createServiceFetch(),
    ledger: transport.ledger,
    lanes: store.lanes,
    files: transport.files,
    fileTypeOf,
    keptFiles: store.keptFiles,
    // However many messages the turn has sent, its speech is one more.
    post: createPost(store.posts, transport.bus, transport.channels, MAX_POSTS + 1),
    events: transport.events,
    languages: transport.languages,
    log,
  });
}

/** The parts that the agent runs turns with. */
interface UsedByAgent {
  models: ReturnType<typeof createModels>;
  memories: ReturnType<typeof openMemory>['memories'];
  tools: () => readonly Tool[];
  redact: Redactor;
  media: ReturnType<typeof createMedia>;
  profiles: ReturnType<typeof createProfiles>;
  provider: Provider;
}

/** The agent, which takes turns once the bus delivers them. */
function openAgent(
  { settings, log, store, security, transport }: AgentParts,
  { media, profiles, provider, models, memories, tools, redact }: UsedByAgent,
) {
  const { ledger, bus, events, delivery, files, linking, outgoing } = transport;
  const { subagents, lanes, approvals, plans, contexts, todos } = store;
  const forTurns = partOf(settings, (now) => ({
    limits: limitsOf(now),
    timeZone: zoneOf(now),
    afterTurn: now.afterTurn,
    speaks: now.speech !== undefined,
  }));
  return createAgent({
    stores: { ledger, subagents, lanes, approvals, plans, memories, contexts, todos },
    media: {
      files,
      receiveFiles: media.receive,
      pictures: media.pictures,
      readInline: media.readInline,
      answerFiles: createAnswerFiles((folder, file) => outgoing.keep(folder, file)),
    },
    chats: {
      events,
      live: delivery.live,
      post: createPost(store.posts, bus, transport.channels),
      askedElsewhere: createMirrorQuestion(
        { ledger, bus, events, languages: transport.languages },
        linking.labelOf,
      ),
      languages: transport.languages,
    },
    background: { claimingNode: () => bus.claimingNode('agent'), run: (step) => bus.runHeads(step) },
    isOwner: (userId) => security.accessPolicy.isOwner(userId),
    provider,
    embed: (request, signal) => provider.embed(request, signal),
    models,
    tools,
    log,
    redact,
    profiles: () => profiles.list(),
    workspaceDir: path.join(settings.current().home, 'workspace'),
    environmentNote: { epochNow: Date.now, channelLabel: linking.labelOf },
    settings: () => forTurns.current(),
    traces: { ...transport.traces, noteAttempt: (id, attempt) => store.traces.noteAttempt(id, attempt) },
  });
}

/** Webhooks: events of the gateway, posted to the addresses of the settings. */
function openWebhooks({ settings, log, store, transport }: AgentParts) {
  return createWebhooks({
    webhooks: () => settings.current().webhooks,
    store: store.webhooks,
    lanes: store.lanes,
    bus: transport.bus,
    events: transport.events,
    egressOf: webhookEgress,
    epochNow: () => Date.now(),
    log,
  });
}
