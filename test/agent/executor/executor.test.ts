/** The plan executor: the effect of each correction, and the order of the events. */
import { describe, expect, it } from 'vitest';
import { LaneAbort } from '../../../src/protocol/bus.ts';
import { GatewayError, StoreError } from '../../../src/protocol/errors.ts';
import type { Plan } from '../../../src/protocol/agent/plan.ts';
import { failing, insert, retry, runScenario, skip, TERMINAL_EVENTS } from '../../fakes/agent/corrections.ts';
import { PlanScenario, testPlan } from '../../fakes/agent/plans.ts';

describe('a plan that users change while it runs', () => {
  it('applies a change once, before its next step, and starts no step that was changed in the meantime', async () => {
    const edited = (plan: Plan): Plan => ({ ...plan, version: 2, steps: plan.steps.slice(0, 2) });
    let refused = false;
    const scenario = new PlanScenario({
      plan: testPlan(3),
      gate: (step, { plan }) =>
        step.id === 's2' && refused && plan.version === undefined
          ? { kind: 'edit', plan: edited(plan) }
          : { kind: 'go' },
      refuse: (fact) => {
        if (fact.type !== 'step_began' || fact.stepId !== 's2' || refused) return false;
        refused = true;
        return true;
      },
    });
    const end = await scenario.run();
    expect(scenario.runs).toEqual(['s1#1', 's2#2']);
    expect(scenario.facts.map(({ type }) => type).filter((type) => type === 'edited')).toHaveLength(1);
    expect(end.plan).toMatchObject({ state: 'completed', version: 2 });
    expect(scenario.types().filter((type) => type === 'plan_edited')).toHaveLength(1);
  });
});

