/** What a subagent may do: no more than its turn, with the taint of its turn, and plans only where it should. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type ToolContext } from '../../../src/protocol/agent/tool.ts';
import { taints } from '../../../src/protocol/agent/risk.ts';
import { spawnAgent } from '../../../src/tools/spawn-agent.ts';
import { describeStore } from '../../database.ts';
import { ANALYSIS, PLAN } from '../../fakes/gateway/planned-turn.ts';
import { ReplayProvider } from '../../fakes/agent/replay-provider.ts';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { asks, says, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';
import { openScenario } from '../../fakes/agent/turn-setup.ts';

const spawn = (background = false) => asks([{ name: 'spawn_agent', args: { task: 'The task', background } }]);
const wipe = asks([{ name: 'wipe', args: { word: 'disk' } }]);

/** Reads a page, and reports whether its turn is known to have read one. */
function reader() {
  const tainted: boolean[] = [];
  const tool = defineTool({
    name: 'page',
    description: 'Reads a page of the web.',
    parameters: z.strictObject({}),
    effect: 'pure',
    risk: () => 'safe',
    reach: () => 'session',
    results: 'web',
    async execute(_args, ctx: ToolContext) {
      tainted.push(ctx.sources !== undefined && taints(ctx.sources));
      return { content: 'text from a stranger' };
    },
  });
  return { tool, tainted };
}

describeStore('the rights of a subagent', (databases) => {
  it('let a dangerous call wait for a human with its turn, which then continues inside the subagent (S-45)', async () => {
    const ran: string[] = [];
    const provider = new ReplayProvider({
      'Do it': [spawn(), says('All done.')],
      'The task': [wipe, says('Wiped.')],
    });
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent, ...riskyTools(ran)] });
    const { outcome, turnId } = await scenario.ask('Do it');
    expect(outcome).toEqual({ kind: 'parked' });
    expect(ran).toEqual([]);
    const [question] = await scenario.store.approvals.pendingApprovals({ session: 'telegram:42', limit: 9 });
    expect(question).toMatchObject({ tool: 'wipe', turnId, agentId: expect.stringMatching(/^agent-/) });
    expect(scenario.ofAgents.map(({ type }) => type)).not.toContain('subagent_completed');
    await scenario.store.lanes.decide(question?.id ?? '', 'approved', 'telegram:42');
    await scenario.run(await scenario.sweep());
    expect(ran).toHaveLength(1);
    expect(await scenario.store.ledger.turn(turnId)).toMatchObject({ final: { content: 'All done.' } });
    expect(scenario.ofAgents.at(-1)).toMatchObject({ type: 'subagent_completed', result: 'Wiped.' });
    expect(provider.about('The task')).toHaveLength(2);
  });

  it('let the other subagents continue where they left off once the answer arrives', async () => {
    const ran: string[] = [];
    const provider = new ReplayProvider({
      'Do it': [
        asks(['Wipe', 'Note'].map((task) => ({ name: 'spawn_agent', args: { task } }))),
        says('Both.'),
      ],
      Wipe: [wipe, says('Wiped.')],
      Note: [asks([{ name: 'note', args: { word: 'down' } }]), says('Noted.')],
    });
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent, ...riskyTools(ran)] });
    const { outcome, turnId } = await scenario.ask('Do it');
    expect(outcome).toEqual({ kind: 'parked' });
    const [question] = await scenario.store.approvals.pendingApprovals({ session: 'telegram:42', limit: 9 });
    await scenario.store.lanes.decide(question?.id ?? '', 'denied', 'telegram:42');
    await scenario.run(await scenario.sweep());
    expect(await scenario.store.ledger.turn(turnId)).toMatchObject({ final: { content: 'Both.' } });
    expect(ran.filter((what) => what.startsWith('wipe'))).toEqual([]);
    expect(ran).toContain('note down');
    const read = provider
      .about('Do it')
      .at(-1)
      ?.messages.filter(({ role }) => role === 'tool');
    expect(read?.map(({ content }) => content)).toEqual(['Wiped.', 'Noted.']);
  });

  it('refuse a dangerous call in the background, where no one can be asked, with a result for the model', async () => {
    const ran: string[] = [];
    const provider = new ReplayProvider({
      'Do it': [spawn(true), says('Later.')],
      'The task': [wipe, says('I could not.')],
    });
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent, ...riskyTools(ran)] });
    await scenario.ask('Do it');
    await scenario.run(scenario.background[0]);
    expect(ran).toEqual([]);
    const read = provider.about('The task')[1]?.messages.find(({ role }) => role === 'tool');
    expect(read?.content).toContain('a background subagent cannot ask');
  });

  it('depend on what the turn has read, whether the turn waits or not', async () => {
    for (const background of [false, true]) {
      const { tool, tainted } = reader();
      const page = asks([{ name: 'page', args: {} }]);
      const provider = new ReplayProvider({
        'Do it': [page, spawn(background), says('Done.')],
        'The task': [page, says('Read.')],
      });
      const scenario = await openScenario(databases, { provider, tools: [spawnAgent, tool] });
      await scenario.ask('Do it');
      if (background) await scenario.run(scenario.background[0]);
      expect(tainted).toEqual([false, true]);
    }
  });

  it('taint the turn with their result', async () => {
    const { tool, tainted } = reader();
    const page = asks([{ name: 'page', args: {} }]);
    const provider = new ReplayProvider({
      'Do it': [spawn(), page, says('Done.')],
      'The task': [page, says('Whatever I read.')],
    });
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent, tool] });
    await scenario.ask('Do it');
    expect(tainted).toEqual([false, true]);
    const answer = provider
      .about('Do it')
      .at(-1)
      ?.messages.find(({ role }) => role === 'tool');
    expect(answer?.content).toMatch(
      /^\[([0-9a-f]{16}): text of others, from a subagent\..*\]\nWhatever I read\.\n\[\1: end\]$/,
    );
  });

  it('do not taint it when they have read no text of others', async () => {
    const { tool, tainted } = reader();
    const provider = new ReplayProvider({
      'Do it': [spawn(), asks([{ name: 'page', args: {} }]), says('Done.')],
      'The task': [says('Twelve.')],
    });
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent, tool] });
    await scenario.ask('Do it');
    expect(tainted).toEqual([false]);
  });

  it("include a plan only when the profile allows it, and it is no one else's (N-40)", async () => {
    for (const subagentPlanningEnabled of [false, true]) {
      const plan = subagentPlanningEnabled ? [says(ANALYSIS), says(PLAN)] : [];
      const provider = new ScriptedProvider(spawn(), ...plan, says('Baked.'), says('Done.'));
      const store = await databases.open();
      const profile = { subagentPlanningEnabled };
      const scenario = await openScenario(databases, { provider, tools: [spawnAgent], profile, store });
      await scenario.ask('Do it');
      const plans = scenario.ofAgents.filter(({ type }) => type === 'plan_ready');
      expect(plans).toHaveLength(subagentPlanningEnabled ? 1 : 0);
      expect(scenario.events.map(({ type }) => type)).not.toContain('plan_ready');
      expect(await store.plans.latestPlan('telegram:42')).toBeUndefined();
      expect(await store.todos.todos('telegram:42')).toEqual([]);
      expect((await store.ledger.messages('telegram:42', { limit: 9 })).some(({ isPlan }) => isPlan)).toBe(
        false,
      );
    }
  });
});
