/** The plan executor: what each correction does, in which order things are told, and where the breakers end it. */
import { describe, expect, it } from 'vitest';
import type { AgentCorrection } from '../../../src/agent/executor/correction-reply.ts';
import { LaneAbort } from '../../../src/contracts/bus.ts';
import { GatewayError, StoreError } from '../../../src/contracts/errors.ts';
import type { PlanStep } from '../../../src/contracts/plan.ts';
import { PlanScenario, testPlan } from '../../fakes/agent/plans.ts';
import type { PlanScenarioOptions } from '../../fakes/agent/plans.ts';

/** Steps of these ids fail so many times, then they work. */
const failing = (times: Record<string, number>): PlanScenarioOptions['step'] => {
  const left = { ...times };
  return ({ id }) => {
    const fails = (left[id] ?? 0) > 0;
    if (fails) left[id] = (left[id] ?? 0) - 1;
    return { content: fails ? `${id} broke` : `${id} ok`, isError: fails };
  };
};
const always = { s1: 99, s2: 99, s3: 99, s4: 99, s5: 99, s6: 99 };
const retry: AgentCorrection = { action: 'retry', reason: 'again' };
const skip: AgentCorrection = { action: 'skip', reason: 'not needed' };
const insert = (count = 1): AgentCorrection => ({
  action: 'insert_steps',
  reason: 'repair first',
  newSteps: Array.from({ length: count }, (_, n) => ({
    description: `Repair ${n}`,
    executor: { kind: 'self' },
  })),
});
const TERMINAL = ['plan_completed', 'plan_cancelled'];

async function carriedOut(options: Partial<PlanScenarioOptions> & { steps?: number }): Promise<PlanScenario> {
  const { steps = 2, plan = testPlan(steps), ...rest } = options;
  const scenario = new PlanScenario({ plan, ...rest });
  await scenario.run();
  return scenario;
}

