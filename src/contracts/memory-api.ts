/** What is remembered about the caller, for every signed-in person. */
import type { Caller } from './access.ts';
import type { MemoryRecord } from './store/notes.ts';

/** Throws only `StoreError`. */
export interface MemoryApi {
  /** The facts about the caller, newest first: all of them, because their number is limited. */
  own(caller: Caller): Promise<MemoryRecord[]>;
  /** Deletes a fact about the caller; false when there is none. */
  deleteMemory(caller: Caller, id: number): Promise<boolean>;
}
