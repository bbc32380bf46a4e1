/**
 * Updates that a platform posted to a webhook: stored before they are acknowledged to the platform, then received in
 * order.
 */

/** Updates of one bot that may wait; with more, the platform keeps them and posts them again. */
export const MAX_WAITING_UPDATES = 10_000;

/**
 * How long the ids of received updates are kept, so that one that is posted again is recognized. Telegram itself keeps
 * updates no longer.
 */
export const KEPT_UPDATE_HOURS = 24;

/** A waiting update; `id` rises in the order in which the platform created them. */
export interface WaitingUpdate {
  id: number;
  update: unknown;
}

/** The result of a posted update. */
export type StoredUpdate = 'stored' | 'repeated' | 'full';

/** The rows behind webhooks; `bot` names a channel and its bot. Throws only `StoreError`. */
export interface UpdateStore {
  /** `stored` once it is durable; `repeated` for an id that arrived before, `full` while `MAX_WAITING_UPDATES` wait. */
  storeUpdate(bot: string, posted: WaitingUpdate): Promise<StoredUpdate>;
  /** Waiting updates, lowest ids first. */
  waitingUpdates(bot: string, limit: number): Promise<WaitingUpdate[]>;
  /** Their effects are committed: they are no longer waiting, and only their ids are kept. */
  finishUpdates(bot: string, ids: readonly number[]): Promise<void>;
}
