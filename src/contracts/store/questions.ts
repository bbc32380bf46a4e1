/** Questions that their senders edit, and answers that are on screen while their turn runs. */
import type { Place, SessionKey } from '../message.ts';
import type { DeletedMessages } from '../platform/deleted-messages.ts';

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
  /** How often it was edited. */
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
  /** The session of the running or waiting turn whose answer shows in this message of a chat. */
  sessionShowing(chat: Pick<Place, 'channel' | 'chatId'>, messageId: string): Promise<SessionKey | undefined>;
}
