/** What later turns of a session read from earlier ones, and the summaries that replace it. */
import type { SessionKey } from '../message.ts';
import type { ContextEntry, ContextRecord } from './records.ts';

/** A row of a finished turn without a summary, with its turn's place in the session. */
export interface UnsummarizedRow extends ContextRecord {
  laneSeq: number;
}

/** A summary of the turns `from`…`upTo`, and of all before them; `rows` are the seqs it replaces. */
export interface SummaryRange {
  from: number;
  upTo: number;
  rows: readonly number[];
  summary: ContextEntry & { kind: 'summary' };
  tokens: number;
}

/** Where `/new` began a new conversation: the model no longer reads what was accepted up to then. */
export interface ContextReset {
  /** The number of the last message before it. A turn that it stopped may store its answer later. */
  after: number;
  at: Date;
}

/** Throws only `StoreError`. */
export interface ContextStore {
  /** Those behind the messages `from`…`before` - 1 of a session, oldest first; without `before`, to the end. */
  resets(session: SessionKey, span: { from: number; before?: number | undefined }): Promise<ContextReset[]>;
  /**
   * What the next turn of the session would read: the last summary since `/new`, then the newest rows of finished turns
   * after it, at most `limit`, oldest first. Read by index: the cost does not grow with the session's age.
   */
  unsummarized(session: SessionKey, limit: number): Promise<UnsummarizedRow[]>;
  /**
   * Stores the summary and marks the rows it replaces, in one statement. False, without a change, when one of the rows is
   * deleted, already summarized, or of an unfinished turn.
   */
  summarize(session: SessionKey, range: SummaryRange): Promise<boolean>;
}
