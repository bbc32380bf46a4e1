/** Thousands of plans that fail in every way: the breakers hold, and a crash at any point changes nothing. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { MAX_RETRIES_PER_STEP } from '../../../src/agent/plans/plan-executor.ts';
import type { AgentCorrection } from '../../../src/agent/plans/correction.ts';
import { MAX_ADDED_STEPS } from '../../../src/protocol/agent/plan-edits.ts';
import { advancePlan, type PlanEventView } from '../../../src/protocol/isomorphic/plan-reducer.js';
import { correctionsLeft, MAX_CORRECTIONS } from '../../../src/protocol/agent/plan.ts';
import { PlanScenario, type PlanScenarioOptions, testPlan } from '../../fakes/agent/plans.ts';

const actions = ['retry', 'command', 'modify', 'insert', 'skip', 'instead', 'abort'] as const;

function correctionOf(action: (typeof actions)[number], count: number): AgentCorrection {
  const command = {
    executor: { kind: 'tool', tool: count > 1 ? 'danger' : 'probe' },
    args: { count },
  } as const;
  const reason = `${action} ${count}`;
  switch (action) {
    case 'retry':
      return { action, reason };
    case 'command':
      return { action: 'retry', reason, command };
    case 'modify':
      return { action, reason, command };
    case 'insert':
      return {
        action: 'insert_steps',
        reason,
        newSteps: Array.from({ length: count }, () => ({ description: 'repair', ...command })),
      };
    case 'instead':
      return { action: 'skip', reason, newSteps: [{ description: 'another way', ...command }] };
    default:
      return { action, reason };
  }
}

/** Corrections that were decided without ending the plan. */
const decided = ({ facts }: PlanScenario): number =>
  facts.filter(({ type }) => type === 'corrected' || type === 'refused').length;

const failures = (run: PlanScenario, length: number): string[] => {
  const types = run.types();
  const ends = types.filter((type) => type === 'plan_completed' || type === 'plan_cancelled');
  const perStep = new Map<string, number>();
  for (const fact of run.facts) {
    if (fact.type !== 'corrected' || fact.action === 'skip') continue;
    perStep.set(fact.stepId, (perStep.get(fact.stepId) ?? 0) + 1);
  }
  const runs = new Set(run.runs);
  return [
    ...(ends.length === 1 && types.at(-1) === ends[0] ? [] : [`ends: ${ends.join()}`]),
    ...(correctionsLeft(run.stored) === MAX_CORRECTIONS - decided(run) ? [] : ['corrections miscounted']),
    ...(run.failures.length <= MAX_CORRECTIONS ? [] : [`${run.failures.length} corrections`]),
    ...([...perStep.values()].every((count) => count <= MAX_RETRIES_PER_STEP) ? [] : ['retries of a step']),
    ...(run.stored.steps.length <= length + MAX_ADDED_STEPS ? [] : [`${run.stored.steps.length} steps`]),
    ...(types.filter((type) => type === 'budget_warning').length <= 1 ? [] : ['warned twice']),
    ...(runs.size === run.runs.length ? [] : ['a run began twice']),
    ...(run.stored.steps.some(({ status }) => status === 'running') ? ['a step runs for ever'] : []),
  ];
};

it('emits the complete stored state with every event, so subscribers do not have to count (S-35, S-39)', async () => {
  const scenario = fc.record({
    plan: fc.record({ length: fc.integer({ min: 1, max: 15 }), added: fc.integer({ min: 0, max: 10 }) }),
    dice: fc.uint8Array({ minLength: 40, maxLength: 40 }),
  });
  await fc.assert(
    fc.asyncProperty(scenario, async ({ plan: { length, added }, dice }) => {
      let rolled = 0;
      const roll = (sides: number): number => (dice[rolled++ % dice.length] ?? 0) % sides;
      // Where steps have already been added, corrections that add more are refused.
      const plan = testPlan(length, { originalLength: Math.max(0, length - added) });
      const run = new PlanScenario({
        plan,
        step: () => ({ content: 'x', isError: roll(2) === 1 }),
        correct: () => correctionOf(actions[roll(actions.length)] ?? 'retry', 1 + roll(3)),
        gate: () => ({ kind: (['go', 'go', 'go', 'skip', 'pause'] as const)[roll(5)] ?? 'go' }),
      });
      let view: PlanEventView | undefined = { plan };
      run.onEvent = (event) => {
        view = advancePlan(view, { sessionKey: 'telegram:1', at: 0, ...event });
        expect(view?.plan).toEqual(run.stored);
      };
      await run.run();
      expect(view.plan.state).toMatch(/completed|cancelled/);
    }),
    { numRuns: 1_000 },
  );
}, 60_000);

const RANDOM_PLANS = 10_000;

it(`keeps every limit and ends exactly once in ${RANDOM_PLANS} random plans (S-21, S-22, S-36)`, async () => {
  const scenario = fc.record({
    length: fc.integer({ min: 1, max: 15 }),
    // One byte decides each run and each correction: cheap to generate ten thousand times.
    dice: fc.uint8Array({ minLength: 60, maxLength: 60 }),
    failing: fc.integer({ min: 0, max: 10 }),
  });
  await fc.assert(
    fc.asyncProperty(scenario, async ({ length, dice, failing }) => {
      let rolled = 0;
      const roll = (sides: number): number => (dice[rolled++ % dice.length] ?? 0) % sides;
      const run = new PlanScenario({
        plan: testPlan(length),
        step: () => ({ content: 'x', isError: roll(10) < failing }),
        correct: () => correctionOf(actions[roll(actions.length)] ?? 'retry', 1 + roll(3)),
      });
      await run.run();
      expect(failures(run, length)).toEqual([]);
    }),
    { numRuns: RANDOM_PLANS },
  );
}, 60_000);

class Died extends Error {}

/** Six steps, of which the second needs a repair and the fifth another command. */
function sixSteps(commit: PlanScenarioOptions['commit'], worked: string[]): PlanScenario {
  const broken = new Set(['s2', 's5']);
  return new PlanScenario({
    plan: testPlan(6),
    ...(commit && { commit }),
    step: ({ id, args, attempts }) => {
      const isError = broken.has(id) && attempts === 1;
      if (!isError) worked.push(id);
      return { content: JSON.stringify(args ?? id), isError };
    },
    correct: ({ step }) => correctionOf(step.id === 's2' ? 'insert' : 'modify', 2),
  });
}

it('yields the same plan and runs each step once, wherever its process died (S-01)', async () => {
  const whole = sixSteps(undefined, []);
  await whole.run();
  expect(whole.stored.steps.map(({ id }) => id)).toEqual([
    's1',
    'added-1',
    'added-2',
    's2',
    's3',
    's4',
    's5',
    's6',
  ]);
  const points = whole.facts.length;
  expect(points).toBeGreaterThan(20);
  for (let at = 1; at < points; at += 1) {
    for (const committed of [false, true]) {
      let died = false;
      const worked: string[] = [];
      const run = sixSteps((n, _fact, done) => {
        if (died || n !== at || done !== committed) return;
        died = true;
        throw new Died();
      }, worked);
      await expect(run.run()).rejects.toThrow(Died);
      await run.run();
      expect(run.stored).toEqual(whole.stored);
      expect(run.facts).toEqual(whole.facts);
      // A run whose end was not committed reruns under its old number: its own journal records what it did.
      const again = run.runs.filter((id, index) => run.runs.indexOf(id) !== index);
      expect(again.length).toBeLessThanOrEqual(1);
      expect(new Set(run.runs)).toEqual(new Set(whole.runs));
    }
  }
});
