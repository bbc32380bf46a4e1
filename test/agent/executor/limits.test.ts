/** The limits of a plan: corrections per step and per plan, and steps added. */
import { describe, expect, it } from 'vitest';
import type { AgentCorrection } from '../../../src/agent/plans/correction.ts';
import { failing, insert, retry, runScenario, skip, TERMINAL_EVENTS } from '../../fakes/agent/corrections.ts';
import { testPlan } from '../../fakes/agent/plans.ts';

const ALWAYS = { s1: 99, s2: 99, s3: 99, s4: 99, s5: 99, s6: 99 };

describe('the limits of a plan', () => {
  it('allow a step that always fails exactly 3 corrections, whatever they are (S-21, S-31)', async () => {
    const modify: AgentCorrection = {
      action: 'modify',
      reason: 'm',
      command: { executor: { kind: 'tool', tool: 'probe' } },
    };
    const because = {
      reason: expect.stringContaining('3 corrections'),
      why: expect.objectContaining({ key: 'cancelled.still_fails' }),
    };
    for (const correction of [retry, modify, insert()]) {
      const scenario = await runScenario({ step: failing({ s2: 99 }), correct: () => correction });
      expect(scenario.failures).toHaveLength(3);
      expect(scenario.runs.filter((run) => run.startsWith('s2'))).toHaveLength(4);
      expect(scenario.events.slice(-2)).toEqual([
        {
          type: 'agent_stuck',
          step: expect.objectContaining({ id: 's2' }),
          ...because,
        },
        { type: 'plan_cancelled', ...because },
      ]);
    }
  });

  it('end a plan after 10 corrections, stuck first and cancelled then (S-22, S-36)', async () => {
    const actions = [retry, retry, skip, retry, insert(1), skip, retry, retry, skip, retry, retry];
    const scenario = await runScenario({
      steps: 6,
      step: failing(ALWAYS),
      correct: (_failure, nth) => actions[nth - 1] ?? retry,
    });
    expect(scenario.failures).toHaveLength(10);
    expect(scenario.types().slice(-2)).toEqual(['agent_stuck', 'plan_cancelled']);
    expect(scenario.types().filter((type) => TERMINAL_EVENTS.includes(type))).toHaveLength(1);
  });

  it('warn once, when 3 of 10 corrections are left, before the call (S-24, S-34)', async () => {
    const scenario = await runScenario({
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

  it('refuse steps beyond the maximum: the correction call learns why, and the plan ends if it insists (S-18)', async () => {
    const full = testPlan(12, { originalLength: 3 });
    const chosen = (nth: number): AgentCorrection => (nth === 1 ? insert(2) : retry);
    const heeds = await runScenario({
      plan: full,
      step: failing({ s1: 1 }),
      correct: (_failure, nth) => chosen(nth),
    });
    expect(heeds.failures.map(({ refusal }) => refusal)).toEqual([
      undefined,
      expect.stringContaining('room for 1 more step,'),
    ]);
    expect(heeds.stored.steps[0]).toMatchObject({ corrections: 2, revision: 'again' });
    expect(heeds.stored).toMatchObject({ state: 'completed' });
    expect(heeds.stored.steps).toHaveLength(12);
    const insists = await runScenario({ plan: full, step: failing({ s1: 1 }), correct: () => insert(2) });
    expect(insists.failures).toHaveLength(2);
    expect(insists.events.at(-1)).toEqual({
      type: 'plan_cancelled',
      reason: expect.stringContaining('room for 1 more step,'),
      why: { key: 'cancelled.no_room', values: { count: 1 } },
    });
  });
});
