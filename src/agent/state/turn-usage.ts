/** Usage of a whole turn, by model. */
import type { Ledger } from '../../protocol/store/ledger.ts';
import type { ModelUsage } from '../../protocol/agent/usage.ts';
import type { TurnContext, TurnIdentity, TurnProgress } from './turn-state.ts';
import { sumByModel } from './unjournaled-usage.ts';

/**
 * Stores the usage that is not in the journal of a turn that is released and will continue later. Throws `StoreError`.
 */
export async function recordUnreported(
  ledger: Pick<Ledger, 'noteUsage'>,
  {
    turnId,
    parentTurnId,
    sessionKey: session,
    userId,
    otherUsage,
  }: TurnIdentity & Pick<TurnProgress, 'otherUsage'>,
): Promise<void> {
  const whose = { turnId: parentTurnId ?? turnId, session, userId };
  const purpose = parentTurnId === undefined ? 'turn' : 'subagent';
  for (const spent of otherUsage.takeUnreported().spent ?? [])
    await ledger.noteUsage({ ...spent, ...whose, purpose });
}

/**
 * Usage of a turn's model calls, by model: its answers and all other calls, including those before a crash. Answers that
 * name no model count for the turn's.
 */
export function usageOf(
  turn: Pick<TurnContext, 'model'> & Pick<TurnProgress, 'rows' | 'otherUsage'>,
): ModelUsage[] {
  const answers = turn.rows.paidAnswers().flatMap(({ usage, model = turn.model ?? '' }) => {
    return usage === undefined ? [] : [{ ...usage, model }];
  });
  return sumByModel([...answers, ...turn.otherUsage.all]);
}
