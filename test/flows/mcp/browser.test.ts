/**
 * A browser through MCP: the tools of a public browser server, through a whole gateway, approved like any tool that
 * acts.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { FIND_TOOL } from '../../../src/agent/tools/tool-pair.ts';
import { BROWSER_TOOL_NAMES } from '../../fakes/mcp/browser-tools.ts';
import { scripted, seenBy, WAIT } from '../../fakes/mcp/servers.ts';
import { type Pending, pendingSoon } from '../approvals/pending.ts';
import { describeGateway, type GatewayFixture } from '../setup.ts';

const seen = seenBy(afterAll);
const mcp = {
  servers: { web: { ...scripted(BROWSER_TOOL_NAMES, { FAKE_LOG: seen.file }), trusted: true } },
};

/** Creates a home whose default profile has a window with room for the definitions of all tools. */
async function furnish(home: string): Promise<void> {
  const profile = path.join(home, 'profiles/default');
  await mkdir(profile, { recursive: true });
  await writeFile(path.join(profile, 'config.json'), JSON.stringify({ contextWindow: 32_768 }));
  await writeFile(path.join(home, 'config.json'), JSON.stringify({ mcp }));
}

/** Waits before the tests until the server is up. */
function waitForServer(fixture: () => GatewayFixture): void {
  beforeAll(async () => {
    await vi.waitFor(async () => {
      const { mcp: servers } = await fixture().gateway.health();
      if (servers['web']?.state !== 'up') throw new Error('the server is not up yet');
    }, WAIT);
  }, 60_000);
}

describeGateway('a browser through MCP', { furnish }, (fixture) => {
  const asked = (tool: string): Promise<Pending> => pendingSoon(fixture(), { tool });
  const decide = (id: string, decision: string) =>
    fixture().call(`/v1/approvals/${id}`, { json: { decision } });

  waitForServer(fixture);

  it('offers the model every one of its tools, with arguments as the server declares them', async () => {
    await fixture().post('offers', 'what can you do');
    const { body } = await fixture().modelCall('what can you do');
    const tools = new Map((body.tools ?? []).map((tool) => [tool.function.name, tool.function]));
    expect(BROWSER_TOOL_NAMES).toHaveLength(25);
    for (const name of BROWSER_TOOL_NAMES) expect([...tools.keys()]).toContain(`web__${name}`);
    expect(tools.get('web__browser_type')?.parameters).toMatchObject({ required: ['target', 'text'] });
    await fixture().idle('http:offers');
  });

  it('opens a page when a person allows it, and what the page says clicks nothing', async () => {
    const { ollama } = fixture();
    const url = 'https://bakery.example/';
    ollama.answer(
      { toolCalls: [{ name: 'web__browser_navigate', args: { url } }] },
      { when: 'what does rye bread cost' },
    );
    ollama.answer(
      { toolCalls: [{ name: 'web__browser_click', args: { target: 'e5', element: 'Order' } }] },
      { when: 'what does rye bread cost' },
    );
    await fixture().post('bread', 'what does rye bread cost');
    const opening = await asked('web__browser_navigate');
    expect(opening.args).toEqual({ url });
    expect(seen.lines().some((line) => line.startsWith('call'))).toBe(false);
    await decide(opening.id, 'approved');
    const pressing = await asked('web__browser_click');
    expect(pressing.warning).toContain('web');
    ollama.answer({ text: 'It costs 4 euros.' }, { when: 'what does rye bread cost' });
    await decide(pressing.id, 'denied');
    await fixture().idle('http:bread');
    const calls = seen.lines().filter((line) => line.startsWith('call'));
    expect(calls).toEqual([`call browser_navigate ${JSON.stringify({ url })}`]);
    const stored = await fixture().messages('http:bread');
    expect(stored.at(-1)?.content).toBe('It costs 4 euros.');
  });
});

describeGateway(
  'a browser through MCP, in a window without room for its tools',
  { file: { mcp } },
  (fixture) => {
    waitForServer(fixture);

    it('is found by what it does, with arguments as the server declares them', async () => {
      const { ollama } = fixture();
      const text = 'put a word into the search field';
      ollama.answer({ toolCalls: [{ name: FIND_TOOL, args: { query: 'type text' } }] }, { when: text });
      ollama.answer('Found.', { when: text });
      await fixture().post('finds', text);
      const { body } = await fixture().modelCall(text);
      const names = (body.tools ?? []).map((tool) => tool.function.name);
      expect(names).toContain(FIND_TOOL);
      expect(names.filter((name) => name.startsWith('web__'))).toEqual([]);
      await fixture().idle('http:finds');
      const found = ollama.calls.at(-1)?.body.messages.findLast(({ role }) => role === 'tool')?.content ?? '';
      expect(found).toContain('web__browser_type: ');
      expect(found).toContain('"required":["target","text"]');
    });
  },
);
