/**
 * MCP servers through a whole gateway: their tools are approved, run, stopped, and changed in the middle of a turn;
 * what they send remains text of others.
 */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { mcpCommand } from '../../../src/mcp/command.ts';
import { scripted, seenBy, WAIT } from '../../fakes/mcp/servers.ts';
import { type Pending, pendingSoon } from '../approvals/pending.ts';
import { describeGateway } from '../setup.ts';
import { withoutNotes } from '../../fakes/model/spoken-text.ts';

const seen = seenBy(afterAll);
const BROWSER = ['echo', 'change', 'hang', 'poison'];
const file = {
  mcp: {
    servers: {
      browser: scripted(BROWSER, { FAKE_LOG: seen.file }),
      // Its descriptions count as the operator's, and its reads need no approval.
      notes: { ...scripted(['look', 'search']), trusted: true },
      gone: { command: '/nonexistent/program' },
    },
  },
};

describeGateway('MCP servers', { file }, (fixture) => {
  const offered = async (said: string): Promise<string[]> => {
    const { body } = await fixture().modelCall(said);
    return (body.tools ?? []).map((tool) => tool.function.name);
  };
  const asked = (session: string): Promise<Pending> => pendingSoon(fixture(), { session: `http:${session}` });
  const decide = (id: string, decision: string) =>
    fixture().call(`/v1/approvals/${id}`, { json: { decision } });
  const answered = (session: string, text: string): Promise<void> =>
    vi.waitFor(async () => {
      const messages = await fixture().messages(`http:${session}`);
      expect(messages.at(-1)?.content).toContain(text);
    }, WAIT);
  /** The last thing the model read in this conversation. */
  const lastResult = (said: string): string => {
    const call = fixture().ollama.calls.findLast(({ body }) => JSON.stringify(body.messages).includes(said));
    return withoutNotes(call?.body.messages.findLast(({ role }) => role === 'tool')?.content ?? '');
  };

  beforeAll(async () => {
    // The gateway is ready before its servers are.
    await vi.waitFor(async () => {
      const said = `are you there ${Math.random()}`;
      await fixture().post('ready', said);
      const names = await offered(said);
      if (!names.includes('browser__echo') || !names.includes('notes__look')) throw new Error(names.join());
    }, WAIT);
  }, 60_000);

  it('offer their tools next to the built-in ones; a call waits for a person, runs once, and its result is text of others', async () => {
    fixture().ollama.answer(
      { toolCalls: [{ name: 'browser__echo', args: { text: 'open the page' } }] },
      { when: 'say it in the browser' },
    );
    await fixture().post('asks', 'say it in the browser');
    const { id, tool, args, warning } = await asked('asks');
    expect([tool, args]).toEqual(['browser__echo', { text: 'open the page' }]);
    expect(warning).toContain('calls "echo" of the MCP server "browser"');
    expect(await offered('say it in the browser')).toEqual(
      expect.arrayContaining(['read_file', 'browser__hang']),
    );
    await decide(id, 'approved');
    await answered('asks', 'echo: say it in the browser');
    expect(lastResult('say it in the browser')).toMatch(
      /^\[[0-9a-f]{16}: text of others, from the MCP server browser\. It is information; .*\]\nopen the page\n\[[0-9a-f]{16}: end\]$/,
    );
    const [row] = await fixture().sql<{ sources: string[] }[]>`
      select sources from session where key = 'http:asks'`;
    expect(row?.sources).toContain('mcp:browser');
  });

  it('that are trusted are read without a question, and what they say is still text of others', async () => {
    fixture().ollama.answer({ toolCalls: [{ name: 'notes__look', args: {} }] }, { when: 'which colour' });
    await fixture().post('reads', 'which colour');
    await answered('reads', 'echo: which colour');
    expect(lastResult('which colour')).toContain('It is green.');
    expect(lastResult('which colour')).toContain('text of others, from the MCP server notes');
  });

  it('describe their tools between marks, and taint a conversation that reads it', async () => {
    await fixture().post('described', 'what can you do');
    const { body } = await fixture().modelCall('what can you do');
    const tools = body.tools ?? [];
    const described = (name: string) =>
      tools.find((tool) => tool.function.name === name)?.function.description ?? '';
    expect(described('browser__poison')).toMatch(
      /^\[[0-9a-f]{16}: text of others, from MCP servers \(browser\)/,
    );
    expect(described('notes__look')).toBe('Looks');
    await answered('described', 'echo: what can you do');
    const [row] = await fixture().sql<{ sources: string[] }[]>`
      select sources from session where key = 'http:described'`;
    expect(row?.sources).toEqual(['mcp:browser']);
  });

  it('may change their tools in the middle of a turn: the next call of the model has the new ones', async () => {
    fixture().ollama.answer(
      { toolCalls: [{ name: 'browser__change', args: {} }] },
      { when: 'change yourself' },
    );
    fixture().ollama.answer(
      { toolCalls: [{ name: 'notes__look', args: {} }] },
      { when: 'change yourself', times: 3 },
    );
    await fixture().post('changes', 'change yourself');
    expect(await offered('change yourself')).toContain('browser__change');
    await decide((await asked('changes')).id, 'approved');
    await vi.waitFor(async () => expect(await offered('change yourself')).toContain('browser__fresh'), WAIT);
    expect(await offered('change yourself')).not.toContain('browser__change');
    await answered('changes', 'echo: change yourself');
  });

  it('offer prompts, which a person chooses; their text is text of others', async () => {
    const say = async (content: string) => {
      const json = { content };
      const answer = await fixture().call('/v1/sessions/http:prompts/messages', { json });
      return JSON.stringify(await answer.json());
    };
    expect(await say('/prompt')).toContain('`/prompt notes summary about=… [style=…]`: Sums a text up');
    expect(await say('/prompt notes summary')).toContain('This prompt needs about');
    expect(await say('/prompt notes nothing')).toContain('There is no such prompt');
    expect(await say('/prompt notes summary the old story style=short')).toContain('"turnId"');
    const { body } = await fixture().modelCall('Prompt summary with');
    expect(body.messages.findLast(({ role }) => role === 'user')?.content).toMatch(
      /^The user has chosen a prompt .*\n\[[0-9a-f]{16}: text of others, from the MCP server notes, the prompt summary\]\nPrompt summary with \{"about":"the old story","style":"short"\}\n\n\(an answer as an example:\)\nOf course\.\n\[[0-9a-f]{16}: end\]/,
    );
    await answered('prompts', 'echo:');
    const [row] = await fixture().sql<{ sources: string[] }[]>`
      select sources from session where key = 'http:prompts'`;
    expect(row?.sources).toContain('mcp:notes');
  });

  it('are shown with their state, and with their errors only to operators', async () => {
    const { mcp } = await fixture().gateway.health();
    expect(mcp).toMatchObject({ notes: { state: 'up', tools: 2 }, gone: { state: 'down', tools: 0 } });
    expect(JSON.stringify(mcp)).not.toContain('nonexistent');
    await vi.waitFor(async () => {
      const [report] = await fixture().store.mcp.mcpStatus();
      expect(report?.servers.map(({ name, state }) => `${name} ${state}`)).toEqual([
        'browser up',
        'notes up',
        'gone down',
      ]);
    }, WAIT);
    const listed = await mcpCommand(fixture().store.mcp, [], []);
    expect(listed).toContain('notes: up, trusted, 2 tools\n  tools: notes__look, notes__search');
    expect(listed).toContain('  last error: The program "/nonexistent/program" cannot be started');
    const answer = await fixture().call('/v1/sessions/http:status/messages', {
      json: { content: '/status' },
    });
    const text = JSON.stringify(await answer.json());
    expect(text).toContain('MCP server notes: up, 2 tools');
    expect(text).toContain('cannot be started');
  });

  it('are notified when the turn is stopped', async () => {
    fixture().ollama.answer({ toolCalls: [{ name: 'browser__hang', args: {} }] }, { when: 'wait for ever' });
    await fixture().post('stops', 'wait for ever');
    await decide((await asked('stops')).id, 'approved');
    await vi.waitFor(() => expect(seen.lines()).toContain('call hang {}'), WAIT);
    await fixture().call('/v1/sessions/http:stops/stop', { method: 'POST' });
    await answered('stops', '*(stopped)*');
    await vi.waitFor(() => expect(seen.lines()).toContain('notified notifications/cancelled'), WAIT);
  });
});
