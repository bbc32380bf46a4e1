/** Turns a parsed plan into a stored one, with ids, risks, the goal and the session's mode. */
import { newId } from '../../lib/ids.ts';
import type { ExecutionMode, Plan } from '../../contracts/plans/plan.ts';
import { todoText } from '../../contracts/store/notes.ts';
import type { Tool } from '../../contracts/tools/tool.ts';
import { classifyFor } from '../executor/edits.ts';
import type { WrittenPlan } from './read-plan.ts';
import { languageMark } from '../../contracts/texts/languages.ts';
import type { Say } from '../../contracts/texts/say.ts';

interface PlanSetting {
  goal: string;
  mode: ExecutionMode;
  tools: ReadonlyMap<string, Tool>;
  state?: 'running' | 'stored' | undefined;
  /** The language of its card. */
  say: Pick<Say, 'language'>;
}

/** Creates the plan of a turn. `goal` is the user's message. */
export function makePlan(
  written: WrittenPlan,
  { goal, mode, tools, state = 'running', say }: PlanSetting,
): Plan {
  const classify = classifyFor(tools);
  return {
    id: newId(),
    goal: todoText(goal),
    milestones: written.milestones,
    steps: written.steps.map(({ description, executor }, index) => ({
      id: `s${index + 1}`,
      index,
      description,
      executor,
      risk: classify({ executor }),
      status: 'pending',
      attempts: 0,
      corrections: 0,
    })),
    mode,
    state,
    originalLength: written.steps.length,
    ...languageMark(say),
  };
}
