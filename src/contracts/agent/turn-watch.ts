/** Who hears of turns and subagents while they run and when they end: meters, traces, the screen of a running turn. */
import type { SessionKey } from '../message.ts';
import type { TraceAttempt } from '../store/traces.ts';

/** A finished or interrupted attempt, for code that counts or exports it. */
export interface TracedTurn {
  turnId: string;
  sessionKey: SessionKey;
  attempt: TraceAttempt;
  /** Epoch milliseconds of this machine. */
  startedAt: number;
  /** False if the turn continues later. */
  ended: boolean;
}

/** A run of a subagent that has ended or been interrupted, for code that exports it. */
export interface TracedSubagent extends Pick<TracedTurn, 'sessionKey' | 'attempt' | 'startedAt'> {
  agentId: string;
  /** The turn that started it. */
  turnId: string;
  /** It does not end with its turn. */
  background: boolean;
}

/** Follows the turns running on this node. Never throws. */
export interface TurnWatch {
  /** A turn starts; `look` returns its attempt so far. Returns the function that forgets it. */
  begin(turnId: string, look: () => TraceAttempt): () => void;
  /** An attempt has ended and is stored. */
  ended(traced: TracedTurn): void;
  /** A run of a subagent is over. */
  subagentEnded(traced: TracedSubagent): void;
  /** What a turn had asked a person was decided, and it resumes. */
  decided(outcome: 'approved' | 'denied' | 'expired' | 'stopped'): void;
}
