/** Answers over HTTP that do not follow the protocol: their calls end at once, and others are not touched. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { executeTool } from '../../src/agent/tools/tool-run.ts';
import { toolContext } from '../fakes/agent/tool-context.ts';
import { startMcp } from '../fakes/mcp/servers.ts';
import { freePort } from '../fakes/network/free-port.ts';
import { readText } from '../fakes/read-text.ts';

const message = z.looseObject({
  id: z.number().optional(),
  method: z.string(),
  params: z.looseObject({ name: z.string().optional(), protocolVersion: z.string().optional() }).optional(),
});

const RESULTS: Record<string, unknown> = {
  text: 'only a text',
  list: [1, 2],
  none: null,
  fine: { content: [{ type: 'text', text: 'it says "result": 5' }] },
};

/** A server that answers in event streams or in documents, cut into packets of a few bytes. */
async function startServer(form: 'stream' | 'document'): Promise<string> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { id, method, params } = message.parse(
      JSON.parse((await readText(request)) || '{"method":"none"}'),
    );
    if (id === undefined) return void response.writeHead(request.method === 'POST' ? 202 : 405).end();
    const tools = Object.keys(RESULTS).map((name) => ({ name, inputSchema: { type: 'object' } }));
    const serverInfo = { name: 'broken', version: '1' };
    const result =
      method === 'initialize'
        ? { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo }
        : method === 'tools/list'
          ? { tools }
          : method === 'tools/call'
            ? RESULTS[params?.name ?? '']
            : {};
    const json = JSON.stringify({ jsonrpc: '2.0', id, result });
    if (form === 'document')
      return void response.writeHead(200, { 'content-type': 'application/json' }).end(json);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const event = `event: message\ndata: ${json}\n\n`;
    for (let at = 0; at < event.length; at += 7) response.write(event.slice(at, at + 7));
    response.end();
  };
  const port = await freePort();
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => void server.close(() => resolve()));
  });
  return `http://127.0.0.1:${port}/mcp`;
}

it.each(['stream', 'document'] as const)('ends a call whose result is no object, in a %s', async (form) => {
  const mcp = await startMcp({ odd: { url: await startServer(form) } });
  const call = async (name: string) => {
    const tool = mcp.tools().find((one) => one.name === `odd__${name}`);
    if (tool === undefined) throw new Error(`There is no ${name}.`);
    return await executeTool(tool, {}, toolContext(), 10_000);
  };
  for (const name of ['text', 'list', 'none']) {
    expect(await call(name)).toMatchObject({
      isError: true,
      content: expect.stringContaining('does not follow the protocol'),
    });
  }
  expect(await call('fine')).toMatchObject({ isError: false, content: 'it says "result": 5' });
});
