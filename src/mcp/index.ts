/** The MCP client (the servers in config.json, their tools, and what people see of them), and the gateway as a server. */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { optionalModule } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import type { ServeMcp } from '../protocol/mcp-offer.ts';
import type { McpServerStatus, ServiceFetch, Tool } from '../protocol/agent/tool.ts';
import type { KeepToolFile } from '../protocol/media.ts';
import type { Command } from '../protocol/command.ts';
import type { FolderWatch, Settings, WatchFolders } from '../protocol/settings.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import type { Logins } from './oauth/logins.ts';
import { createPromptCommand, type ProfileOf } from './prompt-command.ts';
import { createResourceTools } from './resource-tools.ts';
import { isDeepStrictEqual } from 'node:util';
import type { McpServer } from './server.ts';
import type { McpServerSettings } from './settings.ts';

/** Servers in the order of the settings. Never throws. */
class ServerSet {
  readonly #create: (settings: McpServerSettings) => McpServer;
  readonly #log: Log;
  #servers: readonly McpServer[] = [];
  /** Servers that are closing, by name. The next one of that name starts afterwards: both may need the same files. */
  readonly #ending = new Map<string, Promise<void>>();
  #retired: readonly McpServer[] = [];
  #closed = false;

  /** `create` makes a server without starting it. */
  constructor(create: (settings: McpServerSettings) => McpServer, log: Log) {
    this.#create = create;
    this.#log = log;
  }

  get servers(): readonly McpServer[] {
    return this.#servers;
  }

