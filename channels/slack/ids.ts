/** Slack ids: people `U…` and `W…`, direct messages `D…`, channels `C…`, older private channels and group messages `G…`. */

export const USER_ID = /^[UW][0-9A-Z]{2,30}$/;

export const CHAT_ID = /^[CDG][0-9A-Z]{2,30}$/;

/** The time of a message, which is its id within a chat: `1721609600.123456`. */
export const TS = /^\d{1,12}\.\d{6}$/;

/** Whether one person or several read a chat with the bot: only direct messages begin with a D. */
export function privacyOf(chatId: string): 'private' | 'group' {
  return chatId.startsWith('D') ? 'private' : 'group';
}

/** When a message was sent, in epoch milliseconds. */
export function timeOf(ts: string): number {
  return Math.floor(Number(ts) * 1_000);
}