describe('a plan in agentic mode', () => {
  it('runs its steps in order and completes (S-20)', async () => {
    const scenario = await runScenario({ steps: 3 });
    expect(scenario.runs).toEqual(['s1#1', 's2#2', 's3#3']);
    expect(scenario.types()).toEqual([...Array<string>(6).fill('step_changed'), 'plan_completed']);
    expect(scenario.stored).toMatchObject({
      state: 'completed',
      steps: [{ status: 'done', attempts: 1 }, {}, {}],
    });
  });

  it('emits the events of a failure in order: step, thinking, retry, step (S-23, S-25, S-30)', async () => {
    const command = { executor: { kind: 'tool', tool: 'probe' }, args: { part: 7 } } as const;
    const scenario = await runScenario({
      steps: 1,
      step: failing({ s1: 1 }),
      correct: () => ({ ...retry, action: 'retry', command }),
    });
    expect(scenario.types()).toEqual([
      'step_changed',
      'step_changed',
      'agent_thinking',
      'retry_attempt',
      'plan_revised',
      'step_changed',
      'step_changed',
      'plan_completed',
    ]);
    expect(scenario.events).toContainEqual({
      type: 'retry_attempt',
      step: expect.objectContaining({ id: 's1', args: { part: 7 }, status: 'pending' }),
      attempt: 1,
      newCommand: 'probe {"part":7}',
    });
  });

  it('reports no new command when the same one is retried (S-32)', async () => {
    const scenario = await runScenario({ steps: 1, step: failing({ s1: 1 }), correct: () => retry });
    const told = scenario.events.find(({ type }) => type === 'retry_attempt');
    expect(told).toMatchObject({ attempt: 1 });
    expect(told).not.toHaveProperty('newCommand');
    expect(scenario.types()).not.toContain('plan_revised');
  });

  it('modifies a step in place and emits the whole plan (S-26, S-35)', async () => {
    const command = { executor: { kind: 'tool', tool: 'danger' }, args: {} } as const;
    const scenario = await runScenario({
      step: failing({ s2: 1 }),
      correct: () => ({ action: 'modify', reason: 'the other tool', command }),
    });
    const revised = scenario.events.find((event) => event.type === 'plan_revised');
    expect(revised).toMatchObject({
      reason: 'the other tool',
      plan: {
        steps: [
          { id: 's1', corrections: 0 },
          {
            id: 's2',
            executor: command.executor,
            risk: 'dangerous',
            corrections: 1,
            revision: 'the other tool',
          },
        ],
      },
    });
    expect(scenario.runs).toEqual(['s1#1', 's2#2', 's2#3']);
  });

  it('runs inserted steps first and then the step that failed (S-01, S-27)', async () => {
    const scenario = await runScenario({ step: failing({ s2: 1 }), correct: () => insert(2) });
    expect(scenario.runs).toEqual(['s1#1', 's2#2', 'added-1#3', 'added-2#4', 's2#5']);
    const told = scenario.stored.steps.map(
      ({ id, index, corrections, revision }) => `${index} ${id} ${corrections} ${revision ?? ''}`,
    );
    expect(told).toEqual(['0 s1 0 ', '1 added-1 0 repair first', '2 added-2 0 repair first', '3 s2 1 ']);
  });

  it('does not run a skipped step, and continues with the next (S-28, S-33)', async () => {
    const scenario = await runScenario({ step: failing({ s1: 1 }), correct: () => skip });
    expect(scenario.runs).toEqual(['s1#1', 's2#2']);
    expect(scenario.events).toContainEqual({
      type: 'step_skipped',
      step: expect.objectContaining({ id: 's1', status: 'skipped', corrections: 1, revision: 'not needed' }),
    });
    expect(scenario.stored.state).toBe('completed');
  });

  it('runs new steps instead of a skipped one, and emits them before the skip (S-16)', async () => {
    const { newSteps } = insert(2);
    const scenario = await runScenario({
      step: failing({ s1: 1 }),
      correct: () => ({ ...skip, action: 'skip', newSteps }),
    });
    expect(scenario.runs).toEqual(['s1#1', 'added-1#2', 'added-2#3', 's2#4']);
    expect(scenario.stored.steps.map(({ id, status }) => `${id} ${status}`)).toEqual([
      's1 skipped',
      'added-1 done',
      'added-2 done',
      's2 done',
    ]);
    const types = scenario.types();
    expect(types.indexOf('plan_revised')).toBe(types.indexOf('step_skipped') - 1);
  });

  it('gives the correction call the number of consecutive failures (S-09)', async () => {
    const scenario = await runScenario({ steps: 2, step: failing({ s1: 2, s2: 1 }), correct: () => retry });
    expect(scenario.failures.map(({ consecutiveFailures }) => consecutiveFailures)).toEqual([1, 2, 1]);
  });

  it('ends with exactly one event when the correction is `abort` (S-29, S-36)', async () => {
    const scenario = await runScenario({
      step: failing({ s1: 1 }),
      correct: () => ({ action: 'abort', reason: 'hopeless' }),
    });
    expect(scenario.events.at(-1)).toEqual({ type: 'plan_cancelled', reason: 'hopeless' });
    expect(scenario.stored).toMatchObject({ state: 'cancelled', reason: 'hopeless' });
    expect(scenario.types().filter((type) => TERMINAL_EVENTS.includes(type))).toHaveLength(1);
    expect(scenario.runs).toEqual(['s1#1']);
  });

  it('counts the attempts of a step from 0 (S-38)', async () => {
    const scenario = await runScenario({ step: failing({ s1: 2 }), correct: () => retry });
    const ended = scenario.facts.flatMap((fact) => (fact.type === 'step_ended' ? [fact] : []));
    expect(ended.map(({ stepId, result }) => `${stepId} ${result.attemptIndex}`)).toEqual([
      's1 0',
      's1 1',
      's1 2',
      's2 0',
    ]);
  });

  it('treats an error in a step as a failure of that step, but rethrows store and bus errors', async () => {
    const throwing = (error: Error): PlanScenario =>
      new PlanScenario({
        plan: testPlan(1),
        step: () => {
          throw error;
        },
      });
    const model = throwing(new GatewayError('unavailable', 'The model is away.'));
    await model.run();
    expect(model.failures[0]?.result.content).toBe('The model is away.');
    const store = throwing(new StoreError('unavailable', 'no store'));
    await expect(store.run()).rejects.toThrow('no store');
    expect(store.types()).toEqual(['step_changed']);
    await expect(throwing(new LaneAbort('shutdown')).run()).rejects.toThrow('shutting down');
  });
});
