/** `parley mcp login NAME` and `parley mcp logout NAME`: sign in to an MCP server with a browser, and sign out. */
import type { Config } from '../config.ts';
import { GatewayError } from '../protocol/errors.ts';
import { createLogins, loginsFolder } from '../mcp/index.ts';
import { login, LOGIN_MS } from '../mcp/oauth/login.ts';
import { createServiceFetch } from '../security/index.ts';
import { writeWhole } from '../settings/index.ts';
import { openDialog } from './init/dialog.ts';
import { PARLEY } from '../protocol/texts/parley.ts';

/** Reads the arguments. Throws `GatewayError('usage')`; the command throws `GatewayError`. */
export function mcpLoginCommand(
  rest: readonly string[],
): (store: unknown, config: Config) => Promise<string> {
  const [verb, name, ...more] = rest;
  if (name === undefined || more.length > 0)
    throw new GatewayError(
      'usage',
      `Write "${PARLEY} mcp ${verb} NAME" with the name of a server of config.json.`,
    );
  return async (_store, { home, mcpServers }) => {
    const logins = createLogins(loginsFolder(home), writeWhole);
    if (verb === 'logout')
      return logins.remove(name) ? `Signed out of ${name}.` : `Nobody is signed in to ${name}.`;
    const url = addressOf(mcpServers, name);
    const service = createServiceFetch();
    const isTerminal = process.stdin.isTTY;
    const late = new AbortController();
    const tooLate = `Nobody signed in within ${LOGIN_MS / 60_000} minutes: run the command again.`;
    const timer = setTimeout(() => late.abort(new GatewayError('timeout', tooLate)), LOGIN_MS);
    const dialog = openDialog(isTerminal ? process.stdin : undefined, process.stdout);
    try {
      const say = (text: string): void => dialog.say(text);
      const ask = isTerminal ? (question: string) => dialog.ask(question, '') : undefined;
      const deps = { logins, request: service.request, say, ask };
      await login(deps, { name, url }, late.signal);
    } finally {
      clearTimeout(timer);
      dialog.close();
      await service.close();
    }
    return `Signed in to ${name}. A running gateway connects within seconds.`;
  };
}

/** Throws `GatewayError` that names the servers at which people sign in. */
function addressOf(servers: Config['mcpServers'], name: string): string {
  const all = servers.flatMap(({ name: serverName, connection }) =>
    connection.kind === 'http' ? [{ own: serverName, url: connection.url }] : [],
  );
  const server = all.find(({ own: serverName }) => serverName === name);
  if (server !== undefined) return server.url;
  const names = all.length === 0 ? 'none' : all.map(({ own: serverName }) => serverName).join(', ');
  throw new GatewayError(
    'unknown_server',
    `There is no server "${name.slice(0, 80)}" with a "url" in mcp.servers of config.json; those with one: ${names}.`,
  );
}
