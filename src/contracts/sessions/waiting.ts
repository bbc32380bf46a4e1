/** Messages that wait behind a running turn, as people look at them and change them. */
import type { SessionKey } from '../message.ts';
import type { QueueMode } from '../store/records.ts';

/** A message that waits. */
export interface WaitingMessage {
  turnId: string;
  /** The number of its message; undefined for one that people do not see, such as a heartbeat. */
  seq?: number | undefined;
  content: string;
  senderName?: string | undefined;
  senderId: string;
  /** Its text may be changed: a person wrote it as it stands. */
  isEditable: boolean;
  createdAt: Date;
}

/** What waits in a session: the first one is next. `busy` while a turn runs, or waits for a person. */
export interface WaitingQueue {
  mode: QueueMode;
  busy: boolean;
  messages: WaitingMessage[];
}

/** What became of a change: `begun` when the message does not wait any more. */
export type WaitingChange = 'changed' | 'begun';

/**
 * Changes hold the lock of the lane, so that a message is either changed or taken, whole. Throws only `StoreError`; each is safe
 * to repeat.
 */
export interface WaitingStore {
  /** All that wait, at most `MAX_PENDING`. */
  waiting(session: SessionKey): Promise<WaitingQueue>;
  /** Replaces the text, for whoever reads it and for the model. `senderId` must have written it. */
  editWaiting(
    session: SessionKey,
    turnId: string,
    edit: { content: string; senderId: string },
  ): Promise<WaitingChange>;
  /** Takes it out of the queue: its turn ends as `stopped`, and its message stays, left out. */
  dropWaiting(session: SessionKey, turnId: string): Promise<WaitingChange>;
  /** Makes it the next one, and marks the running turn to end for it. */
  sendWaitingNow(session: SessionKey, turnId: string): Promise<WaitingChange>;
}
