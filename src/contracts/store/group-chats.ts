/**
 * What is stored about groups besides their turns: what people say there without naming the bot, and how often other
 * bots are answered.
 */
import type { Address } from '../message.ts';

/** Messages of a session kept without a turn; the oldest is dropped. */
export const MAX_OBSERVED = 50;
/** Longest text kept of one, in UTF-16 units. */
export const MAX_OBSERVED_CHARS = 500;

/** Turns that bots may cause in one chat within the window; after them no bot is answered there for the quiet time. */
export const BOT_TURNS = 20;
export const BOT_WINDOW_MS = 5 * 60_000;
export const BOT_QUIET_MS = 10 * 60_000;

/** A group message that did not name the bot; its text is one line. */
export interface ObservedMessage {
  senderName: string;
  content: string;
}

/**
 * The turns that bots have caused in a chat, at epoch milliseconds, and until when it is quiet, starting with the
 * message `id`.
 */
export interface BotTalk {
  turns: { id: string; at: number }[];
  quiet?: { id: string; until: number } | undefined;
}

/** `quiet_begins` is for the one message that gets the notice; a message asked about again gets the same verdict. */
export type BotVerdict = 'answered' | 'quiet_begins' | 'quiet';

/** Decides whether a bot's message is answered, and what is stored about that. Pure. */
export function judgeBot(talk: BotTalk, id: string, now: number): { talk: BotTalk; verdict: BotVerdict } {
  const { quiet } = talk;
  if (quiet !== undefined && now < quiet.until)
    return { talk, verdict: quiet.id === id ? 'quiet_begins' : 'quiet' };
  const turns = talk.turns.filter(({ at }) => at > now - BOT_WINDOW_MS);
  if (turns.some((one) => one.id === id)) return { talk: { turns }, verdict: 'answered' };
  if (turns.length < BOT_TURNS) return { talk: { turns: [...turns, { id, at: now }] }, verdict: 'answered' };
  return { talk: { turns: [], quiet: { id, until: now + BOT_QUIET_MS } }, verdict: 'quiet_begins' };
}

/** A chat of a group, with all its threads. */
export interface GroupChat {
  channel: string;
  chatId: string;
}

/** Throws only `StoreError`; the clock is the database's, and every call is safe to repeat. */
export interface GroupChatStore {
  /** Whether messages that do not name the bot are kept, as an owner chose with `/observe`; undefined = no one has. */
  observes(chat: GroupChat): Promise<boolean | undefined>;
  /** Stores the choice; switching it off deletes what was kept of the chat. */
  setObserving(chat: GroupChat, on: boolean): Promise<void>;
  /** Keeps a message for the next turn of the session behind the address; `id` is the platform's for it in that chat. */
  keepObserved(chat: GroupChat, address: Address, message: ObservedMessage & { id: string }): Promise<void>;
  /** Gives a kept message its newest text. */
  editObserved(chat: GroupChat, id: string, content: string): Promise<void>;
  /** Removes kept messages. */
  removeObserved(chat: GroupChat, ids: readonly string[]): Promise<void>;
  /** Counts a bot's message, unless the chat is quiet. */
  admitBot(chat: GroupChat, id: string): Promise<BotVerdict>;
}
