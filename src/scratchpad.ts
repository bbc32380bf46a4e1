/** A session's scratchpad: named notes that the agent keeps for itself between iterations and turns (N-10). */
import type { SessionKey } from './message.ts';

/** Notes of one session. */
export const MAX_NOTES = 50;
/** Longest note, in UTF-16 units. */
export const MAX_NOTE_CHARS = 8_000;

/** Throws only `StoreError`; a repeated write changes nothing. */
export interface ScratchpadStore {
  /** All notes by name, names ascending. */
  notes(session: SessionKey): Promise<ReadonlyMap<string, string>>;
  /** Sets a note; undefined takes it away. False when the session holds `MAX_NOTES` others. */
  setNote(session: SessionKey, name: string, text: string | undefined): Promise<boolean>;
}
