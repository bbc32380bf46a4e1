/** The plan executor with users: modes without corrections, and requests to skip, pause and stop. */
import { describe, expect, it } from 'vitest';
import { LaneAbort } from '../../../src/protocol/bus.ts';
import type { PlanStep } from '../../../src/protocol/agent/plan.ts';
import { failing, runScenario, TERMINAL_EVENTS } from '../../fakes/agent/corrections.ts';
import { PlanScenario, testPlan } from '../../fakes/agent/plans.ts';

describe('the modes of a plan, and user requests', () => {
  it.each(['planner', 'teacher'] as const)(
    'end the plan without a correction when a step fails in %s mode (S-02)',
    async (mode) => {
      const scenario = await runScenario({ plan: testPlan(3, { mode }), step: failing({ s2: 1 }) });
      expect(scenario.failures).toEqual([]);
      expect(scenario.runs).toEqual(['s1#1', 's2#2']);
      expect(scenario.events.at(-1)).toEqual({
        type: 'plan_cancelled',
        reason: 'Step 2 failed: s2 broke',
        why: { key: 'cancelled.step_failed', values: { number: 2, why: 's2 broke' } },
      });
    },
  );

  it('skip a step before it runs or after it failed', async () => {
    const skips = (id: string) => (step: PlanStep, run: { failed?: unknown }) =>
      step.id === id && (id === 's1' || run.failed !== undefined)
        ? ({ kind: 'skip' } as const)
        : ({ kind: 'go' } as const);
    const before = await runScenario({ gate: skips('s1') });
    expect(before.runs).toEqual(['s2#1']);
    expect(before.types()[0]).toBe('step_skipped');
    const after = await runScenario({ gate: skips('s2'), step: failing({ s2: 1 }) });
    expect(after.failures).toEqual([]);
    expect(after.stored).toMatchObject({ state: 'completed', steps: [{}, { status: 'skipped' }] });
  });

  it('pause and resume a plan, each with one event', async () => {
    const verdicts = ['go', 'pause', 'pause', 'go', 'go', 'go'] as const;
    let asked = 0;
    const gate = () => ({ kind: verdicts[asked++] ?? ('go' as const) });
    const scenario = await runScenario({ steps: 3, gate });
    expect(scenario.parked).toBe(2);
    expect(scenario.types().filter((type) => type.startsWith('plan_'))).toEqual([
      'plan_paused',
      'plan_resumed',
      'plan_completed',
    ]);
    expect(scenario.runs).toEqual(['s1#1', 's2#2', 's3#3']);
  });

  it('stop a plan: it is cancelled, and no other event follows', async () => {
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
    expect(scenario.types().filter((type) => TERMINAL_EVENTS.includes(type))).toEqual(['plan_cancelled']);
    expect(scenario.stored.state).toBe('cancelled');
  });
});
