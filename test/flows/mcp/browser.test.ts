/**
 * A browser through MCP: the tools of a public browser server, through a whole gateway, approved like any tool that
 * acts.
 */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { BROWSER_TOOL_NAMES } from '../../fakes/mcp/browser-tools.ts';
import { scripted, seenBy, WAIT } from '../../fakes/mcp/servers.ts';
import { pendingSoon } from '../approvals/pending.ts';
import type { Pending } from '../approvals/pending.ts';
import { describeGateway } from '../setup.ts';

const seen = seenBy(afterAll);
const file = {
  mcp: { servers: { web: { ...scripted(BROWSER_TOOL_NAMES, { FAKE_LOG: seen.file }), trusted: true } } },
};

describeGateway('a browser through MCP', { file }, (fixture) => {
  const asked = (tool: string): Promise<Pending> => pendingSoon(fixture(), { tool });
  const decide = (id: string, decision: string) =>
    fixture().call(`/v1/approvals/${id}`, { json: { decision } });

  beforeAll(async () => {
    await vi.waitFor(async () => {
      const { mcp } = await fixture().gateway.health();
      if (mcp['web']?.state !== 'up') throw new Error('the server is not up yet');
    }, WAIT);
  }, 60_000);

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
