/** Usage of a whole turn, by model. */
import type { Ledger } from '../../contracts/ledger.ts';
import type { ModelUsage } from '../../contracts/usage.ts';
import type { TurnContext, TurnIdentity, TurnProgress } from './turn-state.ts';
import { sumByModel } from './unjournaled-usage.ts';

/**
 * Stores the cost that no row holds of a turn that is left here and continued elsewhere: its end will not know it. Throws
 * `StoreError`.
 */
export async function recordUnreported(
  ledger: Pick<Ledger, 'noteUsage'>,
  { turnId, parentTurnId, sessionKey: session, userId, costs }: TurnIdentity & Pick<TurnProgress, 'costs'>,
): Promise<void> {
  const whose = { turnId: parentTurnId ?? turnId, session, userId };
  const purpose = parentTurnId === undefined ? 'turn' : 'subagent';
  for (const spent of costs.takeUnreported().spent ?? [])
    await ledger.noteUsage({ ...spent, ...whose, purpose });
}

/**
 * Cost of a turn's calls, by model: its answers and what was spent beside them, those from before a crash included.
 * `model` is that of answers which do not name theirs.
 */
export function usageOf(
  turn: Pick<TurnContext, 'model'> & Pick<TurnProgress, 'rows' | 'costs'>,
): ModelUsage[] {
  const answers = turn.rows.paidAnswers().flatMap(({ usage, model = turn.model ?? '' }) => {
    return usage === undefined ? [] : [{ ...usage, model }];
  });
  return sumByModel([...answers, ...turn.costs.all]);
}
