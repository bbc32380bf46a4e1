/** Answers over HTTP that do not follow the protocol: their calls end at once, and others are not touched. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { MAX_ROUNDS } from '../../src/mcp/questions.ts';
import type { ToolResult } from '../../src/protocol/agent/tool.ts';
import { executeTool } from '../../src/agent/tools/tool-run.ts';
import { toolContext } from '../fakes/agent/tool-context.ts';
import { startMcp } from '../fakes/mcp/servers.ts';
import { freePort } from '../fakes/network/free-port.ts';
import { readText } from '../fakes/read-text.ts';

const message = z.looseObject({
  id: z.union([z.number(), z.string()]).optional(),
  method: z.string(),
  params: z
    .looseObject({
      name: z.string().optional(),
      protocolVersion: z.string().optional(),
      inputResponses: z.unknown().optional(),
      requestState: z.string().optional(),
    })
    .optional(),
});

/** What results of protocol 2026-07-28 have in them, as the published schema says; servers of it ask in them, too. */
const CURRENT = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
const RESULTS: Record<string, unknown> = {
  text: 'only a text',
  list: [1, 2],
  none: null,
  fine: { ...CURRENT, content: [{ type: 'text', text: 'it says "result": 5' }] },
};

const discovery = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
const asking = (method: string, more: object = {}): object => ({
  resultType: 'input_required',
  inputRequests: { q1: { method, params: { message: 'Your password?', ...more } } },
  requestState: 'page 1',
});
const ASKS: Record<string, (answers: unknown, state?: string) => object> = {
  asks: (answers, state) =>
    answers === undefined
      ? asking('elicitation/create', { mode: 'form', requestedSchema: { type: 'object', properties: {} } })
      : { ...CURRENT, content: [{ type: 'text', text: `${JSON.stringify(answers)} after ${state}` }] },
  asks_always: () => asking('elicitation/create', { mode: 'url', url: 'https://evil.example' }),
  asks_model: () => asking('sampling/createMessage', { messages: [], maxTokens: 9 }),
};

type Form = 'stream' | 'document';
type Era = '2025' | '2026';

/** A server that answers in event streams or in documents, cut into packets of a few bytes. */
async function startServer(form: Form, era: Era): Promise<string> {
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { id, method, params } = message.parse(
      JSON.parse((await readText(request)) || '{"method":"none"}'),
    );
    if (id === undefined) return void response.writeHead(request.method === 'POST' ? 202 : 405).end();
    const names = [...Object.keys(RESULTS), ...Object.keys(ASKS)];
    const tools = names.map((name) => ({ name, inputSchema: { type: 'object' } }));
    const serverInfo = { name: 'broken', version: '1' };
    const current = era === '2026' && CURRENT;
    const answers: Record<string, () => unknown> = {
      initialize: () => ({
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo,
      }),
      'tools/list': () => ({ ...current, tools }),
      'tools/call': () => {
        const { name = '', inputResponses, requestState } = params ?? {};
        return name in ASKS ? ASKS[name]?.(inputResponses, requestState) : RESULTS[name];
      },
      ...(current && { 'server/discover': () => ({ ...current, ...discovery }) }),
    };
    const answer = answers[method];
    const result = answer === undefined ? {} : answer();
    const json = JSON.stringify({ jsonrpc: '2.0', id, result });
    if (form === 'document')
      return void response.writeHead(200, { 'content-type': 'application/json' }).end(json);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const event = `event: message\ndata: ${json}\n\n`;
    for (let at = 0; at < event.length; at += 7) response.write(event.slice(at, at + 7));
    response.end();
  };
  const port = await freePort();
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => void server.close(() => resolve()));
  });
  return `http://127.0.0.1:${port}/mcp`;
}

const FORMS: [Form, Era][] = [
  ['stream', '2025'],
  ['document', '2025'],
  ['stream', '2026'],
  ['document', '2026'],
];

async function callsOf(form: Form, era: Era): Promise<(name: string) => Promise<ToolResult>> {
  const mcp = await startMcp({ odd: { url: await startServer(form, era) } });
  return async (name) => {
    const tool = mcp.tools().find((one) => one.name === `odd__${name}`);
    if (tool === undefined) throw new Error(`There is no ${name}.`);
    return await executeTool(tool, {}, toolContext(), 10_000);
  };
}

it.each(FORMS)('ends a call whose result is no object, in a %s of %s', async (form, era) => {
  const call = await callsOf(form, era);
  for (const name of ['text', 'list', 'none']) {
    expect(await call(name)).toMatchObject({
      isError: true,
      content: expect.stringContaining('does not follow the protocol'),
    });
  }
  expect(await call('fine')).toMatchObject({ isError: false, content: 'it says "result": 5' });
});

it.each(['stream', 'document'] as const)(
  'declines what a server asks in a %s, and continues',
  async (form) => {
    const call = await callsOf(form, '2026');
    const { content, isError } = await call('asks');
    expect(isError).toBe(false);
    expect(content).toContain('{"q1":{"action":"decline"}} after page 1');
    expect(content).toContain('wanted to ask the user: "Your password?"');
    const always = await call('asks_always');
    expect(always).toMatchObject({ isError: true });
    expect(always.content).toContain(`still asks after ${MAX_ROUNDS} declined questions`);
    const model = await call('asks_model');
    expect(model).toMatchObject({ isError: true });
    expect(model.content).toContain('asks for sampling/createMessage, which it does not get');
  },
);