  /** Makes these the servers from now on. A server with unchanged settings stays connected. */
  follow(settings: readonly McpServerSettings[]): void {
    if (this.#closed) return;
    const unchanged = this.#servers.filter((server) =>
      settings.some((next) => isDeepStrictEqual(next, server.settings)),
    );
    for (const server of this.#servers) {
      if (unchanged.includes(server)) continue;
      const isConfigured = settings.some(({ name }) => name === server.name);
      this.#retire(server, isConfigured ? 'changed' : 'removed');
    }
    this.#servers = settings.map((next) => {
      const current = unchanged.find(({ name }) => name === next.name);
      if (current !== undefined) return current;
      const server = this.#create(next);
      const ending = this.#ending.get(next.name);
      if (ending === undefined) server.start();
      else void ending.then(() => server.start());
      return server;
    });
  }

  /** Closes all of them, including those that are still waiting for their calls. */
  async close(): Promise<void> {
    this.#closed = true;
    const all = [...this.#servers, ...this.#retired];
    await Promise.all(all.map((server) => server.close()));
    await Promise.all(this.#ending.values());
  }

  #retire(server: McpServer, change: 'removed' | 'changed'): void {
    const { name } = server;
    const reason =
      change === 'removed'
        ? `The MCP server "${name}" was removed from config.json.`
        : `The settings of the MCP server "${name}" were changed, and it is reconnecting: try again in a moment.`;
    this.#log.info({ mcp: name, how: change }, 'mcp_server_retired');
    this.#retired = [...this.#retired, server];
    const ending = Promise.all([this.#ending.get(name), server.retire(reason)]).then(() => {
      this.#retired = this.#retired.filter((other) => other !== server);
      if (this.#ending.get(name) === ending) this.#ending.delete(name);
    });
    this.#ending.set(name, ending);
  }
}

export { createLogins } from './oauth/logins.ts';

/** Makes what answers clients; the protocol is loaded with their first request. */
export function createServeMcp(version: string): ServeMcp {
  return async (request, body, offer) => {
    const { serve } = await optionalModule(import('./serve.ts'), 'The MCP server');
    return await serve(version, request, body, offer);
  };
}

/** Where a home keeps its sign-ins to servers. */
export function loginsFolder(home: string): string {
  return path.join(home, 'mcp-logins');
}

/** Maximum number of tools of all servers together; model servers accept about this many per call. */
export const MAX_MCP_TOOLS = 100;

export interface McpOptions {
  /** The servers; a change connects and disconnects servers at once. */
  settings: Settings<readonly McpServerSettings[]>;
  version: string;
  /** The gateway's own variables, of which programs get a few. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Each program gets its own folder here, unless it has a `cwd`. */
  folder: string;
  service: ServiceFetch;
  logins: Logins;
  /** Reports new sign-ins. */
  watch: WatchFolders;
  /** Stores the pictures and sounds in results. */
  keepFile: KeepToolFile;
  log: Log;
  clock?: Clock;
  /** Saves the state of the servers, for the command line. */
  save(servers: readonly McpServerStatus[]): Promise<void>;
}

export interface Mcp {
  /** The current tools of all servers; the same list until one changes. */
  tools: () => readonly Tool[];
  status: () => readonly McpServerStatus[];
  /** `/prompt`, which is listed while there are servers. */
  commands(profileOf: ProfileOf): readonly Command[];
  /** Starts connecting to every server; returns at once. Never throws. */
  start(): void;
  /** Ends all connections. Never throws. */
  close(): Promise<void>;
}

/** Creates the client; before `start` nothing is connected, and with no server nothing of the protocol is loaded. */
export function createMcp(options: McpOptions): Mcp {
  const { settings, log, service } = options;
  let set: ServerSet | undefined;
  let tools: readonly Tool[] = [];
  let resourceTools: readonly Tool[] = [];
  let leftOut = 0;
  let starting: Promise<void> | undefined;
  const servers = () => set?.servers ?? [];
  const isOffered = () => settings.current().length > 0;
  const statuses = () => servers().map((server) => server.status);
  const status = (): readonly McpServerStatus[] => withLeftOut(statuses(), leftOut);
  const report = createReporter(() => options.save(status()), log);
  const refresh = (): void => {
    const all = servers().flatMap((server) => server.tools);
    leftOut = Math.max(0, all.length - MAX_MCP_TOOLS);
    if (resourceTools.length === 0 && servers().some(({ hasResources }) => hasResources)) {
      resourceTools = createResourceTools(servers());
    }
    const current = [...all.slice(0, MAX_MCP_TOOLS), ...resourceTools];
    if (current.length !== tools.length || current.some((tool, at) => tool !== tools[at])) tools = current;
    report();
  };
  const logins = followLogins(options, servers);
  const open = async (): Promise<void> => {
    set ??= await openSet(options, refresh);
    logins.start();
  };
  const follow = (next: readonly McpServerSettings[]): void => {
    set?.follow(next);
    // They name the servers, and are created again once one of these has resources.
    resourceTools = [];
    refresh();
  };
  settings.subscribe(async (next) => {
    await starting;
    if (next.length > 0) await open();
    return () => follow(next);
  });
  return {
    tools: () => tools,
    status,
    commands: (profileOf) => [createPromptCommand(servers, isOffered, profileOf)],
    start() {
      // Even if there are none: the previous report is no longer true.
      report();
      const first = settings.current();
      if (first.length === 0) return;
      starting ??= open()
        .then(() => follow(first))
        .catch((error: unknown) => log.error({ err: error }, 'mcp_start_failed'));
    },
    async close() {
      await starting;
      logins.close();
      await set?.close();
      await service.close();
    },
  };
}

/** Has the servers follow the sign-ins that the command line makes, from `start` on. */
function followLogins(
  { logins, watch }: McpOptions,
  servers: () => readonly ServerSet['servers'][number][],
): { start(): void; close(): void } {
  let watching: FolderWatch | undefined;
  return {
    start() {
      if (watching !== undefined) return;
      mkdirSync(logins.folder, { recursive: true, mode: 0o700 });
      watching = watch(() => {
        for (const server of servers()) server.followLogin();
      });
      watching.folders([logins.folder]);
    },
    close: () => watching?.close(),
  };
}

/** The set that creates the servers; loads the protocol. Throws `GatewayError('not_installed')`. */
async function openSet(
  { version, environment, folder, service, logins, keepFile, log, clock = systemClock }: McpOptions,
  onChanged: () => void,
): Promise<ServerSet> {
  const { McpServer } = await optionalModule(import('./server.ts'), 'mcp.servers');
  const shared = { version, environment, service, logins, keepFile, clock, onChanged };
  return new ServerSet((settings) => {
    const { name, connection } = settings;
    const serverFolder = path.join(folder, name);
    if (connection.kind === 'stdio') mkdirSync(serverFolder, { recursive: true, mode: 0o700 });
    return new McpServer({ ...shared, settings, folder: serverFolder, log: log.child({ mcp: name }) });
  }, log);
}

/** Saves after changes, one save at a time. The returned function never throws. */
function createReporter(save: () => Promise<void>, log: Log): () => void {
  let isUnsaved = false;
  let saving = false;
  const saveAll = async (): Promise<void> => {
    while (isUnsaved) {
      isUnsaved = false;
      await save();
    }
  };
  return () => {
    isUnsaved = true;
    if (saving) return;
    saving = true;
    saveAll()
      .catch((error: unknown) => log.warn({ err: error }, 'mcp_status_unsaved'))
      .finally(() => {
        saving = false;
      });
  };
}

/** The limit for all servers together removes tools from the last ones. */
function withLeftOut(all: readonly McpServerStatus[], leftOut: number): readonly McpServerStatus[] {
  let excess = leftOut;
  return all
    .toReversed()
    .map((status) => {
      const missing = Math.min(excess, status.tools.length);
      if (missing === 0) return status;
      excess -= missing;
      const notice = `${missing} tools are left out: all servers together may have ${MAX_MCP_TOOLS}; "tools" can choose which.`;
      const tools = status.tools.slice(0, status.tools.length - missing);
      return { ...status, tools, notices: [...status.notices, notice] };
    })
    .toReversed();
}
