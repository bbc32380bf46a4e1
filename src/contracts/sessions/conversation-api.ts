/** What people do with a conversation besides talking in it. */
import type { Caller } from '../access.ts';
import type { SessionKey } from '../message.ts';
import type { WhoAnswers } from '../provider.ts';
import type { Fork } from './fork.ts';
import type { WaitingQueue } from './waiting.ts';
import type { Question } from './tries.ts';

/** The model that a session is to have, and the one that answers. */
export interface SessionModel extends WhoAnswers {
  configured: string;
  /** What names it: the session, a binding of its chat, its profile, or the gateway for everybody. */
  from: 'session' | 'binding' | 'profile' | 'gateway';
  profileId: string;
}

/** For sessions that the caller may see; undefined for any other. Methods throw only `GatewayError`. */
export interface ConversationApi {
  /**
   * Makes a session that begins as this one was at a message (`ForkStore.fork`), with copies of all its files as they are
   * now. It belongs to whom the session belongs, or to the caller for a session of a chat. `id` names it, behind `http:`.
   * Throws `GatewayError`: `bad_title`, `message_not_found`, `storage_full`.
   */
  fork(
    caller: Caller,
    key: SessionKey,
    asked: { id: string; seq: number; before?: boolean | undefined; title?: string | undefined },
  ): Promise<Fork | undefined>;
  /** The newest question that can be asked again (`Receive` with `retryOf`). Throws `GatewayError('not_changed')` without one. */
  lastQuestion(caller: Caller, key: SessionKey): Promise<Question | undefined>;
  /** Takes the newest question and its answers out of what the model reads. Throws `GatewayError('not_changed')`. */
  undo(caller: Caller, key: SessionKey): Promise<Question | undefined>;
  /** Who answers the next message of the session. Throws `ProviderError` where no model is named and no server answers. */
  model(caller: Caller, key: SessionKey): Promise<SessionModel | undefined>;
  /** Lets the model read this turn, of all answers to its question (`TryStore.choose`). Throws `GatewayError('not_changed')`. */
  choose(caller: Caller, key: SessionKey, turnId: string): Promise<Question | undefined>;
  /** What waits behind the running turn. */
  queue(caller: Caller, key: SessionKey): Promise<WaitingQueue | undefined>;
  /**
   * Edits a waiting message (only the caller's own), drops it, or makes it next and ends the running turn for it; gives what
   * waits then. Throws `GatewayError`: `not_waiting`, `not_editable`, `empty_message`, `message_too_large`.
   */
  changeWaiting(
    caller: Caller,
    key: SessionKey,
    turnId: string,
    act: { do: 'edit'; content: string } | { do: 'drop' } | { do: 'send_now' },
  ): Promise<WaitingQueue | undefined>;
}
