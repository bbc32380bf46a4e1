/** The reference server of the protocol: all of its tools are called, over standard streams and over both kinds of HTTP. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { expect, it, onTestFinished, vi } from 'vitest';
import { executeTool } from '../../src/agent/tools/tool-run.ts';
import { wireSchema } from '../../src/lib/json/wire-schema.ts';
import { toolContext } from '../fakes/agent/tool-context.ts';
import { allUp, type OpenMcp, startMcp, WAIT } from '../fakes/mcp/servers.ts';
import { serverProblem } from '../fakes/model/schema-rules.ts';
import { freePort } from '../fakes/network/free-port.ts';

const require = createRequire(import.meta.url);
const ENTRY = require.resolve('@modelcontextprotocol/server-everything/dist/index.js');

/** Arguments for the tools that need some, and what each must answer. */
const CALLS: Record<string, { args?: Record<string, unknown>; says: RegExp }> = {
  echo: { args: { message: 'hello' }, says: /Echo: hello/ },
  'get-sum': { args: { a: 2, b: 3 }, says: /5/ },
  'get-annotated-message': {
    args: { messageType: 'error', includeImage: true },
    says: /Error: Operation failed/,
  },
  'get-env': { says: /PATH/ },
  'get-resource-links': { args: { count: 2 }, says: /a link to the resource demo:/ },
  'get-resource-reference': { args: { resourceType: 'Text', resourceId: 1 }, says: /the resource demo:/ },
  'get-structured-content': { args: { location: 'New York' }, says: /temperature/ },
  'get-tiny-image': { says: /an image, image\/png, \d+ bytes: the file inbox\/tools\/image/ },
  'gzip-file-as-resource': {
    args: { name: 'a.gz', data: 'data:text/plain,hello', outputType: 'resourceLink' },
    says: /a link to the resource/,
  },
  'toggle-simulated-logging': { says: /logging/ },
  'toggle-subscriber-updates': { says: /update/ },
  'trigger-long-running-operation': { args: { duration: 0.2, steps: 2 }, says: /completed/ },
  'simulate-research-query': { args: { topic: 'bees' }, says: /./ },
};

async function callAll(mcp: OpenMcp): Promise<string[]> {
  const called: string[] = [];
  for (const tool of mcp.tools().filter(({ name }) => name.startsWith('all__'))) {
    const name = tool.name.slice('all__'.length);
    const { args = {}, says } = CALLS[name] ?? { says: /^no such call$/ };
    const parsed = tool.parameters.safeParse(args);
    expect(parsed.error, `arguments of ${name}`).toBeUndefined();
    const { content, isError } = await executeTool(tool, parsed.data, toolContext(), 20_000);
    expect(content, `answer of ${name}`).toMatch(says);
    expect(isError, `${name}: ${content}`).toBe(false);
    called.push(name);
  }
  return called;
}

/** Starts the server over HTTP; returns its port and a function that kills it. */
async function startHttp(kind: string, port: number): Promise<() => Promise<void>> {
  const env = { PATH: process.env['PATH'] ?? '', PORT: String(port) };
  const child = spawn(process.execPath, [ENTRY, kind], { env, stdio: 'ignore' });
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'close');
  };
  onTestFinished(kill);
  await vi.waitFor(() => fetch(`http://127.0.0.1:${port}/`), WAIT);
  return kill;
}

it('answers every tool over standard streams', async () => {
  const mcp = await startMcp({ all: { command: process.execPath, args: [ENTRY, 'stdio'] } });
  const called = await callAll(mcp);
  expect(called.length).toBeGreaterThanOrEqual(12);
  expect(called).toContain('echo');
  for (const { name, schema = {} } of mcp.tools())
    expect(serverProblem(wireSchema(schema).schema), `schema of ${name}`).toBeUndefined();
}, 60_000);

it('answers every tool over HTTP, and is found again after being killed in the middle of a call', async () => {
  const port = await freePort();
  const kill = await startHttp('streamableHttp', port);
  const mcp = await startMcp({ all: { url: `http://127.0.0.1:${port}/mcp` } });
  expect((await callAll(mcp)).length).toBeGreaterThanOrEqual(12);
  const slow = mcp.tools().find(({ name }) => name === 'all__trigger-long-running-operation')!;
  const running = executeTool(slow, { duration: 60, steps: 60 }, toolContext(), 20_000);
  await vi.waitFor(() => expect(mcp.status()[0]?.state).toBe('up'), WAIT);
  await kill();
  const { isError, content } = await running;
  expect([isError, content]).toEqual([true, expect.stringMatching(/unknown/)]);
  await vi.waitFor(() => expect(mcp.status()[0]?.state).toBe('down'), WAIT);
  await startHttp('streamableHttp', port);
  await allUp(mcp);
  const echo = mcp.tools().find(({ name }) => name === 'all__echo')!;
  expect((await executeTool(echo, { message: 'again' }, toolContext(), 5_000)).content).toBe('Echo: again');
}, 60_000);

it('is reached over the older transport when it supports no other', async () => {
  const port = await freePort();
  await startHttp('sse', port);
  const mcp = await startMcp({ all: { url: `http://127.0.0.1:${port}/sse` } });
  expect((await callAll(mcp)).length).toBeGreaterThanOrEqual(12);
}, 60_000);
