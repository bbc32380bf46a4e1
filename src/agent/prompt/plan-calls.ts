/** The calls of the tool `plan` in a turn, derived from its rows, so that a resumed turn reads the same. */
import { PLAN_TOOL } from '../../protocol/agent/profile.ts';
import type { TurnRows } from '../state/turn-rows.ts';

/** A call that asked for a plan. */
interface PlanCall {
  iteration: number;
  goal: string;
}

/** The calls that were run, in order. */
export function planCalls(rows: TurnRows): PlanCall[] {
  return rows.steps.flatMap(({ iteration, entry }) => {
    if (entry.kind !== 'tool_result' || entry.toolName !== PLAN_TOOL || entry.isError) return [];
    const goal = rows.answer(iteration)?.toolCalls[entry.callIndex]?.args['goal'];
    return typeof goal === 'string' ? [{ iteration, goal }] : [];
  });
}
