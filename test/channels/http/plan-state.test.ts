/** The page's own fold of a plan: the same numbers and the same plan as the house's. */
import { expect, it } from 'vitest';
import {
  advancePlan,
  correctionsLeft,
  FEW_CORRECTIONS,
  MAX_CORRECTIONS,
} from '../../../channels/http/page/plan/plan-state.js';
import * as word from '../../../src/contracts/plan.ts';
import { BUDGET_WARNING_SHARE } from '../../../src/agent/executor/apply-correction.ts';
import { plan, step } from '../../fakes/gateway/shown-plans.ts';

it('counts with the numbers of the house (S-22, S-24)', () => {
  expect(MAX_CORRECTIONS).toBe(word.MAX_CORRECTIONS);
  expect(FEW_CORRECTIONS).toBe(word.MAX_CORRECTIONS * BUDGET_WARNING_SHARE);
  const used = plan([step(0, { corrections: 2 }), step(1, { corrections: 5 }), step(2)]);
  expect(correctionsLeft(used)).toBe(word.correctionsLeft(used));
});

it('gives a plan up as the house does: with the reason, and the running step cut short (S-29, S-36)', () => {
  const steps = [step(0, { status: 'done' }), step(1, { status: 'running', attempts: 1 }), step(2)];
  const shown = { plan: plan(steps), passing: 'on its way', recovering: true };
  const after = advancePlan(shown, { type: 'plan_cancelled', reason: 'No way.' });
  expect(after).toEqual({ plan: word.cancelPlan(plan(steps), 'No way.'), passing: '', recovering: false });
});
