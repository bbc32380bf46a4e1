/** What becomes of the notes of an attempt when it is over. */
import { toGatewayError } from '../../contracts/errors.ts';
import type { TraceAttempt } from '../../contracts/store/traces.ts';
import type { AgentShared } from '../deps.ts';
import type { TraceNotes } from '../state/trace-notes.ts';
import type { TurnContext, TurnIdentity } from '../state/turn-state.ts';

/** The parts of a turn that its trace names. */
type NotedTurn = Pick<TurnIdentity, 'turnId' | 'sessionKey' | 'log'> & { trace: TraceNotes };

/** Where traces are kept. */
type Tracing = Pick<AgentShared, 'traces'>;

/** Passes a stored attempt to those who count and export it, and logs its end. Never throws. */
export function endTrace({ traces }: Tracing, turn: NotedTurn, attempt: TraceAttempt, ended: boolean): void {
  const { turnId, sessionKey } = turn;
  const { outcome, ms, afterMs } = attempt;
  const calls = attempt.spans.filter(({ kind }) => kind === 'model_call').length;
  const fields = { reason: outcome, ms, afterMs, calls };
  if (ended) turn.log.info(fields, 'turn_ended');
  else turn.log.info(fields, outcome === 'parked' ? 'turn_parked' : 'turn_released');
  traces.ended({ turnId, sessionKey, attempt, startedAt: turn.trace.startedAt, ended });
}

/**
 * Stores an attempt after which the turn continues later: parked, or released by a node that stops. Never throws:
 * without it the turn continues as well, and the journal still has its answers.
 */
export async function leaveTrace(
  shared: Tracing,
  turn: NotedTurn & Pick<TurnContext, 'profile'>,
  outcome: 'parked' | 'released',
): Promise<void> {
  const attempt = turn.trace.end(outcome, turn.profile.id);
  await shared.traces.noteAttempt(turn.turnId, attempt).catch((error: unknown) => {
    turn.log.warn({ err: toGatewayError(error) }, 'trace_not_stored');
  });
  endTrace(shared, turn, attempt, false);
}
