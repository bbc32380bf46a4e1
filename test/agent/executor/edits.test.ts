/** Plan edits: they return new plans, leave old ones untouched, keep ids and reassess risks. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  insertSteps,
  insertStepsBefore,
  type PlanEdit,
  promoteProtoStep,
  type ProtoStep,
  replaceStepCommand,
} from '../../../src/agent/plans/edits.ts';
import { MAX_ADDED_STEPS, stepsLeft } from '../../../src/protocol/agent/plan-edits.ts';
import type { Plan } from '../../../src/protocol/agent/plan.ts';
import { classifyByName, deepFreeze, testPlan } from '../../fakes/agent/plans.ts';

const proto = (description: string, tool = 'probe'): ProtoStep =>
  deepFreeze({ description, executor: { kind: 'tool', tool }, args: { of: description } });

function planOf(edit: PlanEdit): Plan {
  if (edit.kind !== 'edited') throw new Error(`The plan stayed as it was: ${edit.kind}.`);
  return edit.plan;
}

const ids = (plan: Plan): string[] => plan.steps.map(({ id }) => id);

describe('an edit of a plan', () => {
  it('inserts after and before a step and renumbers the steps (S-16)', () => {
    const plan = testPlan(3);
    const after = planOf(insertSteps(plan, 's2', [proto('a'), proto('b')], classifyByName));
    expect(ids(after)).toEqual(['s1', 's2', 'added-1', 'added-2', 's3']);
    const before = planOf(insertStepsBefore(deepFreeze(after), 's1', [proto('c')], classifyByName));
    expect(ids(before)).toEqual(['added-3', 's1', 's2', 'added-1', 'added-2', 's3']);
    expect(before.steps.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('turns a proto-step into a complete step (S-19)', () => {
    expect(promoteProtoStep(proto('wash', 'danger'), { id: 'x', index: 4 }, classifyByName)).toEqual({
      id: 'x',
      index: 4,
      description: 'wash',
      executor: { kind: 'tool', tool: 'danger' },
      args: { of: 'wash' },
      risk: 'dangerous',
      status: 'pending',
      attempts: 0,
      corrections: 0,
    });
  });

  it('reclassifies the risk when a command is replaced, up or down (S-17)', () => {
    const plan = testPlan(2);
    const danger = { executor: { kind: 'tool', tool: 'danger' }, args: { all: true } } as const;
    const raised = planOf(replaceStepCommand(plan, 's2', danger, classifyByName));
    expect(raised.steps[1]).toMatchObject({ id: 's2', risk: 'dangerous', args: { all: true } });
    const self = { executor: { kind: 'self' } } as const;
    const lowered = planOf(replaceStepCommand(deepFreeze(raised), 's2', self, classifyByName));
    expect(lowered.steps[1]).toMatchObject({ id: 's2', risk: 'safe', executor: { kind: 'self' } });
    expect(lowered.steps[1]).not.toHaveProperty('args');
  });

  it('reports when no more steps can be added, and adds none (S-18)', () => {
    let plan = testPlan(2);
    for (let n = 0; n < MAX_ADDED_STEPS; n += 1) {
      expect(stepsLeft(plan)).toBe(MAX_ADDED_STEPS - n);
      plan = deepFreeze(planOf(insertSteps(plan, 's1', [proto(`${n}`)], classifyByName)));
    }
    expect(insertSteps(plan, 's1', [proto('one more')], classifyByName)).toEqual({
      kind: 'too_many_steps',
      left: 0,
    });
    const twoLeft = testPlan(12, { originalLength: 4 });
    const three = [proto('a'), proto('b'), proto('c')];
    expect(insertStepsBefore(twoLeft, 's1', three, classifyByName)).toEqual({
      kind: 'too_many_steps',
      left: 2,
    });
  });

  it('reports a step that does not exist', () => {
    const unknown = { kind: 'unknown_step', stepId: 'nope' };
    const self = { executor: { kind: 'self' } } as const;
    expect(insertSteps(testPlan(1), 'nope', [proto('a')], classifyByName)).toEqual(unknown);
    expect(replaceStepCommand(testPlan(1), 'nope', self, classifyByName)).toEqual(unknown);
  });

  it('never mutates its input, keeps every id and its order, and stays within its limits (S-15, S-16, S-18)', () => {
    const edit = fc.record({
      kind: fc.constantFrom('after', 'before', 'replace'),
      step: fc.nat(30),
      tools: fc.array(fc.constantFrom('probe', 'danger'), { minLength: 1, maxLength: 3 }),
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 15 }), fc.array(edit, { maxLength: 15 }), (length, edits) => {
        let plan = testPlan(length);
        for (const { kind, step, tools } of edits) {
          const stepId = plan.steps[step % plan.steps.length]?.id ?? '';
          const steps = tools.map((tool) => proto('new', tool));
          const copy = structuredClone(plan);
          const result =
            kind === 'replace'
              ? replaceStepCommand(plan, stepId, steps[0] ?? proto(''), classifyByName)
              : (kind === 'after' ? insertSteps : insertStepsBefore)(plan, stepId, steps, classifyByName);
          expect(plan).toEqual(copy);
          if (result.kind !== 'edited') continue;
          const old = new Set(ids(plan));
          expect(ids(result.plan).filter((id) => old.has(id))).toEqual(ids(plan));
          plan = deepFreeze(result.plan);
        }
        expect(new Set(ids(plan)).size).toBe(plan.steps.length);
        expect(plan.steps.map(({ index }) => index)).toEqual([...plan.steps.keys()]);
        expect(plan.steps.length).toBeLessThanOrEqual(length + MAX_ADDED_STEPS);
        for (const step of plan.steps) expect(step.risk).toBe(classifyByName(step));
      }),
      { numRuns: 500 },
    );
  });
});
