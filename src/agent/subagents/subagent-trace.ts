/** What a run of a subagent does, for those who export it. It is not stored: its turn's trace has the tool call. */
import { LaneAbort } from '../../contracts/bus.ts';
import type { Profile } from '../../contracts/agent/profile.ts';
import type { AgentShared } from '../deps.ts';
import { TraceNotes } from '../state/trace-notes.ts';
import { ApprovalWait } from '../tools/approval-gate.ts';
import type { TurnIdentity } from '../state/turn-state.ts';

/** Whose run it is. */
interface TracedChild extends Pick<TurnIdentity, 'sessionKey' | 'fence'> {
  agentId: string;
  parentTurnId: string;
  profile: Pick<Profile, 'id'>;
  background: boolean;
}

/** The notes of one run. */
export interface SubagentTrace {
  notes: TraceNotes;
  /** The run is over with this outcome: a reason of a turn, `parked` or `released`. Never throws. */
  end(outcome: string): void;
}

/** Begins the notes of a run; `resumed`: an earlier run left a journal. */
export function traceSubagent(
  { redact, traces }: Pick<AgentShared, 'redact' | 'traces'>,
  child: TracedChild,
  resumed: boolean,
): SubagentTrace {
  const { agentId, parentTurnId: turnId, sessionKey, fence, profile, background } = child;
  const { node, epoch } = fence;
  const notes = new TraceNotes({ node, epoch, resumed, attempts: 0, crashes: 0, afterMs: 0 }, redact);
  return {
    notes,
    end(outcome) {
      const attempt = notes.end(outcome, profile.id);
      const { startedAt } = notes;
      traces.subagentEnded({ agentId, turnId, sessionKey, attempt, startedAt, background });
    },
  };
}

/** The outcome of a run that an error has ended: it continues later, or has failed. */
export function outcomeOf(error: unknown): string {
  if (error instanceof ApprovalWait) return 'parked';
  return error instanceof LaneAbort && error.code !== 'stopped' ? 'released' : 'failed';
}
