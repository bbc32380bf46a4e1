/** The connections of one bot. */

/** One of the connections that a bot's chats are split across: `id` counts from 0. */
export interface Shard {
  id: number;
  count: number;
}
