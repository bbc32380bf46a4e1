/** The values of the buttons under a plan's card. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { planButtonValue, readPlanButton } from '../../src/contracts/plan-store.ts';
import type { PlanButton } from '../../src/contracts/plan-store.ts';

describe('the value of a button of a plan', () => {
  it('is parsed back to its parts, and fits the limit of the platforms', () => {
    const planId = newId();
    const buttons: PlanButton[] = [
      { planId, action: 'pause' },
      { planId, action: 'stop' },
      { planId, action: 'skip', stepId: 's15' },
      { planId, action: 'skip', stepId: 'added-10' },
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
    `plan-stop:${'p'.repeat(37)}`,
    'approve:p',
  ])('is nothing when it is %j', (value) => {
    expect(readPlanButton(value)).toBeUndefined();
  });

  it('is undefined or exact for any changed value', () => {
    const edited = fc.oneof(fc.string(), fc.stringMatching(/^plan-(pause|skip|stop):[\w:-]{0,80}$/));
    fc.assert(
      fc.property(edited, (value) => {
        const read = readPlanButton(value);
        expect(read === undefined || planButtonValue(read) === value).toBe(true);
      }),
    );
  });
});
