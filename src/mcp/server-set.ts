/** The servers in the current settings: new ones are connected; removed and changed ones are closed after their calls. */
import { isDeepStrictEqual } from 'node:util';
import type { Log } from '../protocol/log.ts';
import type { McpServer } from './server.ts';
import type { McpServerSettings } from './settings.ts';

export interface ServerSetDeps {
  /** Creates a server without starting it. */
  create(settings: McpServerSettings): McpServer;
  log: Log;
}

/** Servers in the order of the settings. Never throws. */
export class ServerSet {
  readonly #deps: ServerSetDeps;
  #servers: readonly McpServer[] = [];
  /**
   * Servers that are closing, by name; the next server of that name starts afterwards, because both may need the same
   * files.
   */
  readonly #ending = new Map<string, Promise<void>>();
  #retired: readonly McpServer[] = [];
  #closed = false;

  constructor(deps: ServerSetDeps) {
    this.#deps = deps;
  }

  get servers(): readonly McpServer[] {
    return this.#servers;
  }

  /** Makes these the servers from now on. A server with unchanged settings stays connected. */
  follow(settings: readonly McpServerSettings[]): void {
    if (this.#closed) return;
    const before = new Map(this.#servers.map((server) => [server.name, server]));
    const isKept = ({ settings: now }: McpServer): boolean =>
      settings.some((next) => next.name === now.name && isDeepStrictEqual(next, now));
    for (const server of this.#servers) {
      if (isKept(server)) continue;
      const isGone = !settings.some(({ name }) => name === server.name);
      this.#retire(server, isGone ? 'removed' : 'changed');
    }
    this.#servers = settings.map((next) => {
      const known = before.get(next.name);
      if (known !== undefined && isKept(known)) return known;
      const server = this.#deps.create(next);
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

  #retire(server: McpServer, how: 'removed' | 'changed'): void {
    const { name } = server;
    const why =
      how === 'removed'
        ? `The MCP server "${name}" was removed from config.json.`
        : `The settings of the MCP server "${name}" were changed, and it is connected again: try again in a moment.`;
    this.#deps.log.info({ mcp: name, how }, 'mcp_server_retired');
    this.#retired = [...this.#retired, server];
    const ending = Promise.all([this.#ending.get(name), server.retire(why)]).then(() => {
      this.#retired = this.#retired.filter((other) => other !== server);
      if (this.#ending.get(name) === ending) this.#ending.delete(name);
    });
    this.#ending.set(name, ending);
  }
}
