/** Plans in the store: one statement creates all of it, and nothing twice. */
import { expect, it } from 'vitest';
import type { Plan } from '../../../src/protocol/agent/plan.ts';
import type { PlanningRecord } from '../../../src/protocol/agent/plan-store.ts';
import { describeStore } from '../../database.ts';
import { finished, said, startTurn } from '../lanes/turns.ts';

export const USAGE = { promptTokens: 10, completionTokens: 5, modelMs: 7 };

export function somePlan(change: Partial<Plan> = {}): Plan {
  const step = { executor: { kind: 'self' as const }, risk: 'safe' as const, status: 'pending' as const };
  return {
    id: 'plan-1',
    goal: 'Bake bread',
    milestones: ['Dough'],
    steps: ['Knead', 'Bake'].map((description, index) => ({
      ...step,
      id: `s${index + 1}`,
      index,
      description,
      attempts: 0,
      corrections: 0,
    })),
    mode: 'planner',
    state: 'running',
    originalLength: 2,
    ...change,
  };
}

function planning(plan = somePlan()): PlanningRecord {
  const content = 'My plan: knead, bake';
  return {
    made: {
      plan,
      card: '1. Knead\n2. Bake\u0000',
      todos: plan.steps.map(({ description }) => ({ text: description, status: 'pending' })),
      rows: [
        said('Bake bread'),
        { iteration: 0, entry: { kind: 'plan', planId: plan.id, content }, tokens: 8 },
      ],
    },
    userId: 'telegram:42',
    model: 'test',
    usage: USAGE,
  };
}

