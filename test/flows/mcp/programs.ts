/** Programs that speak MCP with the gateway, by the clients of the protocol's own SDK: today's, and the one before. */
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { OWNER } from '../setup.ts';

/** A result as tests read it. */
export interface ToolAnswer {
  text: string;
  fields: Record<string, unknown>;
  isError: boolean;
}

interface CallOptions {
  progress?: (text: string) => void;
  onEvent?: (id: string) => void;
  signal?: AbortSignal;
}

export interface Program {
  client: Client | OldClient;
  /** Calls a tool; `progress` gets its lines, `onEvent` the ids from which its stream can be resumed. */
  call: (name: string, args?: Record<string, unknown>, options?: CallOptions) => Promise<ToolAnswer>;
}

/**
 * What a program speaks: protocol 2026-07-28; 2025-11-25 with the SDK of today, whose default it is; or the same with the SDK
 * before it.
 */
export const KINDS = ['today', 'today, as of 2025', 'of 2025'] as const;
export type Kind = (typeof KINDS)[number];

const RECONNECTION = {
  initialReconnectionDelay: 200,
  maxReconnectionDelay: 500,
  reconnectionDelayGrowFactor: 1.2,
  maxRetries: 200,
};
const TIMEOUT_MS = 200_000;

/** Connects a program to the gateway at this address; it disconnects with the test. */
export async function connectProgram(url: string, token = OWNER, kind: Kind = 'today'): Promise<Program> {
  const address = new URL('/mcp', url);
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const settings = { requestInit, reconnectionOptions: RECONNECTION };
  return kind === 'of 2025'
    ? await connectOld(new OldTransport(address, settings))
    : await connectCurrent(new StreamableHTTPClientTransport(address, settings), kind === 'today');
}

async function connectCurrent(
  transport: StreamableHTTPClientTransport,
  isCurrent: boolean,
): Promise<Program> {
  const options = isCurrent ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {};
  const client = new Client({ name: 'coder', version: '1' }, options);
  await client.connect(transport);
  onTestFinished(() => client.close());
  return {
    client,
    call: async (name, args = {}, over = {}) =>
      answerOf(await client.callTool({ name, arguments: args }, optionsOf(over))),
  };
}

async function connectOld(transport: OldTransport): Promise<Program> {
  const client = new OldClient({ name: 'coder', version: '1' });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return {
    client,
    call: async (name, args = {}, over = {}) =>
      answerOf(
        await client.request(
          { method: 'tools/call', params: { name, arguments: args } },
          CallToolResultSchema,
          optionsOf(over),
        ),
      ),
  };
}

function optionsOf({ progress, onEvent, signal }: CallOptions) {
  return {
    timeout: TIMEOUT_MS,
    ...(signal && { signal }),
    ...(progress && { onprogress: ({ message = '' }: { message?: string }) => progress(message) }),
    ...(onEvent && { onresumptiontoken: onEvent }),
  };
}

const answer = z.object({
  content: z.array(z.object({ text: z.string().default('') })),
  structuredContent: z.record(z.string(), z.unknown()).default({}),
  isError: z.boolean().default(false),
});

function answerOf(result: unknown): ToolAnswer {
  const { content, structuredContent: fields, isError } = answer.parse(result);
  return { text: content[0]?.text ?? '', fields, isError };
}
