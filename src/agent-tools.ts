/** What the agent may use: built-in tools, added ones and those of MCP servers, and the profiles that enable them. */
import path from 'node:path';
import packageFile from '../package.json' with { type: 'json' };
import { builtInProfiles, type createModels, type createProfiles } from './agent/index.ts';
import type { Config } from './config.ts';
import { ConfigError } from './protocol/errors.ts';
import type { Log } from './protocol/log.ts';
import type { SessionKey } from './protocol/message.ts';
import type { Schedules } from './protocol/schedules.ts';
import { partOf, type Settings, type WatchFolders } from './protocol/settings.ts';
import type { Tool } from './protocol/agent/tool.ts';
import { createPost } from './delivery/index.ts';
import { createFindChat, unknownBoundProfiles } from './intake/index.ts';
import { createLogins, createMcp, loginsFolder } from './mcp/index.ts';
import type { createMedia } from './media/index.ts';
import { type createCreatorAccess, createEgress, createServiceFetch } from './security/index.ts';
import { writeWhole } from './settings/index.ts';
import type { HomeStore } from './store/index.ts';
import {
  canWork,
  createSandbox,
  createSearch,
  createTools,
  enabledTools,
  MAX_FETCHED_BYTES,
  mayBeMcpTool,
} from './tools/index.ts';
import type { SearchSettings } from './tools/web/search/services.ts';
import type { Security, Transport } from './transport.ts';

/** What every part of the agent is made from. */
export interface AgentParts {
  settings: Settings<Config>;
  log: Log;
  store: HomeStore;
  security: Security;
  transport: Transport;
}

/** The parts that tools reach. */
interface ReachedByTools {
  memories: Parameters<typeof createTools>[0]['memories'];
  schedules: Schedules;
  models: ReturnType<typeof createModels>;
  profiles: ReturnType<typeof createProfiles>;
  creatorAccess: ReturnType<typeof createCreatorAccess>;
  media: ReturnType<typeof createMedia>;
}

/** The search of these settings; it may reach its service anywhere, because the operator has named it. */
function searchOf(settings: SearchSettings) {
  return createSearch(settings, createEgress({ allow: [new URL(settings.baseUrl).origin] }));
}

/**
 * The tools that are built in, and those `added` by the program. Addresses in `reachable` may be fetched even if they
 * are private.
 */
export function openTools(
  { settings, store, security, transport }: AgentParts,
  { memories, schedules, models, profiles, creatorAccess, media }: ReachedByTools,
  { added: newTools, reachable }: { added: readonly Tool[]; reachable: readonly string[] },
) {
  const { home } = settings.current();
  const { ledger, bus } = transport;
  const sandbox = createSandbox({ home, hidden: [path.join(home, 'workspace')] });
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
    todos: store.todos,
    scratchpad: store.scratchpad,
    profiles: {
      profiles: () => profiles.list(),
      isOwner: (userId: string) => security.accessPolicy.isOwner(userId),
      check: (id: string, signal: AbortSignal) => models.checkProfile(id, signal),
      setProfile: (session: SessionKey, profileId: string) => ledger.updateSession(session, { profileId }),
    },
    schedules,
    post: createPost(store.posts, bus, transport.channels),
    findChat: createFindChat(store.surfaces, ledger, creatorAccess, transport.linking.labelOf),
    keepFile: (folder: string, file: string) => transport.outgoing.keep(folder, file),
    documentText: media.documentText,
  };
  return createTools(builtIn, newTools);
}

/** Takes secrets that the log must not show from now on. */
type LearnSecrets = (secrets: readonly string[]) => void;

/** The MCP servers of the settings; they are started later. */
export function openMcp(
  { settings, store, log }: AgentParts,
  keepFile: ReturnType<typeof createMedia>['keepToolFile'],
  { watch, learnSecrets }: { watch: WatchFolders; learnSecrets: LearnSecrets },
) {
  const { home, environment } = settings.current();
  return createMcp({
    settings: partOf(settings, (now) => now.mcpServers),
    version: packageFile.version,
    environment,
    folder: path.join(home, 'mcp'),
    service: createServiceFetch(),
    logins: createLogins(loginsFolder(home), writeWhole, learnSecrets),
    watch,
    keepFile,
    save: (status) => store.mcp.saveMcpStatus(store.instance, status),
    log,
  });
}

/** What the profiles are checked against. */
interface ProfileChecks {
  tools: readonly Tool[];
  added: readonly Tool[];
  modelProblem: Parameters<ReturnType<typeof createProfiles>['open']>[0]['modelProblem'];
}

/** Opens the profiles under the settings as they are, and again whenever those change. Throws `ConfigError`. */
export async function openProfiles(
  settings: Settings<Config>,
  profiles: ReturnType<typeof createProfiles>,
  { tools, added: newTools, modelProblem }: ProfileChecks,
): Promise<void> {
  const rules = (now: Config) => {
    const servers = now.mcpServers.map(({ name }) => name);
    const searches = now.search !== undefined;
    const names = now.tools.enabled;
    return {
      ...builtInProfiles(
        {
          persona: now.persona,
          enabledTools: enabledTools({ named: names, tools, added: newTools, servers, searches }),
        },
        (name) => canWork(tools, name, { exec: now.tools.exec, searches }),
      ),
      toolNames: tools.map((tool) => tool.name),
      mayCome: (name: string) => mayBeMcpTool(name, servers),
      modelProblem,
    };
  };
  const checkBindings = ({ bindings }: Config): void => {
    const ids = profiles.list().map(({ id }) => id);
    const unknown = unknownBoundProfiles(bindings, ids);
    if (unknown.length > 0) throw new ConfigError('bad_config', `config.json: ${unknown.join('; ')}.`);
  };
  await profiles.open(rules(settings.current()));
  checkBindings(settings.current());
  settings.subscribe((next) => {
    checkBindings(next);
    return () => undefined;
  });
  settings.subscribe((next) => profiles.prepare(rules(next)));
}
