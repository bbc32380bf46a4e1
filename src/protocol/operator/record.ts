/** What the tables know of the turns of a session, for a signed record. */
import type { SessionKey } from '../message.ts';

/** A turn with everything that was stored of it: rows as they are in the tables, times in ISO 8601. */
export interface RecordedTurn {
  /** Its place in its session, ascending; below 0 when it was dropped from the queue. */
  laneSeq: number;
  turn: Readonly<Record<string, unknown>>;
  /** What people saw, in order. */
  messages: readonly Readonly<Record<string, unknown>>[];
  /** What the model read and did, in order: texts with their sources, calls with their arguments, results. */
  journal: readonly Readonly<Record<string, unknown>>[];
  /** What people were asked, about which bytes, and who decided it. */
  approvals: readonly Readonly<Record<string, unknown>>[];
}

export interface RecordStore {
  /** The next turns of a session after a place, oldest first. Throws `StoreError`. */
  recordedTurns(session: SessionKey, page: { after: number; limit: number }): Promise<RecordedTurn[]>;
}
