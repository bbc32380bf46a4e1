/** What thinks: profiles, tools, the agent, and the tasks that come to it by the clock. */
import path from 'node:path';
import { createAgent, openProfiles } from './agent/index.ts';
import type { LaneRunner } from './contracts/bus.ts';
import { clockOf } from './config.ts';
import type { Config } from './config.ts';
import { createPost } from './delivery/index.ts';
import type { Ground } from './ground.ts';
import { createSendSystemMessage } from './intake/index.ts';
import { defaultProfile } from './contracts/profile.ts';
import { createScheduling } from './schedule/index.ts';
import { createEgress, createCreatorAccess } from './security/index.ts';
import type { Tool } from './contracts/tool.ts';
import { createSandbox, createTools, openWorkspace } from './tools/index.ts';
import type { ToolsOptions } from './tools/index.ts';

/** The mind, as `openMind` opens it. */
export type Mind = Awaited<ReturnType<typeof openMind>>;

/** Opens the mind; nothing runs yet. `added` are tools beside the house's own. Throws `GatewayError`. */
export async function openMind(ground: Ground, carrier: LaneRunner, added: readonly Tool[]) {
  const { config, log, store, ledger, events, channelAccess, gatekeeper } = ground;
  const { access } = store;
  const workspace = path.join(config.home, 'workspace');
  const scheduling = createScheduling({
    store: store.schedules,
    ledger,
    events,
    log,
    announce: createSendSystemMessage({ ledger, bus: carrier, events }),
    standing: createCreatorAccess({ access, ledger, channelAccess }),
    now: Date.now,
    ...clockOf(config),
  });
  const isOwner = (userId: string) => gatekeeper.isOwner(userId);
  const check = (id: string, signal: AbortSignal): Promise<void> => agent.checkProfile(id, signal);
  const switching = { profiles: () => profiles.list(), isOwner, check, ledger };
  const post = createPost(store.posts, carrier);
  const own = { ...store, profiles: switching, schedules: scheduling.schedules, post };
  const tools = [...toolsFor(config, own), ...added];
  const enabledTools = [...config.tools.enabled, ...added.map((tool) => tool.name)];
  const profiles = await openProfiles({
    folder: path.join(config.home, 'profiles'),
    usual: { ...defaultProfile(config.persona), enabledTools },
    toolNames: tools.map((tool) => tool.name),
    log,
  });
  const { provider, model, usual } = ground.models;
  const agent = createAgent({
    ...store,
    ledger,
    background: { claimingNode: () => carrier.claimingNode('agent'), run: carrier.run },
    events,
    live: ground.delivery.live,
    provider,
    tools,
    log,
    profiles: () => profiles.list(),
    model,
    usualServer: usual,
    workspaceDir: workspace,
    workspace: (session) => openWorkspace(path.join(workspace, 'sessions'), session),
    limits: {
      firstChunkMs: config.env.LLM_STREAM_FIRST_CHUNK_TIMEOUT * 1_000,
      chunkMs: config.env.LLM_STREAM_CHUNK_TIMEOUT * 1_000,
      approvalMs: config.approvals.expireMinutes * 60_000,
    },
  });
  return { agent, profiles, scheduling };
}

/** MessageChunker are read from public addresses only; the search service wherever the operator says it is. */
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