describe('a plan in agentic mode', () => {
  it('runs its steps in order and completes (S-20)', async () => {
    const scenario = await carriedOut({ steps: 3 });
    expect(scenario.runs).toEqual(['s1#1', 's2#2', 's3#3']);
    expect(scenario.types()).toEqual([...Array<string>(6).fill('step_changed'), 'plan_completed']);
    expect(scenario.stored).toMatchObject({
      state: 'completed',
      steps: [{ status: 'done', attempts: 1 }, {}, {}],
    });
  });

  it('tells of a failure in order: step, thinking, retry, step (S-23, S-25, S-30)', async () => {
    const command = { executor: { kind: 'tool', tool: 'probe' }, args: { part: 7 } } as const;
    const scenario = await carriedOut({
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

  it('names no new command when the same one is tried again (S-32)', async () => {
    const scenario = await carriedOut({ steps: 1, step: failing({ s1: 1 }), correct: () => retry });
    const told = scenario.events.find(({ type }) => type === 'retry_attempt');
    expect(told).toMatchObject({ attempt: 1 });
    expect(told).not.toHaveProperty('newCommand');
    expect(scenario.types()).not.toContain('plan_revised');
  });

  it('modifies a step in place and tells the whole plan (S-26, S-35)', async () => {
    const command = { executor: { kind: 'tool', tool: 'danger' }, args: {} } as const;
    const scenario = await carriedOut({
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
    const scenario = await carriedOut({ step: failing({ s2: 1 }), correct: () => insert(2) });
    expect(scenario.runs).toEqual(['s1#1', 's2#2', 'added-1#3', 'added-2#4', 's2#5']);
    const told = scenario.stored.steps.map(
      ({ id, index, corrections, revision }) => `${index} ${id} ${corrections} ${revision ?? ''}`,
    );
    expect(told).toEqual(['0 s1 0 ', '1 added-1 0 repair first', '2 added-2 0 repair first', '3 s2 1 ']);
  });

  it('leaves a skipped step out and goes on (S-28, S-33)', async () => {
    const scenario = await carriedOut({ step: failing({ s1: 1 }), correct: () => skip });
    expect(scenario.runs).toEqual(['s1#1', 's2#2']);
    expect(scenario.events).toContainEqual({
      type: 'step_skipped',
      step: expect.objectContaining({ id: 's1', status: 'skipped', corrections: 1, revision: 'not needed' }),
    });
    expect(scenario.stored.state).toBe('completed');
  });

  it('runs new steps in the place of a skipped one, and shows them before it is shown as skipped (S-16)', async () => {
    const instead = insert(2);
    const newSteps = instead.action === 'insert_steps' ? instead.newSteps : [];
    const scenario = await carriedOut({
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

  it('tells the correction how many runs have failed in a row (S-09)', async () => {
    const scenario = await carriedOut({ steps: 2, step: failing({ s1: 2, s2: 1 }), correct: () => retry });
    expect(scenario.failures.map(({ consecutiveFailures }) => consecutiveFailures)).toEqual([1, 2, 1]);
  });

  it('ends with one word when the correction gives up (S-29, S-36)', async () => {
    const scenario = await carriedOut({
      step: failing({ s1: 1 }),
      correct: () => ({ action: 'abort', reason: 'hopeless' }),
    });
    expect(scenario.events.at(-1)).toEqual({ type: 'plan_cancelled', reason: 'hopeless' });
    expect(scenario.stored).toMatchObject({ state: 'cancelled', reason: 'hopeless' });
    expect(scenario.types().filter((type) => TERMINAL.includes(type))).toHaveLength(1);
    expect(scenario.runs).toEqual(['s1#1']);
  });

  it('counts the attempts of a step from 0 (S-38)', async () => {
    const scenario = await carriedOut({ step: failing({ s1: 2 }), correct: () => retry });
    const ended = scenario.facts.flatMap((fact) => (fact.type === 'step_ended' ? [fact] : []));
    expect(ended.map(({ stepId, result }) => `${stepId} ${result.attemptIndex}`)).toEqual([
      's1 0',
      's1 1',
      's1 2',
      's2 0',
    ]);
  });

  it('takes what a step throws for its failure, and lets the store and the bus through', async () => {
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

describe('the breakers of a plan', () => {
  it('give a step that always fails exactly 3 corrections, whatever they are (S-21, S-31)', async () => {
    const modify: AgentCorrection = {
      action: 'modify',
      reason: 'm',
      command: { executor: { kind: 'tool', tool: 'probe' } },
    };
    for (const correction of [retry, modify, insert()]) {
      const scenario = await carriedOut({ step: failing({ s2: 99 }), correct: () => correction });
      expect(scenario.failures).toHaveLength(3);
      expect(scenario.runs.filter((run) => run.startsWith('s2'))).toHaveLength(4);
      expect(scenario.events.slice(-2)).toEqual([
        {
          type: 'agent_stuck',
          step: expect.objectContaining({ id: 's2' }),
          reason: expect.stringContaining('3 corrections'),
        },
        { type: 'plan_cancelled', reason: expect.stringContaining('3 corrections') },
      ]);
    }
  });

  it('end a plan after 10 corrections, stuck first and cancelled then (S-22, S-36)', async () => {
    const actions = [retry, retry, skip, retry, insert(1), skip, retry, retry, skip, retry, retry];
    const scenario = await carriedOut({
      steps: 6,
      step: failing(always),
      correct: (_failure, nth) => actions[nth - 1] ?? retry,
    });
    expect(scenario.failures).toHaveLength(10);
    expect(scenario.types().slice(-2)).toEqual(['agent_stuck', 'plan_cancelled']);
    expect(scenario.types().filter((type) => TERMINAL.includes(type))).toHaveLength(1);
  });

  it('warn once, when 3 of 10 corrections are left, before the call (S-24, S-34)', async () => {
    const scenario = await carriedOut({
      steps: 12,
      step: () => ({ content: 'no', isError: true }),
      correct: () => skip,
    });
    const warnings = scenario.events.filter(({ type }) => type === 'budget_warning');
    expect(warnings).toEqual([{ type: 'budget_warning', remaining: 3, total: 10 }]);
    const at = scenario.types().indexOf('budget_warning');
    expect(scenario.types().slice(at - 1, at + 2)).toEqual([
      'agent_thinking',
      'budget_warning',
      'step_skipped',
    ]);
    expect(
      scenario
        .types()
        .slice(0, at)
        .filter((type) => type === 'agent_thinking'),
    ).toHaveLength(8);
  });

  it('tell the correction call that no step may be added any more, and end when it insists (S-18)', async () => {
    const full = testPlan(12, { originalLength: 3 });
    const chosen = (nth: number): AgentCorrection => (nth === 1 ? insert(2) : retry);
    const heeds = await carriedOut({
      plan: full,
      step: failing({ s1: 1 }),
      correct: (_failure, nth) => chosen(nth),
    });
    expect(heeds.failures.map(({ refusal }) => refusal)).toEqual([
      undefined,
      expect.stringContaining('room for 1 more steps'),
    ]);
    expect(heeds.stored.steps[0]).toMatchObject({ corrections: 2, revision: 'again' });
    expect(heeds.stored).toMatchObject({ state: 'completed' });
    expect(heeds.stored.steps).toHaveLength(12);
    const insists = await carriedOut({ plan: full, step: failing({ s1: 1 }), correct: () => insert(2) });
    expect(insists.failures).toHaveLength(2);
    expect(insists.events.at(-1)).toEqual({
      type: 'plan_cancelled',
      reason: expect.stringContaining('room for 1 more steps'),
    });
  });
});

describe('people and a plan', () => {
  it.each(['planner', 'teacher'] as const)(
    'in %s mode a failed step ends it without a correction (S-02)',
    async (mode) => {
      const scenario = await carriedOut({ plan: testPlan(3, { mode }), step: failing({ s2: 1 }) });
      expect(scenario.failures).toEqual([]);
      expect(scenario.runs).toEqual(['s1#1', 's2#2']);
      expect(scenario.events.at(-1)).toEqual({ type: 'plan_cancelled', reason: 'Step 2 failed: s2 broke' });
    },
  );

  it('leave a step out, before it runs or after it failed', async () => {
    const skips = (id: string) => (step: PlanStep, run: { failed?: unknown }) =>
      step.id === id && (id === 's1' || run.failed !== undefined)
        ? ({ kind: 'skip' } as const)
        : ({ kind: 'go' } as const);
    const before = await carriedOut({ gate: skips('s1') });
    expect(before.runs).toEqual(['s2#1']);
    expect(before.types()[0]).toBe('step_skipped');
    const after = await carriedOut({ gate: skips('s2'), step: failing({ s2: 1 }) });
    expect(after.failures).toEqual([]);
    expect(after.stored).toMatchObject({ state: 'completed', steps: [{}, { status: 'skipped' }] });
  });

  it('pause it and let it go on, each told once', async () => {
    const verdicts = ['go', 'pause', 'pause', 'go', 'go', 'go'] as const;
    let asked = 0;
    const gate = () => ({ kind: verdicts[asked++] ?? ('go' as const) });
    const scenario = await carriedOut({ steps: 3, gate });
    expect(scenario.parked).toBe(2);
    expect(scenario.types().filter((type) => type.startsWith('plan_'))).toEqual([
      'plan_paused',
      'plan_resumed',
      'plan_completed',
    ]);
    expect(scenario.runs).toEqual(['s1#1', 's2#2', 's3#3']);
  });

  it('stop it: the plan is cancelled, and nothing else is told', async () => {
    const controller = new AbortController();
    const scenario = new PlanScenario({
      plan: testPlan(3),
      signal: controller.signal,
      step: ({ id }) => {
        if (id === 's2') controller.abort(new LaneAbort('stopped'));
        return { content: 'cut short', isError: id === 's2' };
      },
    });
    await expect(scenario.run()).rejects.toThrow('Stopped');
    expect(scenario.failures).toEqual([]);
    expect(scenario.types().filter((type) => TERMINAL.includes(type))).toEqual(['plan_cancelled']);
    expect(scenario.stored.state).toBe('cancelled');
  });
});
