/** Servers with settings that change or disappear while calls run: the calls end first, or get an error. */
import { expect, it, vi } from 'vitest';
import type { Tool } from '../../src/protocol/agent/tool.ts';
import { executeTool } from '../../src/agent/tools/tool-run.ts';
import { RETIRE_MS } from '../../src/mcp/server.ts';
import { toolContext } from '../fakes/agent/tool-context.ts';
import { FakeClock } from '../fakes/clock.ts';
import { allUp, scripted, seenBy, startMcp, WAIT } from '../fakes/mcp/servers.ts';

const run = (tool: Tool | undefined) => {
  if (tool === undefined) throw new Error('no such tool');
  return executeTool(tool, {}, toolContext(), 60_000);
};

it(`waits ${RETIRE_MS / 1_000} s for the calls of a removed server, then fails them, and refuses later ones immediately`, async () => {
  const clock = new FakeClock();
  const seen = seenBy();
  const mcp = await startMcp({ notes: scripted(['hang', 'look'], { FAKE_LOG: seen.file }) }, { clock });
  const [hang, look] = mcp.tools();
  const hanging = run(hang);
  await vi.waitFor(() => expect(seen.lines()).toContain('call hang {}'), WAIT);
  await mcp.change({});
  expect(mcp.tools()).toEqual([]);
  expect(mcp.status()).toEqual([]);
  const why = 'The MCP server "notes" was removed from config.json.';
  expect(await run(look)).toMatchObject({ isError: true, content: `notes__look failed: ${why}` });
  await clock.advance(RETIRE_MS - 1);
  expect(await Promise.race([hanging, Promise.resolve('runs')])).toBe('runs');
  await clock.advance(1);
  expect(await hanging).toMatchObject({
    isError: true,
    content: `notes__hang failed: ${why} Whether it took effect is unknown.`,
  });
});

it('starts a changed server after the old one has ended, and only the last of several changes', async () => {
  const seen = seenBy();
  const notes = (...tools: string[]) => scripted(tools, { FAKE_LOG: seen.file });
  const mcp = await startMcp({ notes: notes('slow') });
  const running = run(mcp.tools()[0]);
  await vi.waitFor(() => expect(seen.lines()).toContain('call slow {}'), WAIT);
  await mcp.change({ notes: notes('look') });
  await mcp.change({ notes: notes('echo') });
  expect(mcp.status()).toMatchObject([{ name: 'notes', state: 'connecting', tools: [] }]);
  expect(seen.lines().filter((line) => line.startsWith('started'))).toHaveLength(1);
  expect((await running).content).toBe('slow, but here');
  await allUp(mcp);
  expect(mcp.status()[0]?.tools).toEqual(['notes__echo']);
  expect(seen.lines().filter((line) => line.startsWith('started'))).toHaveLength(2);
});

it('does not wait for calls when the gateway stops', async () => {
  const seen = seenBy();
  const mcp = await startMcp(
    { notes: scripted(['hang'], { FAKE_LOG: seen.file }) },
    { clock: new FakeClock() },
  );
  const hanging = run(mcp.tools()[0]);
  await vi.waitFor(() => expect(seen.lines()).toContain('call hang {}'), WAIT);
  await mcp.change({});
  await mcp.close();
  expect((await hanging).content).toContain('Whether it took effect is unknown.');
});
