/** What changes during a turn: a switched profile (N-55), and tools that come or go. The next model call has them. */
import { SWITCH_PROFILE } from '../../contracts/agent/profile.ts';
import type { AgentShared } from '../deps.ts';
import { withCallerOptions } from '../model/caller-options.ts';
import type { TurnContext, TurnIdentity, TurnProgress } from '../state/turn-state.ts';

/** The parts of a turn that its tools follow from. */
type ToolsTurn = Pick<TurnContext, 'profile' | 'prepared' | 'options'> & Pick<TurnProgress, 'rows'>;

/**
 * Applies the session's profile when one of the n-th answer's tool calls switched it, also before a crash. Throws only `StoreError` and `GatewayError('unknown_profile')`.
 */
export async function followSwitch(
  shared: Pick<AgentShared, 'ledger' | 'models' | 'prepare'>,
  turn: Pick<TurnIdentity, 'sessionKey'> & ToolsTurn & Pick<TurnContext, 'model' | 'askedModel'>,
  n: number,
): Promise<void> {
  const switched = turn.rows.steps.some(
    ({ iteration, entry }) =>
      iteration === n && entry.kind === 'tool_result' && entry.toolName === SWITCH_PROFILE && !entry.isError,
  );
  if (!switched) return;
  const session = await shared.ledger.session(turn.sessionKey);
  if (session === undefined) return;
  turn.profile = shared.models.profile(session.profileId);
  followTools(shared, turn);
  turn.model = turn.askedModel ?? session.model ?? turn.profile.model;
}

/** Gives the turn the prompt and tools of its profile as they are now; what others wrote about the tools taints it. */
export function followTools(shared: Pick<AgentShared, 'prepare'>, turn: ToolsTurn): void {
  const prepared = shared.prepare(turn.profile);
  turn.rows.taint.add(prepared.sources);
  if (prepared === (turn.prepared.base ?? turn.prepared)) return;
  turn.prepared = withCallerOptions(prepared, turn.options);
}
