/** Plans for tests of cards and panels. */
import type { Plan, PlanStep, StepStatus } from '../../../src/protocol/agent/plan.ts';

/** A pending step with all fields; `over` replaces some. */
export function step(index: number, over: Partial<PlanStep> = {}): PlanStep {
  const description = `Do thing number ${index + 1}`;
  const executor = { kind: 'self' } as const;
  const usual = {
    id: `s${index}`,
    index,
    description,
    executor,
    risk: 'safe',
    status: 'pending',
    attempts: 0,
    corrections: 0,
  } as const;
  return { ...usual, ...over };
}

/** A running plan with the given steps, or that many of them; `over` replaces some fields. */
export function plan(steps: number | PlanStep[], over: Partial<Plan> = {}): Plan {
  const all = typeof steps === 'number' ? Array.from({ length: steps }, (_, index) => step(index)) : steps;
  return {
    id: 'p',
    goal: 'Plan a trip to Lisbon',
    milestones: [],
    steps: all,
    mode: 'planner',
    state: 'running',
    originalLength: all.length,
    ...over,
  };
}

/** The plan with one step in another status. */
export function withStatus(of: Plan, index: number, status: StepStatus, attempts = 1): Plan {
  return {
    ...of,
    steps: of.steps.map((one) => (one.index === index ? { ...one, status, attempts } : one)),
  };
}
