/** What is stored about groups besides their turns: messages that do not mention the bot, and turns caused by bots. */
import type { Address, Place, SessionKey } from '../message.ts';

/** Messages of a session kept without a turn; the oldest is dropped. */
export const MAX_OBSERVED = 50;
/** Longest text kept of one, in UTF-16 units. */
export const MAX_OBSERVED_CHARS = 500;

/** Turns that bots may cause in one chat within the window; after them no bot is answered there for the quiet time. */
export const BOT_TURNS = 20;
export const BOT_WINDOW_MS = 5 * 60_000;
export const BOT_QUIET_MS = 10 * 60_000;

/** A message that others wrote in a group, not to the bot; its text is one line. */
export interface ObservedMessage {
  senderName: string;
  content: string;
}

/** `id` is the platform's for it in its chat, `senderId` its immutable one for the person. */
export interface IdentifiedMessage extends ObservedMessage {
  id: string;
  senderId: string;
}

/** Turns caused by bots in a chat, at epoch milliseconds, and until when it is quiet, from the message `id` on. */
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
  /** Keeps messages, oldest first, for the next turn of the session behind the address; one that is kept already stays as it is. */
  keepObserved(chat: GroupChat, address: Address, messages: readonly IdentifiedMessage[]): Promise<void>;
  /** Gives a message the text of its edit, if whoever wrote it has edited it. */
  editObserved(chat: GroupChat, edit: Omit<IdentifiedMessage, 'senderName'>): Promise<void>;
  removeObserved(chat: GroupChat, ids: readonly string[]): Promise<void>;
  admitBot(chat: GroupChat, id: string): Promise<BotVerdict>;
}

/** Messages that were deleted on their platform. */
export interface DeletedMessages extends Pick<Place, 'channel'> {
  /** The chat or thread in which they were. */
  chatId: string;
  /** As in `InboundMessage.messageId`. */
  messageIds: readonly string[];
}

/**
 * Takes back questions whose turns have not begun, and forgets observed messages. Safe to repeat. Throws only
 * `StoreError`.
 */
export type NoteDeleted = (deleted: DeletedMessages) => Promise<void>;

/** Messages of a session, counted back from the newest, among which an edited one is looked up. */
export const EDITABLE_MESSAGES = 200;

/** The result of an edit. */
export type EditOutcome =
  /** The turn had not started: it answers the new text. */
  | { kind: 'changed' }
  /** The text is the same, or the session does not know the message. */
  | { kind: 'nothing' }
  /** The turn had started: the new text is kept next to the message. */
  | { kind: 'kept'; turnId: string };

/** The text that a question got after its turn had started. */
export interface EditedQuestion {
  content: string;
  edits: number;
  /** Who wrote it; the platform's id. */
  senderId: string;
}

/** The rows behind edited questions. Throws only `StoreError`. */
export interface QuestionStore {
  /** Applies the edit of a message that `senderId` wrote; the same edit again changes nothing. */
  editQuestion(
    session: SessionKey,
    edit: { messageId: string; senderId: string; content: string },
  ): Promise<EditOutcome>;
  /** Undefined when the question was not edited, or is no longer known. */
  editedQuestion(turnId: string): Promise<EditedQuestion | undefined>;
  /** Turns of accepted messages that were not answered yet, among those with these ids in this chat or thread. */
  unansweredQuestions(deleted: DeletedMessages): Promise<{ session: SessionKey; turnId: string }[]>;
  /** Which of these are questions of the session, waiting or answered, among its newest `EDITABLE_MESSAGES`. */
  questionsAmong(session: SessionKey, messageIds: readonly string[]): Promise<string[]>;
  /** The session of the running or waiting turn whose answer shows in this message of a chat. */
  sessionShowing(chat: Pick<Place, 'channel' | 'chatId'>, messageId: string): Promise<SessionKey | undefined>;
}
