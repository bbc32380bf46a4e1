/** What the store knows about one plain turn, for tests of its trace. */
import type { TraceAttempt, TurnFacts } from '../../../src/protocol/store/traces.ts';

/** How an attempt starts. */
export const START = { node: 'n1', epoch: 1, attempts: 0, crashes: 0, afterMs: 5 };
/** An attempt in which nothing happened, with overrides. */
export const attempt = (more: Partial<TraceAttempt> = {}): TraceAttempt => ({
  ...START,
  ms: 100,
  profile: 'default',
  outcome: 'completed',
  spans: [],
  ...more,
});
/** A turn that was answered immediately. */
export const FACTS: TurnFacts = {
  turnId: 't1',
  session: 'telegram:1',
  address: 'telegram:1',
  state: 'done',
  reason: 'completed',
  acceptedAt: new Date(0),
  nowMs: 10_000,
  endedMs: 105,
  answered: true,
  queue: { ahead: 0, dueInMs: 0, attempts: 0, crashes: 0, dead: false },
  attempts: [attempt()],
  answers: [],
  approvals: [],
  waitsForCaller: false,
  gateways: 1,
  running: 0,
};
