/** A profile that is switched during a turn: the next iteration has its prompt, tools and model (N-55). */
import { SWITCH_PROFILE } from '../../contracts/profile.ts';
import type { AgentShared } from '../deps.ts';
import type { TurnContext, TurnIdentity, TurnProgress } from '../state/turn-state.ts';

/**
 * Applies the session's profile when one of the n-th answer's tool calls switched it, also before a crash. Throws only `StoreError` and `GatewayError('unknown_profile')`.
 */
export async function followSwitch(
  shared: AgentShared,
  turn: TurnIdentity & TurnContext & TurnProgress,
  n: number,
): Promise<void> {
  const switched = turn.rows.steps.some(
    ({ iteration, entry }) =>
      iteration === n && entry.kind === 'tool_result' && entry.toolName === SWITCH_PROFILE && !entry.isError,
  );
  if (!switched) return;
  const session = await shared.deps.ledger.session(turn.sessionKey);
  if (session === undefined) return;
  turn.profile = shared.models.profile(session.profileId);
  turn.prepared = shared.prepare(turn.profile);
  turn.model = turn.askedModel ?? session.model ?? turn.profile.model;
}
