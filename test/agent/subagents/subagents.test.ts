/** Subagents that a turn waits for: what they are given and what they leave behind. */
import { expect, it } from 'vitest';
import { defaultProfile } from '../../../src/agent/profiles/built-in.ts';
import type { Profile } from '../../../src/protocol/agent/profile.ts';
import { defineTool, type ToolContext } from '../../../src/protocol/agent/tool.ts';
import { readFile } from '../../fakes/tool-options.ts';
import { spawnAgent } from '../../../src/tools/spawn-agent.ts';
import { writeFile } from '../../../src/tools/files/write-file.ts';
import { describeStore } from '../../database.ts';
import { ANALYSIS, PLAN } from '../../fakes/gateway/planned-turn.ts';
import { ReplayProvider } from '../../fakes/agent/replay-provider.ts';
import { asks, says, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';
import { parts, probe, resultOf, spawn } from '../../fakes/agent/spawning.ts';
import { openScenario } from '../../fakes/agent/turn-setup.ts';

describeStore('a subagent that its turn waits for', (databases) => {
  it('returns its last text and that it completed normally, and leaves no session, message or turn, only its journal (N-04, N-06)', async () => {
    const provider = new ReplayProvider(
      parts([asks([{ name: 'probe', args: {} }], 'Looking.'), says('The result.')]),
    );
    const { tool } = probe();
    const store = await databases.open();
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent, tool], store });
    const { turn, turnId } = await scenario.ask('Do it');
    expect(turn).toMatchObject({ reason: 'completed', final: { content: 'I ask.\n\nAll done.' } });
    expect(resultOf(scenario.events)).toMatchObject([{ result: 'The result.', isError: false }]);
    const [counts] = await store.sql`
      select (select count(*)::int from session) as sessions, (select count(*)::int from turn) as turns,
        (select count(*)::int from message) as messages,
        (select count(*)::int from context where turn_id <> ${turnId}) as others`;
    expect(counts).toEqual({ sessions: 1, turns: 1, messages: 2, others: 4 });
    const spent = await store.sql`select purpose, user_id, turn_id from usage order by purpose`;
    expect(spent).toMatchObject([
      { purpose: 'subagent', user_id: 'telegram:42', turn_id: turnId },
      { purpose: 'turn' },
    ]);
  });

  it('emits its events while it works, between spawned and completed, separate from the text of the turn (N-56, B-46)', async () => {
    const provider = new ReplayProvider(
      parts([asks([{ name: 'probe', args: {} }]), says('The ', 'result.')]),
    );
    const { tool, seen } = probe();
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent, tool] });
    await scenario.ask('Do it');
    const types = scenario.ofAgents.map((event) => event.type);
    expect([types.at(0), types.at(-1)]).toEqual(['subagent_spawned', 'subagent_completed']);
    expect(types).toEqual(expect.arrayContaining(['tool_call', 'tool_result', 'stream_chunk']));
    expect(types).not.toContain('turn_started');
    expect(new Set(scenario.ofAgents.map((event) => event.agentId))).toEqual(new Set([seen[0]?.agentId]));
    expect(scenario.shown()).toBe('I ask.\n\nAll done.');
  });

  it('gives its tools the session, user, folder and turn of the parent, and its own id (N-10, N-12)', async () => {
    const { tool, seen } = probe();
    const both = asks([{ name: 'probe', args: {} }]);
    const provider = new ReplayProvider({
      'Do it': [both, asks([spawn('The task')]), both, says('Done.')],
      'The task': [both, says('Done.')],
    });
    const owners = ['telegram:42'];
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent, tool], owners });
    const { turnId } = await scenario.ask('Do it', { senderName: 'Ann' });
    const [before, inside, after] = seen;
    const place = ({ sessionKey, address, userId, userName, userRole, model, workspace }: ToolContext) => {
      return { sessionKey, address, userId, userName, userRole, model, workspace };
    };
    if (before === undefined || inside === undefined || after === undefined)
      throw new Error('not all were called');
    expect(place(before)).toMatchObject({ userName: 'Ann', userRole: 'owner', model: 'test-model' });
    expect(place(inside)).toEqual(place(before));
    expect(inside).toMatchObject({ turnId, agentId: expect.stringMatching(/^agent-/), spawn: undefined });
    expect(after).toMatchObject({ turnId, agentId: undefined, sessionKey: 'telegram:42' });
    expect(new Set(seen.map(({ callKey }) => callKey)).size).toBe(3);
  });

  it('sees nothing of the conversation or of its siblings, each under its own id (N-07)', async () => {
    const provider = new ReplayProvider({
      Remember: [says('The word is plum.')],
      'Do it': [asks([spawn('First task'), spawn('Second task')], 'I ask two.'), says('Done.')],
      'First task': [says('First result.')],
      'Second task': [says('Second result.')],
    });
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent] });
    await scenario.ask('Remember the plum');
    await scenario.ask('Do it');
    for (const task of ['First task', 'Second task']) {
      const [request] = provider.about(task);
      expect(request?.messages.filter(({ role }) => role !== 'system')).toEqual([
        { role: 'user', content: task },
      ]);
    }
    const ids = scenario.ofAgents
      .filter(({ type }) => type === 'subagent_spawned')
      .map(({ agentId }) => agentId);
    expect(new Set(ids).size).toBe(2);
  });

  it('leaves the tool context of its parent unchanged when it fails (N-12)', async () => {
    const { tool, seen } = probe();
    const look = asks([{ name: 'probe', args: {} }]);
    const provider = new ReplayProvider({
      'Do it': [look, asks([spawn('The task')]), look, says('Done.')],
      'The task': [],
    });
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent, tool] });
    await scenario.ask('Do it', { senderName: 'Ann' });
    const identity = ({ sessionKey, address, turnId, agentId, profileId, ...ctx }: ToolContext) => {
      const { model, userId, userRole, userName } = ctx;
      return { sessionKey, model, userId, userRole, userName, address, turnId, agentId, profileId };
    };
    const [before, after] = seen.map(identity);
    expect(before).toMatchObject({
      sessionKey: 'telegram:42',
      model: 'test-model',
      userId: 'telegram:42',
      userRole: 'user',
      userName: 'Ann',
    });
    expect(after).toEqual(before);
  });

  it('knows its own session among 50 at once (N-13)', async () => {
    const { tool, seen } = probe();
    const look = asks([{ name: 'probe', args: {} }]);
    const provider = new ReplayProvider({
      'Do it': [asks([spawn('The task')]), look, says('Done.')],
      'The task': [look, says('Done.')],
    });
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent, tool] });
    const chats = Array.from({ length: 50 }, (_, n) => String(100 + n));
    const turns = await Promise.all(
      chats.map((chat) => scenario.ask('Do it', { chatId: chat, senderId: chat })),
    );
    for (const [n, { turnId }] of turns.entries()) {
      const own = seen.filter((ctx) => ctx.turnId === turnId);
      expect(own.map(({ sessionKey, userId }) => [sessionKey, userId])).toEqual(
        Array.from({ length: 2 }, () => [`telegram:${chats[n]}`, `telegram:${chats[n]}`]),
      );
      expect(own.map(({ agentId }) => agentId === undefined)).toEqual([false, true]);
    }
  });

  it('writes files where its parent finds them (N-10)', async () => {
    const file = { path: 'note.txt', content: 'from the subagent' };
    const provider = new ReplayProvider({
      'Do it': [
        asks([spawn('The task')]),
        asks([{ name: 'read_file', args: { path: 'note.txt' } }]),
        says('Done.'),
      ],
      'The task': [asks([{ name: 'write_file', args: file }]), says('Written.')],
    });
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent, writeFile, readFile] });
    await scenario.ask('Do it');
    expect(scenario.events).toContainEqual(
      expect.objectContaining({
        type: 'tool_result',
        name: 'read_file',
        result: expect.stringContaining(file.content),
      }),
    );
  });

  it('has only the tools of its parent, and never message or spawn_agent (B-32, N-11)', async () => {
    const { tool } = probe();
    const named = (name: string) => defineTool({ ...tool, name });
    const all = ['message', 'one', 'two', 'three'].map(named);
    const table: [Partial<Profile>, string[]][] = [
      [{ enabledTools: ['spawn_agent', 'message', 'one', 'two'], subagentTools: [] }, ['one', 'two']],
      [
        {
          enabledTools: ['spawn_agent', 'message', 'one', 'two'],
          subagentTools: ['two', 'three', 'message'],
        },
        ['two'],
      ],
      [{ enabledTools: ['spawn_agent'], subagentTools: [] }, []],
    ];
    for (const [profile, tools] of table) {
      const provider = new ReplayProvider(parts([says('Done.')]));
      const scenario = await openScenario(databases, { provider, tools: [spawnAgent, ...all], profile });
      await scenario.ask('Do it');
      expect(provider.about('The task')[0]?.tools?.map(({ name }) => name) ?? []).toEqual(tools);
    }
  });

  it('has its own tools, even those its parent lacks, when the profile of the turn delegates to it (N-11)', async () => {
    const { tool } = probe();
    const coder: Profile = { ...defaultProfile(), id: 'coder', enabledTools: ['probe', 'spawn_agent'] };
    const ask = async (delegatesTo: string[]) => {
      const provider = new ReplayProvider(parts([says('Done.')], { profile_id: 'coder' }));
      const profile = { enabledTools: ['spawn_agent'], delegatesTo };
      const scenario = await openScenario(databases, {
        provider,
        tools: [spawnAgent, tool],
        profile,
        others: [coder],
      });
      await scenario.ask('Do it');
      const [asked] = provider.about('Do it');
      return {
        tools: provider.about('The task')[0]?.tools?.map(({ name }) => name) ?? [],
        isNamed: asked?.messages[0]?.content.includes('coder') ?? false,
      };
    };
    expect(await ask(['coder'])).toEqual({ tools: ['probe'], isNamed: true });
    expect(await ask([])).toEqual({ tools: [], isNamed: false });
  });

  it('has the model, prompt and tools of the given profile (N-09)', async () => {
    const { tool } = probe();
    const other: Profile = {
      ...defaultProfile('Somebody.'),
      id: 'other',
      model: 'other-model',
      subagentSystemPrompt: 'You are the other one.',
      enabledTools: ['probe', 'spawn_agent'],
    };
    const provider = new ReplayProvider(parts([says('Done.')], { profile_id: 'other' }));
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent, tool], others: [other] });
    await scenario.ask('Do it');
    const [request] = provider.about('The task');
    expect(request).toMatchObject({ model: 'other-model', tools: [{ name: 'probe' }] });
    expect(request?.messages[0]).toMatchObject({
      role: 'system',
      content: 'Somebody.\n\n---\n\nYou are the other one.',
    });
    expect(scenario.ofAgents[0]).toMatchObject({
      type: 'subagent_spawned',
      profileId: 'other',
      task: 'The task',
    });
  });

  it.each([false, true])(
    'plans if the given profile has `subagentPlanningEnabled: %s`, whatever the profile of its turn has (N-09, N-40)',
    async (subagentPlanningEnabled) => {
      const other: Profile = { ...defaultProfile(), id: 'other', subagentPlanningEnabled };
      const plan = subagentPlanningEnabled ? [says(ANALYSIS), says(PLAN)] : [];
      const script = [asks([spawn('The task', { profile_id: 'other' })]), ...plan, says('Baked.')];
      const scenario = await openScenario(databases, {
        provider: new ScriptedProvider(...script, says('Done.')),
        tools: [spawnAgent],
        profile: { subagentPlanningEnabled: !subagentPlanningEnabled },
        others: [other],
      });
      await scenario.ask('Do it');
      const plans = scenario.ofAgents.filter(({ type }) => type === 'plan_ready');
      expect(plans).toHaveLength(subagentPlanningEnabled ? 1 : 0);
      expect(resultOf(scenario.events)).toMatchObject([{ result: 'Baked.', isError: false }]);
      expect(scenario.events.map(({ type }) => type)).not.toContain('plan_ready');
    },
  );

  it("has the session's profile of that moment when none is given, and refuses an unknown one (N-08)", async () => {
    const other: Profile = {
      ...defaultProfile('Somebody.'),
      id: 'other',
      subagentSystemPrompt: 'The new one.',
    };
    const store = await databases.open();
    const switching = defineTool({
      ...probe().tool,
      name: 'switch',
      execute: async () => {
        await store.ledger.updateSession('telegram:42', { profileId: 'other' });
        return { content: 'switched' };
      },
    });
    const provider = new ReplayProvider({
      'Do it': [
        asks([{ name: 'switch', args: {} }]),
        asks([spawn('The task')]),
        asks([spawn('Nothing', { profile_id: 'nowhere' })]),
        says('Done.'),
      ],
      'The task': [says('Done.')],
    });
    const scenario = await openScenario(databases, {
      provider,
      tools: [spawnAgent, switching],
      others: [other],
      store,
    });
    await scenario.ask('Do it');
    expect(provider.about('The task')[0]?.messages[0]?.content).toContain('The new one.');
    expect(resultOf(scenario.events)[1]).toMatchObject({
      isError: true,
      result: 'No subagent was made. There is no profile "nowhere". Profiles: default, other.',
    });
  });
});
