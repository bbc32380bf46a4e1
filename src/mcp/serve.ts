/** The gateway as a server of the protocol: the official SDK answers each request on its own, so no session can be lost. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  type EventStore,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  type CallToolResult,
  CallToolRequestSchema,
  ErrorCode,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { McpOffer, OfferedResult } from '../protocol/mcp-offer.ts';

/** How long a client waits before it resumes a stream, in milliseconds: clients try twice, and a gateway needs seconds to start. */
const RETRY_MS = 5_000;
const JSON_TYPE = 'application/json';
/** MCP's error for a resource that does not exist. */
const RESOURCE_NOT_FOUND = -32_002;

/**
 * Answers a request whose body is `body`. Without a session of the protocol, requests of any clients may come in any order,
 * to any node. Never throws for what a client sends.
 */
export async function serve(
  version: string,
  request: Request,
  body: unknown,
  offer: McpOffer,
): Promise<Response> {
  const { eventId } = offer;
  const server = createServer(version, offer);
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    ...(eventId === undefined
      ? { enableJsonResponse: true }
      : { eventStore: eventIds(eventId), retryInterval: RETRY_MS }),
  });
  await server.connect(transport);
  return await transport.handleRequest(request, { parsedBody: body });
}

/** Numbers the events of one stream. They are not kept: what they say is stored with its turn. */
function eventIds(next: () => Promise<string>): EventStore {
  return {
    storeEvent: () => next(),
    replayEventsAfter: () => Promise.reject(new TypeError('a stream is resumed where its turn is stored')),
  };
}

function createServer(version: string, offer: McpOffer): Server {
  const server = new Server(
    { name: 'parley', title: 'Parley', version },
    { capabilities: { tools: {}, resources: {} }, instructions: offer.instructions },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...offer.tools()] }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { _meta, sendNotification }) => {
    const { name, arguments: args = {} } = params;
    const progressToken = _meta?.progressToken;
    let progress = 0;
    const result = await offer.call(name, args, (message) => {
      if (progressToken === undefined) return;
      progress += 1;
      const notification = { progressToken, progress, message };
      // A client that has left gets the answer when it comes back.
      sendNotification({ method: 'notifications/progress', params: notification }).catch(() => undefined);
    });
    if (result === undefined)
      throw new McpError(ErrorCode.InvalidParams, `There is no tool "${name.slice(0, 80)}".`);
    return toResult(result);
  });
  server.setRequestHandler(ListResourcesRequestSchema, async ({ params }) => {
    const { resources, next } = await offer.resources(params?.cursor);
    const listed = resources.map((resource) => ({ ...resource, mimeType: JSON_TYPE }));
    return { resources: listed, ...(next !== undefined && { nextCursor: next }) };
  });
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: offer.templates.map(({ uri: uriTemplate, ...template }) => ({
      ...template,
      uriTemplate,
      mimeType: JSON_TYPE,
    })),
  }));
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params: { uri } }) => {
    const text = await offer.read(uri);
    if (text === undefined)
      throw new McpError(RESOURCE_NOT_FOUND, `There is nothing at "${uri.slice(0, 200)}".`);
    return { contents: [{ uri, mimeType: JSON_TYPE, text }] };
  });
  return server;
}

function toResult({ text, fields, isError }: OfferedResult): CallToolResult {
  return {
    content: [{ type: 'text', text }],
    ...(fields !== undefined && { structuredContent: fields }),
    ...(isError === true && { isError }),
  };
}
