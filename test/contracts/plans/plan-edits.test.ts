/** User changes to a plan: whatever they request, the plan stays valid. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_PLAN_STEPS, type Plan, type StepEdit } from '../../../src/protocol/agent/plan.ts';
import {
  editPlan,
  MAX_ADDED_STEPS,
  MAX_STEP_EDITS,
  newRun,
  versionOf,
  withPendingEdits,
} from '../../../src/protocol/agent/plan-edits.ts';
import { MAX_TODO_CHARS } from '../../../src/protocol/store/notes.ts';
import { classifyByName, deepFreeze, testPlan, testStep } from '../../fakes/agent/plans.ts';
import { inEnglish } from '../../../src/protocol/texts/say.ts';

const descriptions = ({ steps }: Plan): string => steps.map(({ description }) => description).join(', ');
const context = { version: 2, classify: classifyByName };
const stored = (length: number): Plan => testPlan(length, { state: 'stored' });

/** The plan after the edits. Throws the sentence that refuses them. */
function edited(plan: Plan, ...edits: StepEdit[]): Plan {
  const result = editPlan(plan, edits, context);
  if ('problem' in result) throw new Error(inEnglish.text(result.problem));
  return result.plan;
}

describe('a change to a plan', () => {
  it('drops, rewords, moves and adds steps, and renumbers them', () => {
    const plan = edited(
      stored(3),
      { op: 'drop', step: 's2' },
      { op: 'move', step: 's3', before: 's1' },
      { op: 'reword', step: 's1', description: ' Paint\nit ' },
      { op: 'add', description: 'Look at it', after: 's3' },
      { op: 'add', description: 'Rest' },
    );
    expect(descriptions(plan)).toBe('Do part 3, Look at it, Paint it, Rest');
    expect(plan.steps.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    expect(plan).toMatchObject({ version: 2, originalLength: 4 });
  });

  it('reassesses the risk of a changed step, without the arguments of its old text (S-17)', () => {
    const step = testStep(0, { executor: { kind: 'tool', tool: 'danger' }, risk: 'safe' });
    const plan = edited(testPlan(1, { state: 'stored', steps: [step] }), {
      op: 'reword',
      step: 's1',
      description: 'Delete it',
    });
    expect(plan.steps[0]).toMatchObject({ risk: 'dangerous', description: 'Delete it' });
    expect(plan.steps[0]?.args).toBeUndefined();
  });

  it.each<[string, Plan, StepEdit, RegExp]>([
    ['an unknown step', stored(2), { op: 'drop', step: 's9' }, /no step "s9"/],
    ['the last step', stored(1), { op: 'drop', step: 's1' }, /at least one step/],
    ['a step beside itself', stored(2), { op: 'move', step: 's1', after: 's1' }, /itself/],
    ['words that are none', stored(2), { op: 'reword', step: 's1', description: ' \n ' }, /needs some text/],
    [
      'words that are too long',
      stored(2),
      { op: 'reword', step: 's1', description: 'x'.repeat(MAX_TODO_CHARS + 1) },
      /281/,
    ],
    ['a step too many', stored(MAX_PLAN_STEPS), { op: 'add', description: 'More' }, /15 steps/],
    [
      'a step that has begun',
      testPlan(2, { steps: [testStep(0, { status: 'done', attempts: 1 }), testStep(1)] }),
      { op: 'drop', step: 's1' },
      /Step 1 has started/,
    ],
    [
      'a step that is tried again',
      testPlan(1, { steps: [testStep(0, { attempts: 1, corrections: 1 })] }),
      { op: 'reword', step: 's1', description: 'Other' },
      /has started/,
    ],
    [
      'what would come before a step that has begun',
      testPlan(2, { steps: [testStep(0, { status: 'running', attempts: 1 }), testStep(1)] }),
      { op: 'move', step: 's2', before: 's1' },
      /before step 1/,
    ],
  ])('is refused with a sentence for %s, and changes nothing', (_, plan, edit, why) => {
    expect(() => edited(plan, edit)).toThrow(why);
  });

  it('leaves a step that waits for an answer unchanged', () => {
    const result = editPlan(testPlan(2), [{ op: 'drop', step: 's1' }], { ...context, asked: 's1' });
    expect('problem' in result && inEnglish.text(result.problem)).toContain('run it or skip it');
  });

  it(`accepts at most ${MAX_STEP_EDITS} changes at once`, () => {
    const edits = Array.from({ length: MAX_STEP_EDITS + 1 }, (_, n) => ({
      op: 'reword' as const,
      step: 's1',
      description: `Words ${n}`,
    }));
    expect(descriptions(edited(stored(1), ...edits.slice(1)))).toBe(`Words ${MAX_STEP_EDITS}`);
    expect(() => edited(stored(1), ...edits)).toThrow(/At most 30/);
  });

  it('keeps a plan valid, whatever is requested: ids unique, numbered in order, within its limits', () => {
    const id = fc.constantFrom('s1', 's2', 's3', 's4', 'v2-1', 'v3-2', 'nobody');
    const description = fc.constantFrom('Wash', 'Dry', '', 'x'.repeat(300));
    const edit: fc.Arbitrary<StepEdit> = fc.oneof(
      fc.record({ op: fc.constant('drop' as const), step: id }),
      fc.record({ op: fc.constant('reword' as const), step: id, description }),
      fc.record({ op: fc.constant('move' as const), step: id, before: id }),
      fc.record({ op: fc.constant('move' as const), step: id, after: id }),
      fc.record({ op: fc.constant('add' as const), description, after: id }),
      fc.record({ op: fc.constant('add' as const), description }),
    );
    const begun = fc.integer({ min: 0, max: 4 });
    const requests = fc.array(fc.array(edit, { maxLength: 4 }), { maxLength: 12 });
    const state = fc.constantFrom('stored' as const, 'running' as const, 'paused' as const);
    fc.assert(
      fc.property(requests, begun, state, (asked, done, is) => {
        const steps = [0, 1, 2, 3].map((n) =>
          testStep(n, is !== 'stored' && n < done ? { status: 'done', attempts: 1 } : {}),
        );
        let plan = deepFreeze(testPlan(4, { state: is, steps }));
        const fixed = plan.steps.filter(({ status }) => status === 'done');
        for (const edits of asked) {
          const version = versionOf(plan) + 1;
          const result = editPlan(plan, edits, { version, classify: classifyByName });
          if ('problem' in result) continue;
          plan = deepFreeze(result.plan);
          const ids = plan.steps.map((step) => step.id);
          expect(new Set(ids).size).toBe(ids.length);
          expect(plan.steps.map(({ index }) => index)).toEqual(ids.map((_, n) => n));
          expect(plan.steps.slice(0, fixed.length)).toEqual(fixed);
          expect(versionOf(plan)).toBe(version);
          const most = is === 'stored' ? MAX_PLAN_STEPS : 4 + MAX_ADDED_STEPS;
          expect(plan.steps.length).toBeLessThanOrEqual(most);
        }
      }),
    );
  });
});

describe('changes that wait for the next step', () => {
  it('are applied once, and those that have become impossible are dropped', () => {
    const plan = testPlan(3, {
      steps: [testStep(0, { status: 'done', attempts: 1 }), testStep(1), testStep(2)],
    });
    const pending = [
      { version: 2, edits: [{ op: 'drop' as const, step: 's1' }] },
      { version: 3, edits: [{ op: 'add' as const, description: 'Rest', after: 's1' }] },
    ];
    const applied = withPendingEdits(plan, pending, classifyByName);
    expect(descriptions(applied)).toBe('Do part 1, Rest, Do part 2, Do part 3');
    expect(withPendingEdits(applied, pending, classifyByName)).toBe(applied);
  });
});

describe('a run of a plan', () => {
  it('starts with none of its steps started, and knows whose run it is', () => {
    const step = testStep(0, { status: 'failed', attempts: 3, corrections: 2, revision: 'why' });
    const plan = testPlan(1, {
      id: 'p',
      state: 'cancelled',
      reason: 'Stopped.',
      runs: 1,
      version: 4,
      steps: [step],
    });
    const run = newRun(plan, { id: 'p-r2', mode: 'teacher', run: 2 });
    expect(run).toMatchObject({
      id: 'p-r2',
      mode: 'teacher',
      state: 'running',
      origin: { planId: 'p', run: 2 },
    });
    expect(run.steps).toEqual([expect.objectContaining({ status: 'pending', attempts: 0, corrections: 0 })]);
    expect([run.reason, run.version, run.runs]).toEqual([undefined, undefined, undefined]);
  });
});
