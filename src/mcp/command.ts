/** `parley mcp`: the servers of the gateways that are running, as of their last report. */
import { GatewayError } from '../protocol/errors.ts';
import type { McpServerStatus, McpStatusStore } from '../protocol/agent/tool.ts';
import { escapeControls } from '../lib/text.ts';
import { PARLEY } from '../protocol/texts/parley.ts';

/** Maximum number of tool names on one line. */
const TOOLS_SHOWN = 20;

/** Lists the servers, their tools and last errors. Throws `GatewayError('usage')` for arguments, and `StoreError`. */
export async function mcpCommand(
  store: McpStatusStore,
  configured: readonly string[],
  rest: readonly string[],
): Promise<string> {
  if (rest.length > 0) throw new GatewayError('usage', `"${PARLEY} mcp" takes no arguments.`);
  const reports = await store.mcpStatus();
  if (reports.length === 0) {
    const names = configured.length === 0 ? 'none' : configured.join(', ');
    return `No gateway is running with this home and database. Servers in config.json: ${names}.`;
  }
  return reports
    .map(({ instance, servers }) => {
      const title = reports.length === 1 ? [] : [`Gateway ${instance}:`];
      const lines = servers.length === 0 ? ['No MCP servers are configured.'] : servers.flatMap(serverLines);
      return [...title, ...lines].join('\n');
    })
    .join('\n\n');
}

function serverLines({ name, state, trusted, tools, prompts, error, notices }: McpServerStatus): string[] {
  const names = tools.slice(0, TOOLS_SHOWN).join(', ');
  const more = tools.length > TOOLS_SHOWN ? ` and ${tools.length - TOOLS_SHOWN} more` : '';
  return [
    `${name}: ${state}${trusted ? ', trusted' : ''}, ${tools.length} tools`,
    ...(tools.length === 0 ? [] : [`  tools: ${names}${more}`]),
    ...(prompts.length === 0 ? [] : [`  prompts: ${prompts.join(', ')}`]),
    ...(error === undefined ? [] : [`  last error: ${error}`]),
    ...notices.map((notice) => `  ${notice}`),
  ].map(escapeControls);
}
