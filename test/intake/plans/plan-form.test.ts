/** The form with a plan's steps: what is submitted becomes the plan, whatever was moved, dropped or added. */
import { describe, expect, it } from 'vitest';
import type { Plan, StepEdit } from '../../../src/protocol/agent/plan.ts';
import { editPlan } from '../../../src/protocol/agent/plan-edits.ts';
import { askedInForm, MAX_FORM_CHARS, planForm } from '../../../src/intake/plans/stored-buttons.ts';
import { inEnglish } from '../../../src/protocol/texts/say.ts';

function planOf(...descriptions: string[]): Plan {
  const steps = descriptions.map((description, index) => ({
    id: `s${index}`,
    index,
    description,
    executor: { kind: 'self' as const },
    status: 'pending' as const,
    attempts: 0,
    risk: 'safe' as const,
  }));
  const rest = { id: 'p', goal: 'g', mode: 'agentic', state: 'stored', originalLength: steps.length };
  return { ...rest, steps } as unknown as Plan;
}

function changed(plan: Plan, lines: string): string[] {
  const edits: readonly StepEdit[] = askedInForm({ steps: lines })(plan);
  const edited = editPlan(plan, edits, { version: 2, classify: () => 'safe' });
  if ('problem' in edited) throw new Error(inEnglish.text(edited.problem));
  return edited.plan.steps.map(({ description }) => description);
}

describe('the form of a plan', () => {
  const plan = planOf('one', 'two', 'three');

  it.each([
    ['1: one\n3: three\n2: two', ['one', 'three', 'two']],
    ['3: three\n2: two\n1: one', ['three', 'two', 'one']],
    ['2: zwei', ['zwei']],
    [
      'new\nnewer\n1: one\n2: two\nlast\nvery last\n3: three',
      ['new', 'newer', 'one', 'two', 'last', 'very last', 'three'],
    ],
    ['1: one\n\n 2. two \n3) three\n9: nine', ['one', 'two', 'three', '9: nine']],
    ['1: one\n1: one again\n2: two\n3: three', ['one', 'one again', 'two', 'three']],
  ])('is read as written: %j', (lines, steps) => {
    expect(changed(plan, lines)).toEqual(steps);
  });

  it('that is submitted unchanged changes nothing', () => {
    const value = planForm(plan, 'v', inEnglish)?.fields[0]?.value ?? '';
    expect(() => askedInForm({ steps: value })(plan)).toThrow('nothing in the form was changed');
  });

  it(`exists for plans of at most ${MAX_FORM_CHARS} characters`, () => {
    expect(planForm(planOf('x'.repeat(MAX_FORM_CHARS - 3)), 'v', inEnglish)).toBeDefined();
    expect(planForm(planOf('x'.repeat(MAX_FORM_CHARS - 2)), 'v', inEnglish)).toBeUndefined();
  });
});
