/** Servers of protocol 2026-07-28, made with the official SDK: all that older ones do, over standard streams and HTTP. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ToolContext } from '../../src/protocol/agent/tool.ts';
import { executeTool } from '../../src/agent/tools/tool-run.ts';
import { toolContext } from '../fakes/agent/tool-context.ts';
import { allUp, type OpenMcp, startMcp, WAIT } from '../fakes/mcp/servers.ts';
import { freePort } from '../fakes/network/free-port.ts';

const SCRIPT = fileURLToPath(new URL('../fakes/mcp/current-server.ts', import.meta.url));
/** Far more than the answer takes, and far less than the pattern of the schema would. */
const SOON_MS = 2_000;

async function startHttp(environment: Record<string, string>): Promise<{ url: string }> {
  const port = await freePort();
  await startAt(port, environment);
  return { url: `http://127.0.0.1:${port}/mcp` };
}

/** Returns a function that kills it. */
async function startAt(port: number, environment: Record<string, string> = {}): Promise<() => Promise<void>> {
  const env = { PATH: process.env['PATH'] ?? '', PORT: String(port), ...environment };
  const child = spawn(process.execPath, [SCRIPT, 'http'], { env, stdio: 'ignore' });
  const kill = async (): Promise<void> => {
    if (child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'close');
  };
  onTestFinished(kill);
  await vi.waitFor(() => fetch(`http://127.0.0.1:${port}/`), WAIT);
  return kill;
}

const PLACES = {
  'over standard streams': async (env: Record<string, string>) => ({
    command: process.execPath,
    args: [SCRIPT],
    env,
  }),
  'over HTTP': startHttp,
};

const call = async (
  mcp: OpenMcp,
  name: string,
  args: Record<string, unknown> = {},
  over: Partial<ToolContext> = {},
) => {
  const tool = mcp.tools().find((one) => one.name === name);
  if (tool === undefined) throw new Error(`There is no ${name}.`);
  return await executeTool(tool, args, toolContext(over), 20_000);
};

describe.each(Object.entries(PLACES))('a server of today %s', (_, place) => {
  it.each([
    ['that serves older clients, too', {}],
    ['that refuses older clients', { FAKE_ERA: '2026' }],
  ])(
    '%s, answers calls, shows their progress, and lists what it stores',
    async (_name, environment: Record<string, string>) => {
      const mcp = await startMcp({ now: await place(environment) });
      expect(await call(mcp, 'now__echo', { text: 'hello' })).toMatchObject({
        content: 'hello',
        isError: false,
      });
      const lines: string[] = [];
      const shown = await call(mcp, 'now__progress', {}, { progress: (line: string) => lines.push(line) });
      expect([shown.content, lines[0]]).toEqual(['all parts', '1']);
      expect((await call(mcp, 'list_resources', { server: 'now' })).content).toContain('notes://1');
      expect((await call(mcp, 'read_resource', { server: 'now', uri: 'notes://1' })).content).toBe('milk');
      expect(mcp.status()[0]?.prompts).toEqual(['summary']);
    },
  );

  it('reports new tools', async () => {
    const mcp = await startMcp({ now: await place({ FAKE_ERA: '2026' }) });
    await call(mcp, 'now__grow');
    await vi.waitFor(() => expect(mcp.tools().map(({ name }) => name)).toContain('now__grown'), WAIT);
  });

  it('is not told what people think, and its call ends with the reason', async () => {
    const mcp = await startMcp({ now: await place({ FAKE_ERA: '2026' }) });
    expect(await call(mcp, 'now__ask_user')).toMatchObject({ isError: true });
    expect(await call(mcp, 'now__echo', { text: 'next' })).toMatchObject({ content: 'next' });
  });

  it('cannot hold the gateway with the schema of an answer', async () => {
    const mcp = await startMcp({ now: await place({}) });
    const start = performance.now();
    expect(await call(mcp, 'now__hostile')).toMatchObject({ isError: false });
    expect(performance.now() - start).toBeLessThan(SOON_MS);
  });

  it('answers the next call after one that was stopped', async () => {
    const mcp = await startMcp({ now: await place({ FAKE_ERA: '2026' }) });
    const stop = new AbortController();
    const hanging = call(mcp, 'now__hang', {}, { signal: stop.signal });
    stop.abort();
    expect((await hanging).content).toContain('Its outcome is unknown');
    await allUp(mcp);
    expect(await call(mcp, 'now__echo', { text: 'next' })).toMatchObject({ content: 'next' });
  });
});

it('ends a call over HTTP at once when its server is killed, and finds the server again', async () => {
  const port = await freePort();
  const kill = await startAt(port);
  const mcp = await startMcp({ now: { url: `http://127.0.0.1:${port}/mcp` } });
  const lines: string[] = [];
  const hanging = call(mcp, 'now__hang', {}, { progress: (line) => lines.push(line) });
  await vi.waitFor(() => expect(lines).toHaveLength(1), WAIT);
  await kill();
  expect((await hanging).content).toContain('Whether it took effect is unknown');
  await vi.waitFor(() => expect(mcp.status()[0]?.state).toBe('down'), WAIT);
  await startAt(port);
  await allUp(mcp);
  expect(await call(mcp, 'now__echo', { text: 'again' })).toMatchObject({ content: 'again' });
}, 60_000);
