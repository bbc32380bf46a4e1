/** The gateway as a server of the protocol: the official SDK answers each request on its own, so no session can be lost. */
import {
  type CallToolResult,
  createMcpHandler,
  type EventStore,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { McpOffer, OfferedResult } from '../protocol/mcp-offer.ts';

/** How long a client waits before it resumes a stream, in milliseconds: clients try twice, and a gateway needs seconds to start. */
const RETRY_MS = 5_000;
const JSON_TYPE = 'application/json';
/** Longest quoted address, in UTF-16 units. */
const MAX_QUOTED = 200;

/**
 * Answers a request whose body is `body`, in the protocol of its client: that of 2026-07-28, which has no sessions, or an
 * earlier one without them. So requests of any clients may come in any order, to any node. Never throws for what a client sends.
 */
export async function serve(
  version: string,
  request: Request,
  body: unknown,
  offer: McpOffer,
): Promise<Response> {
  const { eventId } = offer;
  if (!(await isLegacyRequest(request, body))) {
    // A long wait is a stream, so that nothing on the way takes it for dead.
    const responseMode = eventId === undefined ? 'auto' : 'sse';
    const handler = createMcpHandler(() => createServer(version, offer), { legacy: 'reject', responseMode });
    return await handler.fetch(request, { parsedBody: body });
  }
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
  server.setRequestHandler('tools/list', () => ({ tools: [...offer.tools()] }));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq: { _meta, notify } }) => {
    const { name, arguments: args = {} } = params;
    const progressToken = _meta?.progressToken;
    let progress = 0;
    const result = await offer.call(name, args, (message) => {
      if (progressToken === undefined) return;
      progress += 1;
      const notification = { progressToken, progress, message };
      // A client that has left gets the answer when it comes back.
      notify({ method: 'notifications/progress', params: notification }).catch(() => undefined);
    });
    if (result === undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool "${name.slice(0, 80)}".`);
    return toResult(result);
  });
  server.setRequestHandler('resources/list', async ({ params }) => {
    const { resources, next } = await offer.resources(params?.cursor);
    const listed = resources.map((resource) => ({ ...resource, mimeType: JSON_TYPE }));
    return { resources: listed, ...(next !== undefined && { nextCursor: next }) };
  });
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: offer.templates.map(({ uri: uriTemplate, ...template }) => ({
      ...template,
      uriTemplate,
      mimeType: JSON_TYPE,
    })),
  }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const text = await offer.read(uri);
    if (text === undefined) {
      const quoted = uri.slice(0, MAX_QUOTED);
      throw new ResourceNotFoundError(quoted, `There is nothing at "${quoted}".`);
    }
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