describeStore('plans', (databases) => {
  it('stores a plan with its card, its todo list, its context and its cost at once (N-26, N-27)', async () => {
    const store = await databases.open();
    const { head, turnId } = await startTurn(store);
    await store.ledger.openTurn(head, turnId, 50);
    await store.ledger.storePlan(head, turnId, planning());
    await store.ledger.storePlan(head, turnId, planning());
    const session = 'telegram:42';
    const messages = await store.ledger.messages(session, { limit: 10 });
    expect(messages.map(({ seq, role, isPlan }) => ({ seq, role, isPlan }))).toEqual([
      { seq: 1, role: 'user', isPlan: false },
      { seq: 2, role: 'assistant', isPlan: true },
    ]);
    expect(messages[1]?.content).toBe('1. Knead\n2. Bake\u2400');
    expect(await store.todos.todos(session)).toEqual([
      { text: 'Knead', status: 'pending' },
      { text: 'Bake', status: 'pending' },
    ]);
    expect((await store.plans.latestPlan(session))?.plan).toEqual(somePlan());
    expect(await store.plans.plan('plan-1')).toMatchObject({ session, turnId, plan: somePlan() });
    const opened = await store.ledger.openTurn(head, turnId, 50);
    expect(opened.plan).toEqual(somePlan());
    expect(opened.journal.map(({ entry }) => entry.kind)).toEqual(['user', 'plan']);
    expect(await store.sql`select purpose, user_id, prompt_tokens from usage`).toEqual([
      { purpose: 'plan', user_id: 'telegram:42', prompt_tokens: 10 },
    ]);
    await store.ledger.finishTurn(head, finished(turnId, 'Bread.'));
    const turn = await store.ledger.turn(turnId);
    expect(turn).toMatchObject({ final: { content: 'Bread.', seq: 3 }, usage: { promptTokens: 20 } });
  });

  it('stores the usage of planning without a plan once', async () => {
    const store = await databases.open();
    const { head, turnId } = await startTurn(store);
    const direct = { ...planning(), made: undefined };
    await store.ledger.storePlan(head, turnId, direct);
    await store.ledger.storePlan(head, turnId, direct);
    expect(await store.sql`select purpose from usage`).toEqual([{ purpose: 'plan' }]);
    expect(await store.plans.latestPlan('telegram:42')).toBeUndefined();
    expect((await store.ledger.openTurn(head, turnId, 50)).plan).toBeUndefined();
  });

  it('changes a plan together with the todo list, and neither for a node that was fenced off', async () => {
    const store = await databases.open();
    const { head, turnId } = await startTurn(store);
    await store.ledger.storePlan(head, turnId, planning());
    const done = somePlan({ state: 'completed' });
    await store.ledger.updatePlan(head, done, [{ text: 'Knead', status: 'done' }]);
    expect((await store.plans.plan('plan-1'))?.plan).toEqual(done);
    expect(await store.todos.todos('telegram:42')).toEqual([{ text: 'Knead', status: 'done' }]);
    const stale = { ...head, epoch: head.epoch - 1 };
    const refused = { code: 'fenced' };
    await expect(store.ledger.updatePlan(stale, somePlan(), [])).rejects.toMatchObject(refused);
    const other = planning(somePlan({ id: 'plan-2' }));
    await expect(store.ledger.storePlan(stale, turnId, other)).rejects.toMatchObject(refused);
    expect((await store.plans.latestPlan('telegram:42'))?.plan).toEqual(done);
    expect(await store.todos.todos('telegram:42')).toHaveLength(1);
  });

  it('deletes the plan with its session', async () => {
    const store = await databases.open();
    const { head, turnId } = await startTurn(store);
    await store.ledger.storePlan(head, turnId, planning());
    await store.ledger.deleteSession('telegram:42');
    expect(await store.plans.plan('plan-1')).toBeUndefined();
    expect(await store.todos.todos('telegram:42')).toEqual([]);
  });

  it('keeps a user’s change for the next step, lets no step start before it, and refuses a stale one', async () => {
    const store = await databases.open();
    const { head, turnId } = await startTurn(store);
    await store.ledger.storePlan(head, turnId, planning(somePlan({ mode: 'agentic' })));
    const before = await store.plans.plan('plan-1');
    if (before === undefined) throw new Error('there is no plan');
    const edit = { version: 2, edits: [{ op: 'drop' as const, step: 's2' }] };
    expect(await store.plans.changePlan(before, { edit })).toBe(true);
    expect(await store.plans.changePlan(before, { edit })).toBe(false);
    const shown = await store.plans.plan('plan-1');
    expect(shown).toMatchObject({ pendingEdits: 1, plan: { version: 2, steps: [{ id: 's1' }] } });
    const made = somePlan({ mode: 'agentic' });
    const begun = made.steps.map((step) =>
      step.id === 's1' ? { ...step, status: 'running' as const } : step,
    );
    const running = { ...made, steps: begun };
    const begins = (plan: Plan, part: number) => {
      const fact = { type: 'step_began' as const, stepId: 's1', run: 1 };
      return store.ledger.planFact(
        head,
        turnId,
        { kind: 'plan_fact', planId: plan.id, part, fact },
        plan,
        [],
      );
    };
    expect(await begins(running, 1)).toBe(false);
    expect(
      (await store.ledger.openTurn(head, turnId, 50)).journal.map(({ entry }) => entry.kind),
    ).not.toContain('plan_fact');
    const edited = { ...running, version: 2, steps: running.steps.slice(0, 1) };
    expect(await begins(edited, 1)).toBe(true);
    expect(await begins(edited, 1)).toBe(true);
    expect(await store.plans.plan('plan-1')).toMatchObject({ pendingEdits: 0, plan: edited });
  });

  it('numbers the plans of a session, without the runs of others, and replaces a stored one', async () => {
    const store = await databases.open();
    const { head, turnId } = await startTurn(store);
    await store.ledger.storePlan(head, turnId, planning(somePlan({ state: 'stored' })));
    const origin = { planId: 'plan-1', run: 1 };
    await store.ledger.storePlan(head, turnId, planning(somePlan({ id: 'plan-1-r1', origin })));
    const listed = await store.plans.plans('telegram:42', 10);
    expect(listed.map(({ number, record }) => [number, record.plan.id, record.plan.runs])).toEqual([
      [1, 'plan-1', 1],
    ]);
    expect((await store.plans.planNumber('telegram:42', 1))?.plan.id).toBe('plan-1');
    for (const number of [0, 2, 2 ** 40])
      expect(await store.plans.planNumber('telegram:42', number)).toBeUndefined();
    const [first] = listed;
    if (first === undefined) throw new Error('no plan is listed');
    const changed = { ...first.record.plan, version: 2, goal: 'Bake a cake' };
    expect(await store.plans.changePlan(first.record, { plan: changed })).toBe(true);
    expect((await store.plans.plan('plan-1'))?.plan).toEqual(changed);
    expect((await store.plans.plan('plan-1'))?.address).toBe('telegram:42');
  });
});
