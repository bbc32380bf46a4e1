/** Messages that the user sends while a plan runs, in queue mode `steer`: the next step, the next correction and the last answer read them. */
import type { Plan } from '../../contracts/plan.ts';
import type { AgentShared, Emit } from '../deps.ts';
import { takeSteering } from '../turn/queue-modes.ts';
import type { TurnIdentity, TurnProgress } from '../state/turn-state.ts';
import type { ExecutorDeps } from './execution.ts';

/** Longest text of the user that a step or a correction reads, in UTF-16 units; of more, the newest. The last answer reads all. */
export const MAX_STEERING_CHARS = 600;

/** The iteration of the turn's own loop at which a plan is carried out. */
const PLAN_ITERATION = 1;

/** The gate before each step and each repair, which first takes in what waits. Throws what `gate` throws, and `StoreError`. */
export function withSteering(
  gate: ExecutorDeps['gate'],
  shared: AgentShared,
  turn: TurnIdentity & TurnProgress,
  emit: Emit,
): ExecutorDeps['gate'] {
  return async (step, state) => {
    await takeSteering(shared, turn, PLAN_ITERATION, emit);
    return await gate(step, state);
  };
}

/** The plan for a prompt: its goal with what the user added. Never throws. */
export function withUserAdditions(plan: Plan, { rows }: Pick<TurnProgress, 'rows'>): Plan {
  const words = rows.steps.flatMap(({ entry }) =>
    entry.kind === 'user' && entry.laneSeq !== undefined ? [entry.content] : [],
  );
  if (words.length === 0) return plan;
  const all = words.join('\n');
  const shown = all.length <= MAX_STEERING_CHARS ? all : `…${all.slice(-MAX_STEERING_CHARS).toWellFormed()}`;
  return { ...plan, goal: `${plan.goal}\nThe user added meanwhile: ${shown}` };
}
