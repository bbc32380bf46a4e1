/** What a subagent may do: no more than its turn, with what its turn has read on its mind, and plans only where it should. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type ToolContext } from '../../../src/contracts/tool.ts';
import { spawnAgent } from '../../../src/tools/spawn-agent.ts';
import { describeEmbedded } from '../../database.ts';
import { ANALYSIS, PLAN } from '../../fakes/gateway/planned-turn.ts';
import { ReplayCast } from '../../fakes/agent/replay-cast.ts';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { asks, says, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';
import { openWorld } from '../../fakes/agent/turn-setup.ts';

const spawn = (background = false) => asks([{ name: 'spawn_agent', args: { task: 'The task', background } }]);
const wipe = asks([{ name: 'wipe', args: { word: 'disk' } }]);

/** Reads a page, and tells whether its turn is known to have read one. */
function reader() {
  const tainted: (boolean | undefined)[] = [];
  const tool = defineTool({
    name: 'page',
    description: 'Reads a page of the web.',
    parameters: z.strictObject({}),
    effect: 'pure',
    risk: () => 'safe',
    reach: () => 'session',
    results: 'web',
    async execute(_args, ctx: ToolContext) {
      tainted.push(ctx.tainted);
      return { content: 'words of a stranger' };
    },
  });
  return { tool, tainted };
}

describeEmbedded('the rights of a subagent', (databases) => {
  it('let a dangerous call wait for a human with its turn, which then goes on inside it (S-45)', async () => {
    const ran: string[] = [];
    const provider = new ReplayCast({
      'Do it': [spawn(), says('All done.')],
      'The task': [wipe, says('Wiped.')],
    });
    const world = await openWorld(databases, { provider, tools: [spawnAgent, ...riskyTools(ran)] });
    const { outcome, turnId } = await world.ask('Do it');
    expect(outcome).toEqual({ kind: 'parked' });
    expect(ran).toEqual([]);
    const [question] = await world.store.approvals.pendingApprovals({ session: 'telegram:42', limit: 9 });
    expect(question).toMatchObject({ tool: 'wipe', turnId, agentId: expect.stringMatching(/^agent-/) });
    expect(world.ofAgents.map(({ type }) => type)).not.toContain('subagent_completed');
    await world.store.lanes.decide(question?.id ?? '', 'approved', 'telegram:42');
    await world.run(await world.sweep());
    expect(ran).toHaveLength(1);
    expect(await world.store.ledger.turn(turnId)).toMatchObject({ final: { content: 'All done.' } });
    expect(world.ofAgents.at(-1)).toMatchObject({ type: 'subagent_completed', result: 'Wiped.' });
    expect(provider.about('The task')).toHaveLength(2);
  });

  it('let those beside it go on where they were once the answer is there', async () => {
    const ran: string[] = [];
    const provider = new ReplayCast({
      'Do it': [
        asks(['Wipe', 'Note'].map((task) => ({ name: 'spawn_agent', args: { task } }))),
        says('Both.'),
      ],
      Wipe: [wipe, says('Wiped.')],
      Note: [asks([{ name: 'note', args: { word: 'down' } }]), says('Noted.')],
    });
    const world = await openWorld(databases, { provider, tools: [spawnAgent, ...riskyTools(ran)] });
    const { outcome, turnId } = await world.ask('Do it');
    expect(outcome).toEqual({ kind: 'parked' });
    const [question] = await world.store.approvals.pendingApprovals({ session: 'telegram:42', limit: 9 });
    await world.store.lanes.decide(question?.id ?? '', 'denied', 'telegram:42');
    await world.run(await world.sweep());
    expect(await world.store.ledger.turn(turnId)).toMatchObject({ final: { content: 'Both.' } });
    expect(ran.filter((what) => what.startsWith('wipe'))).toEqual([]);
    expect(ran).toContain('note down');
    const read = provider
      .about('Do it')
      .at(-1)
      ?.messages.filter(({ role }) => role === 'tool');
    expect(read?.map(({ content }) => content)).toEqual(['Wiped.', 'Noted.']);
  });

  it('refuse a dangerous call in the background, where nobody can be asked, and say so', async () => {
    const ran: string[] = [];
    const provider = new ReplayCast({
      'Do it': [spawn(true), says('Later.')],
      'The task': [wipe, says('I could not.')],
    });
    const world = await openWorld(databases, { provider, tools: [spawnAgent, ...riskyTools(ran)] });
    await world.ask('Do it');
    await world.run(world.background[0]);
    expect(ran).toEqual([]);
    const read = provider.about('The task')[1]?.messages.find(({ role }) => role === 'tool');
    expect(read?.content).toContain('cannot ask one');
  });

  it('are judged by what the turn has read, waited for or not', async () => {
    for (const background of [false, true]) {
      const { tool, tainted } = reader();
      const page = asks([{ name: 'page', args: {} }]);
      const provider = new ReplayCast({
        'Do it': [page, spawn(background), says('Done.')],
        'The task': [page, says('Read.')],
      });
      const world = await openWorld(databases, { provider, tools: [spawnAgent, tool] });
      await world.ask('Do it');
      if (background) await world.run(world.background[0]);
      expect(tainted).toEqual([false, true]);
    }
  });

  it('taint the turn with their result', async () => {
    const { tool, tainted } = reader();
    const provider = new ReplayCast({
      'Do it': [spawn(), asks([{ name: 'page', args: {} }]), says('Done.')],
      'The task': [says('Whatever I read.')],
    });
    const world = await openWorld(databases, { provider, tools: [spawnAgent, tool] });
    await world.ask('Do it');
    expect(tainted).toEqual([true]);
  });

  it("include a plan only where the profile says so, and it is nobody else's (N-40)", async () => {
    for (const subagentPlanningEnabled of [false, true]) {
      const plan = subagentPlanningEnabled ? [says(ANALYSIS), says(PLAN)] : [];
      const provider = new ScriptedProvider(spawn(), ...plan, says('Baked.'), says('Done.'));
      const store = await databases.open();
      const profile = { subagentPlanningEnabled };
      const world = await openWorld(databases, { provider, tools: [spawnAgent], profile, store });
      await world.ask('Do it');
      const plans = world.ofAgents.filter(({ type }) => type === 'plan_ready');
      expect(plans).toHaveLength(subagentPlanningEnabled ? 1 : 0);
      expect(world.events.map(({ type }) => type)).not.toContain('plan_ready');
      expect(await store.plans.latestPlan('telegram:42')).toBeUndefined();
      expect(await store.todos.todos('telegram:42')).toEqual([]);
      expect((await store.ledger.messages('telegram:42', { limit: 9 })).some(({ isPlan }) => isPlan)).toBe(
        false,
      );
    }
  });
});
