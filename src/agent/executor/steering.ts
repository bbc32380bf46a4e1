/** Messages that the user sends while a plan runs, in queue mode `steer`: the next step, correction and the final answer include them. */
import type { Plan } from '../../contracts/plans/plan.ts';
import type { Emit } from '../deps.ts';
import { type Joining, type SteeredTurn, takeSteering } from '../turn/queue-modes.ts';
import type { TurnProgress } from '../state/turn-state.ts';
import type { ExecutorDeps } from './execution.ts';

/**
 * Longest text of the user that a step or a correction includes, in UTF-16 units; of a longer one, its end. The final
 * answer includes all of it.
 */
export const MAX_STEERING_CHARS = 600;

/** The iteration of the turn's own loop at which a plan runs. */
const PLAN_ITERATION = 1;

/** A gate that first takes in the messages that wait. Throws what `gate` throws, and `StoreError`. */
export function withSteering(
  gate: ExecutorDeps['gate'],
  shared: Joining,
  turn: SteeredTurn,
  emit: Emit,
): ExecutorDeps['gate'] {
  return async (step, state) => {
    await takeSteering(shared, turn, PLAN_ITERATION, emit);
    return await gate(step, state);
  };
}

/** The plan for a prompt: its goal, followed by the messages that the user added. Never throws. */
export function withUserAdditions(plan: Plan, { rows }: Pick<TurnProgress, 'rows'>): Plan {
  const messages = rows.steps.flatMap(({ entry }) =>
    entry.kind === 'user' && entry.laneSeq !== undefined ? [entry.content] : [],
  );
  if (messages.length === 0) return plan;
  const all = messages.join('\n');
  const shown = all.length <= MAX_STEERING_CHARS ? all : `…${all.slice(-MAX_STEERING_CHARS).toWellFormed()}`;
  return { ...plan, goal: `${plan.goal}\nThe user has since added: ${shown}` };
}
