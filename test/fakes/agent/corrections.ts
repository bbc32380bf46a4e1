/** Corrections and step results for tests of the plan executor. */
import type { AgentCorrection } from '../../../src/agent/plans/correction.ts';
import { PlanScenario, type PlanScenarioOptions, testPlan } from './plans.ts';

/** Makes the steps with these ids fail this many times; after that they succeed. */
export function failing(times: Record<string, number>): PlanScenarioOptions['step'] {
  const left = { ...times };
  return ({ id }) => {
    const fails = (left[id] ?? 0) > 0;
    if (fails) left[id] = (left[id] ?? 0) - 1;
    return { content: fails ? `${id} broke` : `${id} ok`, isError: fails };
  };
}

export const retry: AgentCorrection = { action: 'retry', reason: 'again' };
export const skip: AgentCorrection = { action: 'skip', reason: 'not needed' };

/** A correction that inserts `count` new steps. */
export function insert(count = 1): AgentCorrection & { action: 'insert_steps' } {
  return {
    action: 'insert_steps',
    reason: 'repair first',
    newSteps: Array.from({ length: count }, (_, n) => ({
      description: `Repair ${n}`,
      executor: { kind: 'self' },
    })),
  };
}

/** Events that end a plan; each plan has exactly one. */
export const TERMINAL_EVENTS = ['plan_completed', 'plan_cancelled'];

/** Runs a plan, of two steps by default, to its end. */
export async function runScenario(
  options: Partial<PlanScenarioOptions> & { steps?: number },
): Promise<PlanScenario> {
  const { steps = 2, plan = testPlan(steps), ...rest } = options;
  const scenario = new PlanScenario({ plan, ...rest });
  await scenario.run();
  return scenario;
}
