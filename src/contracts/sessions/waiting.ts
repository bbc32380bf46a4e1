/** Messages waiting behind a running turn, as people see and change them. */
import type { SessionKey } from '../message.ts';
import type { QueueMode } from '../store/records.ts';

/** A waiting message. */
export interface WaitingMessage {
  turnId: string;
  /** The number of its message; undefined for one that people do not see, such as a heartbeat. */
  seq?: number | undefined;
  content: string;
  senderName?: string | undefined;
  senderId: string;
  /** Its text may be changed: a person wrote it in this form. */
  isEditable: boolean;
  createdAt: Date;
}

/** What waits in a session: the first one is next. `busy` while a turn runs, or waits for a person. */
export interface WaitingQueue {
  mode: QueueMode;
  busy: boolean;
  messages: WaitingMessage[];
}

/** The result of a change: `begun` when the message is no longer waiting. */
export type WaitingChange = 'changed' | 'begun';

/**
 * Changes hold the lane's lock, so that a message is either changed or taken as a whole. Throws only `StoreError`; each
 * is safe to repeat.
 */
export interface WaitingStore {
  /** All waiting ones, at most `MAX_PENDING`. */
  waiting(session: SessionKey): Promise<WaitingQueue>;
  /** Replaces the text, for readers and for the model. `senderId` must have written it. */
  editWaiting(
    session: SessionKey,
    turnId: string,
    edit: { content: string; senderId: string },
  ): Promise<WaitingChange>;
  /** Removes it from the queue: its turn ends as `stopped`, and its message remains, marked as left out. */
  dropWaiting(session: SessionKey, turnId: string): Promise<WaitingChange>;
  /** Makes it the next one, and marks the running turn to end for it. */
  sendWaitingNow(session: SessionKey, turnId: string): Promise<WaitingChange>;
}
