/** Every model call of a turn holds at a budget: planning, subagents and workers too; and costs nothing while none is set. */
import { expect, it, vi } from 'vitest';
import type { ApprovalRecord } from '../../../src/protocol/agent/approvals.ts';
import { spawnAgent } from '../../../src/tools/spawn-agent.ts';
import { describeStore } from '../../database.ts';
import { ReplayProvider } from '../../fakes/agent/replay-provider.ts';
import { asks, says, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';
import { resultOf, spawn } from '../../fakes/agent/spawning.ts';
import { openScenario, type TurnScenario } from '../../fakes/agent/turn-setup.ts';
import { ANALYSIS, PLAN, planned, update } from '../../fakes/gateway/planned-turn.ts';
import { partial } from '../../fakes/partial.ts';

/** What owners add, in tokens. */
const MORE = 100_000;

async function question({ store }: TurnScenario): Promise<ApprovalRecord> {
  const [request] = await store.approvals.pendingApprovals({ limit: 2 });
  if (request?.budget === undefined) throw new Error('No one is asked about a budget.');
  return request;
}

/** An owner adds to the budget that a turn waits for. */
async function add(scenario: TurnScenario): Promise<void> {
  const { id, budget } = await question(scenario);
  const change = { key: budget?.key ?? '', more: MORE };
  expect(await scenario.store.lanes.decide(id, 'approved', 'telegram:1', { budget: change })).toBe(true);
}

/** What is spent and reserved, by scope and subject. */
async function spent({ store }: TurnScenario): Promise<Record<string, [number, number]>> {
  const states = await store.budgets.states({ since: new Date(0), limit: 100 });
  return Object.fromEntries(
    [...states].map(([key, state]) => [key.replace(/\/tokens\/[^/]+/, ''), [state.spent, state.held]]),
  );
}

describeStore('a budget', (databases) => {
  it('holds the calls of planning, and counts them with the plan that they make', async () => {
    const provider = new ScriptedProvider(says(ANALYSIS), says(PLAN), update(1, 'done'), says('Bread.'));
    const budgets = { limits: { tokensPerDay: 100, plan: { tokensPerDay: MORE } } };
    const scenario = await openScenario(databases, { provider, profile: planned, budgets });
    const { outcome } = await scenario.ask('Bake');
    expect(outcome.kind).toBe('parked');
    expect(provider.requests).toHaveLength(0);
    await add(scenario);
    await scenario.run(await scenario.sweep());
    expect(scenario.events.at(-1)).toMatchObject({ type: 'turn_ended', reason: 'completed' });
    const { plan } = (await scenario.store.plans.latestPlan('telegram:42')) ?? {};
    const usage = await scenario.store.usage.sum({ from: new Date(0), to: new Date(Date.now() + 1_000) });
    const all = usage.promptTokens + usage.completionTokens;
    const { [`plan/${plan?.id}`]: ofPlan, ...others } = await spent(scenario);
    expect(others).toEqual({ 'person/telegram:42': [all, 0] });
    // The plan exists once its calls are made: they count for the person alone.
    expect(ofPlan).toEqual([all - 2 * 15, 0]);
  });

  it('parks the turn whose subagent has nothing left, and goes on with the subagent', async () => {
    const provider = new ReplayProvider({
      'Do it': [asks([spawn('The task')]), says('All done.')],
      'The task': [says('The result.')],
    });
    // Enough for what the turn reserves, and not for what the subagent does besides.
    const scenario = await openScenario(databases, {
      provider,
      tools: [spawnAgent],
      budgets: { limits: { total: { tokensPerDay: 7_000 } } },
    });
    expect((await scenario.ask('Do it')).outcome.kind).toBe('parked');
    expect(provider.about('The task')).toHaveLength(0);
    await add(scenario);
    await scenario.run(await scenario.sweep());
    expect(resultOf(scenario.events)).toMatchObject([{ result: 'The result.' }]);
    expect(provider.about('Do it').length + provider.about('The task').length).toBe(3);
    expect(await spent(scenario)).toEqual({ 'total/': [3 * 15, 0] });
  });

  it('ends a subagent in the background, which can ask no one, with the reason', async () => {
    const provider = new ReplayProvider({
      'Do it': [asks([spawn('The task', { background: true })]), says('It is being done.')],
      '[Report of': [says('It could not be done.')],
    });
    const scenario = await openScenario(databases, {
      provider,
      tools: [spawnAgent],
      budgets: { limits: { total: { tokensPerDay: 7_000 } } },
    });
    await scenario.ask('Do it');
    const key = `total/tokens/${new Date().toISOString().slice(0, 10)}/`;
    await scenario.store.budgets.reserve({ holder: 'other work' }, [
      { key, limit: 7_000, inTokens: true, amount: 6_900 },
    ]);
    const outcome = await scenario.run(scenario.background[0]);
    if (outcome.kind !== 'finished') throw new Error(`It was ${outcome.kind}.`);
    const messages = await scenario.store.ledger.messages('telegram:42', { limit: 9 });
    expect(messages.at(-1)?.content).toContain(
      'The budget of 7,000 tokens a day for everything together is used up',
    );
  });

  it('counts a scheduled task for the person who made it and for the schedule', async () => {
    const scenario = await openScenario(databases, {
      provider: new ScriptedProvider(says('Done.')),
      budgets: { limits: { tokensPerDay: MORE, schedule: { tokensPerDay: MORE } } },
    });
    const payer = { person: 'telegram:7', schedule: 'daily' };
    await scenario.ask('The task', {
      channel: 'system',
      senderId: 'schedule:daily',
      sessionKey: 'telegram:42',
      payer,
    });
    expect(await spent(scenario)).toEqual({ 'person/telegram:7': [15, 0], 'schedule/daily': [15, 0] });
  });

  it('counts a title, and makes none where nothing is left for it', async () => {
    const titled = async (limit: number) => {
      const scenario = await openScenario(databases, {
        provider: new ReplayProvider({ 'Say hello': [says('Hello.')], '': [says('Greetings')] }),
        afterTurn: { title: true },
        budgets: { limits: { total: { tokensPerDay: limit } } },
      });
      await scenario.ask('Say hello');
      await vi.waitFor(() => expect(scenario.types()).toContain('session_titled'));
      await scenario.agent.close();
      return await spent(scenario);
    };
    expect(await titled(MORE)).toEqual({ 'total/': [2 * 15, 0] });
  });

  it('asks again only as often as about any call, and then says that nothing is left', async () => {
    const scenario = await openScenario(databases, {
      provider: new ScriptedProvider(),
      budgets: { limits: { tokensPerDay: 100 } },
    });
    let outcome = (await scenario.ask('Hello')).outcome.kind;
    let questions = 0;
    while (outcome === 'parked') {
      questions += 1;
      const { id, budget } = await question(scenario);
      const change = { key: budget?.key ?? '', more: 1 };
      await scenario.store.lanes.decide(id, 'approved', 'telegram:1', { budget: change });
      outcome = (await scenario.run(await scenario.sweep())).kind;
    }
    expect(questions).toBe(3);
    expect(scenario.shown()).toContain('The budget of 100 tokens a day of `telegram:42` is used up');
  });

  it('costs no statement while none is set', async () => {
    const store = await databases.open();
    const scenario = await openScenario(databases, {
      store: { ...store, budgets: partial({}), usage: partial({}) },
      provider: new ScriptedProvider(says('Hello.')),
      around: (ledger) => ({
        ...ledger,
        async finishTurn(fence, finish) {
          expect(finish.settles).toBeUndefined();
          return await ledger.finishTurn(fence, finish);
        },
      }),
    });
    await scenario.ask('Say hello');
    expect(scenario.shown()).toBe('Hello.');
  });
});
