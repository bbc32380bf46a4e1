/** A chat that gets another id on its platform: a Telegram group that becomes a supergroup. */

/** Both ids are the platform's own. */
export interface ChatMove {
  channel: string;
  from: string;
  to: string;
}

/** What follows a chat that moved. Throws only `StoreError`. */
export interface MoveStore {
  /**
   * Gives the new id what the old one has: the grant (also when it is `listed` in the configuration), the conversation
   * and the schedules. False when there is nothing to follow, or it has followed already. A conversation that has begun
   * under the new id stays as it is.
   */
  moveChat(move: ChatMove, listed: boolean): Promise<boolean>;
}

/** Lets everything follow a chat that moved; a repeated call changes nothing. Throws only `StoreError`. */
export type FollowMove = (move: ChatMove) => Promise<void>;
