/** The plan reducer shared by gateway and page. */
import { describe, expect, it } from 'vitest';
import {
  advancePlan,
  correctionsLeft,
  FEW_CORRECTIONS,
  MAX_CORRECTIONS,
  type PlanEventView,
} from '../../../src/protocol/isomorphic/plan-reducer.js';
import * as contract from '../../../src/protocol/agent/plan.ts';
import type { EventBody } from '../../../src/protocol/event.ts';
import { BUDGET_WARNING_SHARE } from '../../../src/agent/plans/plan-executor.ts';
import { plan, step } from '../../fakes/gateway/shown-plans.ts';

const after = (view: PlanEventView | undefined, ...events: EventBody[]): PlanEventView | undefined =>
  events.reduce((now, event) => advancePlan(now, { sessionKey: 'http:a', at: 0, ...event }), view);

const RUNNING = step(1, { status: 'running', attempts: 1 });
const FAILED = step(1, { status: 'failed', attempts: 1 });

describe('the reducer of plans', () => {
  it('is what the contract exports, and warns where the agent does (S-22, S-24)', () => {
    expect(contract.MAX_CORRECTIONS).toBe(MAX_CORRECTIONS);
    expect(FEW_CORRECTIONS).toBe(MAX_CORRECTIONS * BUDGET_WARNING_SHARE);
    const used = plan([step(0, { corrections: 2 }), step(1, { corrections: 5 }), step(2)]);
    expect(correctionsLeft(used)).toBe(contract.correctionsLeft(used));
  });

  it('cancels a plan with the reason and fails its running step (S-29, S-36)', () => {
    const steps = [step(0, { status: 'done' }), RUNNING, step(2)];
    const shown = {
      plan: plan(steps),
      note: { key: 'step.again', values: { number: 1 } } as const,
      recovering: true,
    };
    expect(after(shown, { type: 'plan_cancelled', reason: 'No way.' })).toEqual({
      plan: contract.cancelPlan(plan(steps), 'No way.'),
    });
  });

  it('keeps a failure until its step is settled', () => {
    const begun = after(undefined, { type: 'plan_ready', plan: plan([step(0), RUNNING]) });
    const thinking = after(begun, { type: 'agent_thinking', step: FAILED });
    expect(thinking).toMatchObject({ analysedStepId: 's1', recovering: true, plan: { steps: [{}, FAILED] } });
    expect(thinking?.note).toEqual({ key: 'step.thinking', values: { number: 2 } });
    const again = after(thinking, { type: 'retry_attempt', step: RUNNING, attempt: 2 });
    expect(again).toMatchObject({ note: { key: 'step.again', values: { number: 2 } }, recovering: true });
    expect(again).not.toHaveProperty('analysedStepId');
    expect(after(again, { type: 'step_changed', step: RUNNING })).toMatchObject({
      note: { key: 'step.again', values: { number: 2 } },
    });
    const done = after(again, { type: 'step_changed', step: { ...RUNNING, status: 'done' } });
    expect(done).toMatchObject({ recovering: false });
    expect(done).not.toHaveProperty('note');
  });

  it('returns the same object for unrelated events, and nothing before there is a plan', () => {
    const begun = after(undefined, { type: 'plan_ready', plan: plan(2) });
    expect(after(begun, { type: 'turn_started' })).toBe(begun);
    expect(after(undefined, { type: 'step_changed', step: RUNNING })).toBeUndefined();
  });
});
