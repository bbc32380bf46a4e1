/** What the gateway knows about its MCP servers: for people, health and the command line. */

/**
 * `connecting`: the first connection is being made; `up`; `down`: lost or refused, and tried again; `closed`: the gateway is
 * stopping.
 */
export type McpState = 'connecting' | 'up' | 'down' | 'closed';

/** One MCP server as it is now. */
export interface McpServerStatus {
  /** As in `mcp.servers` of config.json. */
  name: string;
  state: McpState;
  trusted: boolean;
  /** Names of its tools, as the model calls them. */
  tools: readonly string[];
  /** Names of its prompts. */
  prompts: readonly string[];
  /** Why it is down; for operators. */
  error?: string | undefined;
  /** Which of its tools are left out or simplified, and why; for operators. */
  notices: readonly string[];
}

/** What the nodes of a database report about their servers. Throws only `StoreError`. `instance` names a home. */
export interface McpStatusStore {
  /** Replaces this instance's previous report. */
  saveMcpStatus(instance: string, servers: readonly McpServerStatus[]): Promise<void>;
  /** From the gateways that are running now, by instance. */
  mcpStatus(): Promise<{ instance: string; servers: McpServerStatus[] }[]>;
}

/** An argument of a prompt. */
export interface McpPromptArgument {
  name: string;
  required: boolean;
}

/** A prompt that a server offers to people. */
export interface McpPrompt {
  server: string;
  name: string;
  description: string;
  arguments: readonly McpPromptArgument[];
}
