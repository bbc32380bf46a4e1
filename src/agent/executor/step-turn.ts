/** The conversation of one step within its turn: its own journal rows and its own prompt. */
import { STEP_ITERATIONS } from '../../protocol/store/records.ts';
import type { AgentShared } from '../deps.ts';
import { Reply } from '../state/reply.ts';
import { TurnRows } from '../state/turn-rows.ts';
import type { TurnIdentity, TurnProgress } from '../state/turn-state.ts';
import type { AskingTurn } from '../turn/iteration.ts';
import type { ToolTurn } from '../tools/tool-calls.ts';
import { withModePrompt } from './mode-prompts.ts';

/** The parts of a turn that a step of its plan works with: it calls the model and runs tools. */
export type StepTurn = AskingTurn & ToolTurn;

/** The turn for one run of a step. Its n-th answer has the iteration `stepIteration(run, n)`. */
export function stepTurn(turn: StepTurn, run: number, task: string): StepTurn {
  const own = turn.rows.ofPlan.filter(({ iteration }) => Math.floor(iteration / STEP_ITERATIONS) === run);
  const before = turn.rows.ofPlan.filter((row) => !own.includes(row));
  const past = [...turn.past, turn.rows.user, ...turn.rows.steps, ...before];
  return {
    ...turn,
    // The task quotes results of earlier steps, so it does not count as the user's own text.
    rows: TurnRows.ofStep(task, own, turn.rows.taint),
    history: [],
    past,
    reply: new Reply(),
    plan: undefined,
    prepared: {
      ...turn.prepared,
      system: withModePrompt(turn.prepared.system, turn.plan?.mode ?? turn.mode),
      withoutTools: withModePrompt(turn.prepared.withoutTools, turn.plan?.mode ?? turn.mode),
    },
    // These notes are about the turn's own loop.
    profile: {
      ...turn.profile,
      iterationBudgetEnabled: false,
      goalAnchoringEnabled: false,
      antiStallEnabled: false,
      adaptiveReplanEnabled: false,
    },
  };
}

/** The journal iteration of the n-th answer of a run; n counts from 1. */
export function stepIteration(run: number, n: number): number {
  return run * STEP_ITERATIONS + n;
}

/** Journals the rows of a step that are not in the journal yet. Throws `StoreError`. */
export async function journalFresh(
  { ledger }: Pick<AgentShared, 'ledger'>,
  own: Pick<TurnIdentity, 'fence' | 'turnId'> & Pick<TurnProgress, 'rows'>,
): Promise<void> {
  const fresh = own.rows.fresh();
  if (fresh.length === 0) return;
  await ledger.journalAnswer(own.fence, own.turnId, fresh);
  own.rows.journaled(fresh);
}
