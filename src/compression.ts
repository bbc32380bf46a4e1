/** How the context of a long session is shortened: a summary takes the place of its oldest turns, which stay readable. */
import type { SessionKey } from './message.ts';
import type { ContextEntry, ContextRecord } from './records.ts';

/** A row of a finished turn that no summary covers, with its turn's place in the session. */
export interface UncoveredRow extends ContextRecord {
  laneSeq: number;
}

/** A summary of the turns `from`…`upTo`, and of all before them; `rows` are the seqs it takes the place of. */
export interface Cover {
  from: number;
  upTo: number;
  rows: readonly number[];
  summary: ContextEntry & { kind: 'summary' };
  tokens: number;
}

/** Throws only `StoreError`. */
export interface ContextStore {
  /**
   * What the next turn of the session would read: the last summary since `/new`, then the newest rows of finished turns
   * behind it, at most `limit`, oldest first. Read by index: the cost does not grow with the session's age.
   */
  uncovered(session: SessionKey, limit: number): Promise<UncoveredRow[]>;
  /**
   * Stores the summary and marks what it covers, in one statement. False, and nothing is changed, when any of the rows
   * is gone, covered already, or of a turn that is not finished.
   */
  cover(session: SessionKey, cover: Cover): Promise<boolean>;
}
