/** The conversation of one step within its turn: its own journal rows and its own prompt. */
import { STEP_ITERATIONS } from '../../contracts/store/records.ts';
import type { AgentShared } from '../deps.ts';
import { Reply } from '../state/reply.ts';
import { TurnRows } from '../state/turn-rows.ts';
import type { Turn, TurnIdentity, TurnProgress } from '../state/turn-state.ts';
import { withModePrompt } from './mode-prompts.ts';

/** The turn for one run of a step. Its n-th answer has the iteration `stepIteration(run, n)`. */
export function stepTurn(turn: Turn, run: number, task: string): Turn {
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
    restarted: false,
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
export async function journalFresh(shared: AgentShared, own: TurnIdentity & TurnProgress): Promise<void> {
  const fresh = own.rows.fresh();
  if (fresh.length === 0) return;
  await shared.deps.ledger.journalAnswer(own.fence, own.turnId, fresh);
  own.rows.journaled(fresh);
}
