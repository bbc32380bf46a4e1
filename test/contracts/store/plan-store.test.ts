/** The values of the buttons below a plan's card. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/lib/ids.ts';
import {
  MAX_PLAN_RUNS,
  type PlanButton,
  planButtonValue,
  readPlanButton,
  runIdOf,
} from '../../../src/protocol/agent/plan-store.ts';

describe('the value of a plan button', () => {
  it('is parsed back to its parts, and fits within the platforms’ limit', () => {
    const planId = newId();
    const buttons: PlanButton[] = [
      { planId, action: 'pause' },
      { planId, action: 'stop' },
      { planId, action: 'skip', stepId: 's15' },
      { planId: runIdOf(planId, MAX_PLAN_RUNS), action: 'skip', stepId: 'added-10' },
      { planId: runIdOf(planId, MAX_PLAN_RUNS), action: 'skip', stepId: 'v999999-30' },
      { planId, action: 'start', version: 1, run: 1 },
      { planId, action: 'cancel', version: 999_999, run: MAX_PLAN_RUNS },
    ];
    for (const button of buttons) {
      const value = planButtonValue(button);
      expect(readPlanButton(value)).toEqual(button);
      expect(Buffer.byteLength(value)).toBeLessThanOrEqual(64);
    }
  });

  it.each([
    'plan-pause',
    'plan-pause:',
    'plan-pause:p:s1',
    'plan-skip:p',
    'plan-skip:p:',
    'plan-skip:p:s1:s2',
    'plan-resume:p',
    'plan-run:p',
    'plan-stop:p q',
    ' plan-stop:p',
    'plan-stop:p\n',
    `plan-stop:${'p'.repeat(42)}`,
    'plan-start:p',
    'plan-start:p:1',
    'plan-start:p:0.1',
    'plan-start:p:1.01',
    'plan-teach:p:1.1.1',
    'plan-cancel:p:1234567.1',
    'approve:p',
  ])('is invalid when it is %j', (value) => {
    expect(readPlanButton(value)).toBeUndefined();
  });

  it('is undefined or exact for any changed value', () => {
    const edited = fc.oneof(
      fc.string(),
      fc.stringMatching(/^plan-(pause|skip|stop|start|edit):[\w:.-]{0,80}$/),
    );
    fc.assert(
      fc.property(edited, (value) => {
        const read = readPlanButton(value);
        expect(read === undefined || planButtonValue(read) === value).toBe(true);
      }),
    );
  });
});
