/** Programs that speak MCP with the gateway, by the client of the protocol's own SDK. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type CallToolResult, CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { onTestFinished } from 'vitest';
import { OWNER } from '../setup.ts';

/** A result as tests read it. */
export interface ToolAnswer {
  text: string;
  fields: Record<string, unknown>;
  isError: boolean;
}

export interface Program {
  client: Client;
  transport: StreamableHTTPClientTransport;
  /** Calls a tool; `progress` gets its lines. */
  call: (
    name: string,
    args?: Record<string, unknown>,
    more?: { progress?: (text: string) => void; onEvent?: (id: string) => void },
  ) => Promise<ToolAnswer>;
}

/** Connects a program to the gateway at this address; it disconnects with the test. */
export async function connectProgram(url: string, token = OWNER): Promise<Program> {
  const client = new Client({ name: 'coder', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
    reconnectionOptions: {
      initialReconnectionDelay: 200,
      maxReconnectionDelay: 500,
      reconnectionDelayGrowFactor: 1.2,
      maxRetries: 200,
    },
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return {
    client,
    transport,
    async call(name, args = {}, { progress, onEvent } = {}) {
      const result = await client.request(
        { method: 'tools/call', params: { name, arguments: args } },
        CallToolResultSchema,
        {
          timeout: 200_000,
          ...(progress && { onprogress: ({ message = '' }) => progress(message) }),
          ...(onEvent && { onresumptiontoken: onEvent }),
        },
      );
      return answerOf(result);
    },
  };
}

function answerOf({ content, structuredContent = {}, isError = false }: CallToolResult): ToolAnswer {
  const [first] = content;
  return { text: first?.type === 'text' ? first.text : '', fields: structuredContent, isError };
}
