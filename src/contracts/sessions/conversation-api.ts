/** What people do with a conversation besides writing in it. */
import type { Caller } from '../access.ts';
import type { SessionKey } from '../message.ts';
import type { WhoAnswers } from '../model/provider.ts';
import type { Fork } from './fork.ts';
import type { ExecutionMode } from '../plans/plan.ts';
import type { SessionChoice } from './session-choice.ts';
import type { Say } from '../texts/say.ts';
import type { ContextReset } from '../store/contexts.ts';
import type { WaitingQueue } from './waiting.ts';
import type { Question } from './tries.ts';

/** The model configured for a session, and the one that answers. */
export interface SessionModel extends WhoAnswers {
  configured: string;
  /** Where it was set: the session, a binding of its chat, its profile, or the gateway for everyone. */
  from: 'session' | 'binding' | 'profile' | 'gateway';
  profileId: string;
}

/** What a caller may choose for a session, and the defaults. */
export interface SessionChoices {
  /** Those that the caller may use; `plans` says whether the plan mode has any effect. */
  profiles: readonly { id: string; description: string | undefined; plans: boolean }[];
  /** Models by name; those chosen with a profile are not repeated. */
  models: readonly string[];
  /** The mode of a new session. */
  mode: ExecutionMode;
  /** The model of a session that names none, and who answers for it; undefined while no model server answers. */
  model: ({ configured: string } & WhoAnswers) | undefined;
  /** Why no model is known, and what to do. */
  problem: string | undefined;
}

/** For sessions that the caller may see; undefined for any other. Methods throw only `GatewayError`. */
export interface ConversationApi {
  /**
   * Makes a session that starts as this one was at a message (`ForkStore.fork`), with copies of all its current files.
   * It has the owner of the session, or belongs to the caller for a session of a chat. `id` is its key after `http:`.
   * Throws `GatewayError`: `bad_title`, `message_not_found`, `storage_full`.
   */
  fork(
    caller: Caller,
    key: SessionKey,
    asked: { id: string; seq: number; before?: boolean | undefined; title?: string | undefined },
  ): Promise<Fork | undefined>;
  /** The newest question that can be asked again (`Receive` with `retryOf`). Throws `GatewayError('not_changed')` without one. */
  lastQuestion(caller: Caller, key: SessionKey): Promise<Question | undefined>;
  /** Removes the newest question and its answers from what the model reads. Throws `GatewayError('not_changed')`. */
  undo(caller: Caller, key: SessionKey): Promise<Question | undefined>;
  /** Who answers the next message of the session. Throws `ProviderError` if no model is named and no server answers. */
  model(caller: Caller, key: SessionKey): Promise<SessionModel | undefined>;
  /** What the caller may choose for a session with this profile; in English, or worded by `say`. */
  choices(caller: Caller, profileId: string | undefined, say?: Say): Promise<SessionChoices>;
  /**
   * Checks what the caller chose for a session that does not exist yet. Throws `GatewayError`: `forbidden`, `unknown_model`,
   * `unknown_profile`, `bad_mode`.
   */
  checkChoice(
    caller: Caller,
    asked: { profileId?: string; model?: string; mode?: string },
  ): Promise<SessionChoice>;
  /**
   * Lets the model read this turn, among all answers to its question (`TryStore.choose`). Throws
   * `GatewayError('not_changed')`.
   */
  choose(caller: Caller, key: SessionKey, turnId: string): Promise<Question | undefined>;
  /** Where `/new` began new conversations, behind the messages `from`…`before` - 1 (`ContextStore.resets`). */
  resets(
    caller: Caller,
    key: SessionKey,
    span: { from: number; before?: number | undefined },
  ): Promise<ContextReset[] | undefined>;
  /** What is waiting behind the running turn. */
  queue(caller: Caller, key: SessionKey): Promise<WaitingQueue | undefined>;
  /**
   * Edits a waiting message (only the caller's own), drops it, or makes it next and ends the running turn for it;
   * returns what is waiting then. Throws `GatewayError`: `not_waiting`, `not_editable`, `empty_message`,
   * `message_too_large`.
   */
  changeWaiting(
    caller: Caller,
    key: SessionKey,
    turnId: string,
    act: { do: 'edit'; content: string } | { do: 'drop' } | { do: 'send_now' },
  ): Promise<WaitingQueue | undefined>;
}
