/** A plan in planner mode: the model checks off its todo list, and the plan follows. */
import { expect, it } from 'vitest';
import type { PlanRecord } from '../../../src/protocol/agent/plan-store.ts';
import { listDir } from '../../../src/tools/files/list-dir.ts';
import { spawnAgent } from '../../../src/tools/spawn-agent.ts';
import { createTodoTool } from '../../../src/tools/todo.ts';
import { describeStore } from '../../database.ts';
import { ANALYSIS, only, PLAN, planned, planningScenario, update } from '../../fakes/gateway/planned-turn.ts';
import { asks, says, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';
import { openScenario, type TurnScenario } from '../../fakes/agent/turn-setup.ts';

function latestPlan(scenario: TurnScenario): Promise<PlanRecord | undefined> {
  return scenario.store.plans.latestPlan('telegram:42');
}

describeStore('a plan', (databases) => {
  it('updates its steps from the todo list, up to its one terminal event', async () => {
    const script = [update(1, 'in_progress'), update(1, 'done'), update(2, 'done'), update(3, 'skipped')];
    const { scenario } = await planningScenario(
      databases,
      planned,
      says(ANALYSIS),
      says(PLAN),
      ...script,
      says('Bread.'),
    );
    await scenario.ask('Bake');
    const ticks = scenario.events.flatMap((event) =>
      event.type === 'step_changed' ? [`${event.step.id} ${event.step.status} ${event.step.attempts}`] : [],
    );
    expect(ticks).toEqual(['s1 running 1', 's1 done 1', 's2 done 1', 's3 skipped 0']);
    expect(only(scenario.events, 'plan_completed', 'plan_cancelled')).toHaveLength(1);
    const { plan } = (await latestPlan(scenario)) ?? {};
    expect(plan?.state).toBe('completed');
    expect(plan?.steps.map(({ status }) => status)).toEqual(['done', 'done', 'skipped']);
  });

  it('is revised when the model rewrites its list', async () => {
    const items = [{ text: 'Knead', status: 'done' }, { text: 'Buy bread' }];
    const rewrite = asks([{ name: 'todo', args: { action: 'replace', items } }]);
    const { scenario } = await planningScenario(
      databases,
      planned,
      says(ANALYSIS),
      says(PLAN),
      rewrite,
      says('Bread.'),
    );
    await scenario.ask('Bake');
    expect(only(scenario.events, 'plan_revised')).toHaveLength(1);
    const { plan } = (await latestPlan(scenario)) ?? {};
    expect(plan?.steps).toMatchObject([
      { id: 's2', index: 0, description: 'Knead', status: 'done' },
      { index: 1, description: 'Buy bread', executor: { kind: 'self' }, status: 'pending' },
    ]);
    expect(plan).toMatchObject({ state: 'completed', originalLength: 3 });
  });

  it('is cancelled with the reason when the iteration limit ends the turn', async () => {
    const profile = { ...planned, maxIterations: 1 };
    const { scenario } = await planningScenario(
      databases,
      profile,
      says(ANALYSIS),
      says(PLAN),
      update(1, 'done'),
    );
    await scenario.ask('Bake');
    const why = { key: 'cancelled.max_iterations' };
    const because = { reason: 'The maximum number of steps was reached.', why };
    expect(only(scenario.events, 'plan_completed', 'plan_cancelled')).toEqual([
      { type: 'plan_cancelled', ...because },
    ]);
    const stored = { state: 'cancelled', ...because };
    expect((await latestPlan(scenario))?.plan).toMatchObject(stored);
  });

  it('keeps open a todo that was done without a validation, where the profile requires one (N-38)', async () => {
    const profile = { ...planned, stepValidationEnabled: true };
    const checked = asks([
      { name: 'todo', args: { action: 'update', index: 1, status: 'done', validation: 'I looked.' } },
    ]);
    const script = [says(ANALYSIS), says(PLAN), update(1, 'done'), checked, says('Bread.')];
    const { scenario } = await planningScenario(databases, profile, ...script);
    await scenario.ask('Bake');
    expect(only(scenario.events, 'tool_result')).toMatchObject([
      { isError: true, result: expect.stringContaining('validation') },
      { isError: false, result: expect.stringContaining('1. [done] Look around') },
    ]);
    expect(only(scenario.events, 'step_changed')).toHaveLength(1);
    expect((await latestPlan(scenario))?.plan.steps[0]?.status).toBe('done');
  });

  it('asks for a new plan only in the request right after a failed todo (N-39, N-46)', async () => {
    const profile = { ...planned, adaptiveReplanEnabled: true };
    const script = [update(1, 'done'), update(2, 'failed'), update(3, 'done'), says('Bread.')];
    const { scenario, provider } = await planningScenario(
      databases,
      profile,
      says(ANALYSIS),
      says(PLAN),
      ...script,
    );
    await scenario.ask('Bake');
    const asked = provider.requests.map(
      ({ messages }) => messages.at(-1)?.content.includes('make a new plan') ?? false,
    );
    expect(asked).toEqual([false, false, false, false, true, false]);
  });

  it('warns a turn without progress at its ninth request, with one request per iteration (N-37, N-45, N-47)', async () => {
    const look = asks([{ name: 'list_dir', args: {} }]);
    const looks = Array.from({ length: 9 }, () => look);
    const { scenario, provider } = await planningScenario(databases, {}, ...looks, says('I give up.'));
    await scenario.ask('Find it');
    const warned = provider.requests.map(({ messages }) =>
      messages.at(-1)?.content.includes('without progress'),
    );
    expect(warned).toEqual([...Array.from({ length: 8 }, () => false), true, false]);
    expect(await scenario.store.ledger.messages('telegram:42', { limit: 10 })).toHaveLength(2);
  });

  it('follows changes to the list by subagents, whose own plans do not follow it (N-10)', async () => {
    const spawn = asks([{ name: 'spawn_agent', args: { task: 'Look around' } }]);
    const child = [says(ANALYSIS), says(PLAN), update(2, 'done'), says('I looked.')];
    const provider = new ScriptedProvider(says(ANALYSIS), says(PLAN), spawn, ...child, says('Bread.'));
    const store = await databases.open();
    const tools = [spawnAgent, listDir, createTodoTool(store.todos)];
    const profile = { ...planned, subagentPlanningEnabled: true };
    const scenario = await openScenario(databases, { store, provider, tools, profile });
    await scenario.ask('Bake');
    const statuses = (await store.todos.todos('telegram:42')).map(({ status }) => status);
    expect(statuses).toEqual(['pending', 'done', 'pending']);
    const own = scenario.ofAgents.map(({ type }) => type);
    expect(own).toContain('plan_ready');
    expect(own).not.toContain('plan_revised');
    expect(only(scenario.events, 'step_changed')).toMatchObject([{ step: { id: 's2', status: 'done' } }]);
    expect((await latestPlan(scenario))?.plan.steps.map(({ status }) => status)).toEqual(statuses);
  });
});
