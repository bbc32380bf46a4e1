/** Checks of other programs: those of MCP servers. */
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import type { McpServerStatus } from '../../protocol/agent/tool.ts';
import type { Finding } from '../../protocol/channel.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';

/** A server of `config.json`; `command` is absent for one with an address. */
export interface CheckedServer {
  name: string;
  command: string | undefined;
  cwd: string | undefined;
}

/**
 * For each server: whether its program exists, and what the running gateway reports about it. `searchPath` is the
 * variable PATH. Never throws.
 */
export function mcpFindings(
  servers: readonly CheckedServer[],
  reported: readonly McpServerStatus[],
  searchPath: string,
): Finding[] {
  return servers.map(({ name, command, cwd }) => {
    const subject = 'MCP';
    if (command !== undefined && !isProgram(command, cwd, searchPath)) {
      const remedy = `install ${command}, or correct mcp.servers.${name}.command in config.json`;
      return { subject, level: 'error', text: `${name}: there is no program ${command}.`, remedy };
    }
    const status = reported.find((known) => known.name === name);
    if (status === undefined)
      return { subject, level: 'ok', text: `${name}: tried when the gateway starts.` };
    if (status.state === 'down') {
      const text = `${name} is down: ${status.error ?? 'no reason is known'}`;
      return { subject, level: 'error', text, remedy: `${PARLEY} mcp` };
    }
    return { subject, level: 'ok', text: `${name}: ${status.state}, ${status.tools.length} tools.` };
  });
}

function isProgram(command: string, cwd: string | undefined, searchPath: string): boolean {
  const places = command.includes('/')
    ? [path.resolve(cwd ?? '.', command)]
    : searchPath.split(path.delimiter).map((folder) => path.join(folder, command));
  return places.some((place) => {
    try {
      accessSync(place, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
