/** What a plan reports about itself. */
import { describe, expect, it } from 'vitest';
import { MAX_REASON_CHARS } from '../../../src/protocol/isomorphic/plan-reducer.js';
import {
  boundReason,
  cancelPlan,
  correctionsLeft,
  MAX_CORRECTIONS,
} from '../../../src/protocol/agent/plan.ts';
import { plan, step } from '../../fakes/gateway/shown-plans.ts';

describe('a plan', () => {
  it('has as many corrections left as its steps have not used (S-22)', () => {
    expect(correctionsLeft(plan(3))).toBe(MAX_CORRECTIONS);
    const used = [step(0, { status: 'skipped', corrections: 2 }), step(1, { corrections: 1 }), step(2)];
    expect(correctionsLeft(plan(used))).toBe(7);
  });

  it('keeps the reason for its cancellation, and no longer has a running step (S-36)', () => {
    const given = cancelPlan(
      plan([step(0, { status: 'done' }), step(1, { status: 'running' }), step(2)]),
      'Stopped.',
    );
    expect(given).toMatchObject({ state: 'cancelled', reason: 'Stopped.' });
    expect(given.steps.map(({ status }) => status)).toEqual(['done', 'failed', 'pending']);
  });

  it('keeps a reason whole up to its limit, and cuts a longer one there once', () => {
    const fits = 'x'.repeat(MAX_REASON_CHARS);
    expect(boundReason(fits)).toBe(fits);
    const cut = boundReason(`${fits}y`);
    expect(cut).toBe(`${'x'.repeat(MAX_REASON_CHARS - 1)}…`);
    expect(boundReason(cut)).toBe(cut);
  });
});
