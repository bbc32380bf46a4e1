/** What is remembered about whoever asks, for every person that is signed in. */
import type { Caller } from './access.ts';
import type { MemoryRecord } from './store/notes.ts';

/** Throws only `StoreError`. */
export interface MemoryApi {
  /** The facts about the caller, newest first: all of them, for their number is bounded. */
  own(caller: Caller): Promise<MemoryRecord[]>;
  /** Deletes a fact about the caller; false when there is no such one. */
  forget(caller: Caller, id: number): Promise<boolean>;
}
