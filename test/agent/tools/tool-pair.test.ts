/** Tools that a small window offers through `find_tool` and `use_tool`: found, called, asked about and remembered as themselves. */
import { expect, it, onTestFinished } from 'vitest';
import {
  callAsMade,
  directCall,
  FIND_TOOL,
  MAX_FOUND_TOOLS,
  USE_TOOL,
} from '../../../src/agent/tools/tool-pair.ts';
import type { ChatMessage } from '../../../src/protocol/agent/provider.ts';
import { describeStore, type TestDatabases } from '../../database.ts';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { asks, says, ScriptedProvider, type ScriptStep } from '../../fakes/agent/scripted-provider.ts';
import { serverTools } from '../../fakes/agent/server-tools.ts';
import { TurnScenario } from '../../fakes/agent/turn-setup.ts';

const use = (name: string, args: unknown) => ({ name: USE_TOOL, args: { name, arguments: args } });

async function openSmall(databases: TestDatabases, ran: string[], ...steps: ScriptStep[]) {
  const store = await databases.open();
  const provider = new ScriptedProvider(...steps);
  provider.can = { contextWindow: 4_096, tools: true, thinking: false, vision: false };
  const scenario = new TurnScenario({
    store,
    provider,
    tools: [...riskyTools(ran), ...serverTools('big', 60, ran)],
  });
  onTestFinished(() => scenario.close());
  await scenario.start();
  return { store, provider, scenario };
}

const results = (messages: readonly ChatMessage[] | undefined) =>
  (messages ?? []).flatMap((message) => (message.role === 'tool' ? [message] : []));

describeStore('the pair of a small window', (databases) => {
  it('answers with a server of 60 tools, and finds the right one by what it does', async () => {
    const ran: string[] = [];
    const query = { name: FIND_TOOL, args: { query: 'records of kind 42' } };
    const { provider, scenario } = await openSmall(databases, ran, asks([query]), says('found'));
    expect((await scenario.ask('hi')).turn?.final?.content).toBe('found');
    expect(provider.requests[0]?.tools?.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['wipe', FIND_TOOL, USE_TOOL]),
    );
    const [found] = results(provider.requests[1]?.messages);
    expect(found?.content).toContain('big__handle_record_42: ');
    expect(found?.content).toContain('"required":["id"]');
    expect(found?.content.match(/Parameters: /g)?.length).toBeLessThanOrEqual(MAX_FOUND_TOOLS);
    // Others wrote it.
    expect(found?.content).toMatch(/^\[[0-9a-f]{16}: text of others, from the descriptions of tools/);
  });

  it('lists the names when nothing matches, and says so when there is no such tool', async () => {
    const calls = [{ name: FIND_TOOL, args: { query: 'zzz' } }, use('sudo', {})];
    const { provider, scenario } = await openSmall(databases, [], asks(calls), says('ok'));
    await scenario.ask('hi');
    const [found, used] = results(provider.requests[1]?.messages);
    expect(found?.content).toContain('No tool matches "zzz". The tools are: wipe, tell');
    expect(used?.content).toContain('There is no tool "sudo".');
  });

  it('runs a tool as itself: in events, the journal and the taint; the model reads its own call', async () => {
    const ran: string[] = [];
    const call = { ...use('big__handle_record_3', { id: 'r1' }), id: 'call_a' };
    const { store, provider, scenario } = await openSmall(
      databases,
      ran,
      asks([call]),
      says('ok'),
      says('more'),
    );
    await scenario.ask('handle it');
    expect(ran).toEqual(['big__handle_record_3 r1']);
    expect(scenario.events.filter(({ type }) => type === 'tool_call')).toEqual([
      { type: 'tool_call', toolCallId: 'call_a', name: 'big__handle_record_3', args: { id: 'r1' } },
    ]);
    const rows = await store.sql<{ name: string; sources: unknown }[]>`
      select payload ->> 'toolName' as name, payload -> 'sources' as sources
      from context where kind in ('tool_intent', 'tool_result') order by seq`;
    expect([...rows]).toEqual([
      { name: 'big__handle_record_3', sources: null },
      { name: 'big__handle_record_3', sources: ['mcp:big'] },
    ]);
    await scenario.ask('and now?');
    for (const { messages } of provider.requests.slice(1)) {
      expect(messages).toContainEqual({ role: 'assistant', content: '', toolCalls: [call] });
      expect(results(messages)[0]).toMatchObject({ toolName: USE_TOOL, toolCallId: 'call_a' });
    }
  });

  it('asks a person about the tool itself, and runs it once when it is approved', async () => {
    const ran: string[] = [];
    const steps = [asks([use('big__handle_record_7', { id: 'r9' })]), says('done')];
    const { scenario } = await openSmall(databases, ran, ...steps);
    expect((await scenario.ask('handle it')).outcome).toEqual({ kind: 'parked' });
    const { approvals, lanes } = scenario.store;
    const [asked] = await approvals.pendingApprovals({ session: 'telegram:42', limit: 9 });
    expect(asked).toMatchObject({ tool: 'big__handle_record_7', args: { id: 'r9' } });
    expect(ran).toEqual([]);
    await lanes.decide(asked?.id ?? '', 'approved', 'telegram:42');
    await scenario.run(await scenario.sweep());
    expect(ran).toEqual(['big__handle_record_7 r9']);
  });

  it('runs a hidden tool that the model calls by its own name, too', async () => {
    const ran: string[] = [];
    const call = { name: 'big__handle_record_5', args: { id: 'r2' } };
    const { scenario } = await openSmall(databases, ran, asks([call]), says('ok'));
    await scenario.ask('handle it');
    expect(ran).toEqual(['big__handle_record_5 r2']);
  });

  it.each([
    ['as an object', { name: 'wipe', arguments: { word: 'a' } }, { args: { word: 'a' } }],
    ['as text', { name: 'wipe', arguments: '{"word":"a"}' }, { args: { word: 'a' } }],
    ['beside the name', { name: 'wipe', word: 'a' }, { args: { word: 'a' } }],
    ['not at all', { name: 'wipe' }, { args: {} }],
    ['as no object', { name: 'wipe', arguments: 'a' }, { args: {}, malformed: 'a' }],
  ])('takes the arguments %s', (_how, args, direct) => {
    const tools = new Map(riskyTools([]).map((tool) => [tool.name, tool]));
    const made = directCall({ id: 'c', name: USE_TOOL, args }, tools);
    expect(made).toEqual({ id: 'c', name: 'wipe', viaUseTool: true, ...direct });
    expect(callAsMade(made)).toMatchObject({ id: 'c', name: USE_TOOL, args: { name: 'wipe' } });
  });
});
