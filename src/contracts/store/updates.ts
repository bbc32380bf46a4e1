/** Updates that a platform posted to a webhook: stored before the platform hears that they arrived, then received in their order. */

/** Updates of one bot that may wait; with more, the platform keeps them and posts them again. */
export const MAX_WAITING_UPDATES = 10_000;

/** How long the ids of received updates are kept, so that one that is posted again is recognised. Telegram itself keeps updates no longer. */
export const KEPT_UPDATE_HOURS = 24;

/** An update that waits; `id` rises in the order in which the platform made them. */
export interface WaitingUpdate {
  id: number;
  update: unknown;
}

/** What became of an update that was posted. */
export type StoredUpdate = 'stored' | 'repeated' | 'full';

/** The rows behind webhooks; `bot` names a channel and its bot. Throws only `StoreError`. */
export interface UpdateStore {
  /** `stored` once it is durable; `repeated` for an id that came before, `full` while `MAX_WAITING_UPDATES` wait. */
  storeUpdate(bot: string, posted: WaitingUpdate): Promise<StoredUpdate>;
  /** Those that wait, the lowest ids first. */
  waitingUpdates(bot: string, limit: number): Promise<WaitingUpdate[]>;
  /** Their effects are committed: they wait no more, and only their ids are kept. */
  finishUpdates(bot: string, ids: readonly number[]): Promise<void>;
}
