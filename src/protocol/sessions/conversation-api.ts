/** What people do with a conversation besides writing in it. */
import type { Caller } from '../access.ts';
import type { SessionKey } from '../message.ts';
import type { WhoAnswers } from '../agent/provider.ts';
import type { Question, QueueMode, SessionChoice, SessionRecord } from '../store/records.ts';
import type { WordedUndo } from './undo.ts';
import type { ExecutionMode } from '../agent/plan.ts';
import type { Say } from '../texts/say.ts';
import type { ContextReset, ContextUse } from '../store/accept.ts';

/** The model configured for a session, and the one that answers. */
export interface SessionModel extends WhoAnswers {
  configured: string;
  /** Where it was set: the session, a binding of its chat, its profile, or the gateway for everyone. */
  from: 'session' | 'binding' | 'profile' | 'gateway';
  profileId: string;
  /** Undefined before the first answer since `/new`. */
  contextUse?: ContextUse | undefined;
}

/** What a caller may choose for a session, and the defaults. */
export interface SessionChoices {
  /** Those that the caller may use; `plans` says whether the plan mode has any effect. */
  profiles: readonly { id: string; description: string | undefined; plans: boolean }[];
  /** Models by name; those chosen with a profile are not repeated. */
  models: readonly string[];
  mode: ExecutionMode;
  /** The model of a session that names none, and who answers for it; undefined while no model server answers. */
  model: ({ configured: string } & WhoAnswers) | undefined;
  /** Why no model is known, and what to do. */
  problem: string | undefined;
}

/** For sessions that the caller may see; undefined for any other. Methods throw only `GatewayError`. */
export interface ConversationApi {
  /**
   * Makes a session that starts as this one was at a message (`ForkStore.fork`), with copies of its current files, for its
   * owner, or for the caller if it is a chat's. `id` is its key after `http:`. Throws `GatewayError`: `bad_title`,
   * `message_not_found`, `storage_full`.
   */
  fork(
    caller: Caller,
    key: SessionKey,
    asked: { id: string; seq: number; before?: boolean | undefined; title?: string | undefined },
  ): Promise<Fork | undefined>;
  /** The newest question that can be asked again (`Receive` with `retryOf`). Throws `GatewayError('not_changed')` without one. */
  lastQuestion(caller: Caller, key: SessionKey): Promise<Question | undefined>;
  /** What an undo of the turn, by default the newest, brings back. Throws `GatewayError('not_changed')`. */
  previewUndo(caller: Caller, key: SessionKey, say: Say, turnId?: string): Promise<WordedUndo | undefined>;
  /** Undoes it: the model no longer reads it, and what it changed goes back. Throws `GatewayError('not_changed')`. */
  undo(caller: Caller, key: SessionKey, say: Say, turnId?: string): Promise<WordedUndo | undefined>;
  /** Who answers the next message of the session. Throws `ProviderError` if no model is named and no server answers. */
  model(caller: Caller, key: SessionKey): Promise<SessionModel | undefined>;
  /** What the caller may choose for a session with this profile; in English, or worded by `say`. */
  choices(caller: Caller, profileId: string | undefined, say?: Say): Promise<SessionChoices>;
  /**
   * Checks what the caller chose for a new session. Throws `GatewayError`: `forbidden`, `unknown_model`,
   * `unknown_profile`, `bad_mode`.
   */
  checkChoice(
    caller: Caller,
    asked: { profileId?: string; model?: string; mode?: string },
  ): Promise<SessionChoice>;
  /** Lets the model read this answer to its question (`TryStore.choose`). Throws `GatewayError('not_changed')`. */
  choose(caller: Caller, key: SessionKey, turnId: string): Promise<Question | undefined>;
  /** Where `/new` began new conversations, behind the messages `from`…`before` - 1 (`ContextStore.resets`). */
  resets(
    caller: Caller,
    key: SessionKey,
    span: { from: number; before?: number | undefined },
  ): Promise<ContextReset[] | undefined>;
  queue(caller: Caller, key: SessionKey): Promise<WaitingQueue | undefined>;
  /**
   * Edits a waiting message (only the caller's own), drops it, or makes it next and ends the running turn; returns what
   * waits then. Throws `GatewayError`: `not_waiting`, `not_editable`, `empty_message`, `message_too_large`.
   */
  changeWaiting(
    caller: Caller,
    key: SessionKey,
    turnId: string,
    act: { do: 'edit'; content: string } | { do: 'drop' } | { do: 'send_now' },
  ): Promise<WaitingQueue | undefined>;
}

/** Turns that a fork copies, the newest before its message. Older ones are left out and counted. */
export const MAX_FORKED_TURNS = 1_000;

/** A request for a fork. */
export interface ForkRequest {
  source: SessionKey;
  /** The last message of the source that is copied; 0 = none of them. */
  seq: number;
  /** Copies what is before the turn of that message instead, no matter how many messages came in between. */
  before?: boolean | undefined;
  /** The new session: its key, owner, title, and the folder of its files. */
  key: SessionKey;
  folder: string;
  ownerTokenId: string;
  /** The user whose quota the copies of the files count toward. */
  userId: string;
  title: string | undefined;
}

/** A new session, and how much of the source it contains. */
export interface Fork {
  session: SessionRecord;
  /** Messages that were copied, and turns older than `MAX_FORKED_TURNS` that were not. */
  messages: number;
  leftBehind: number;
}

/** Throws only `StoreError`. */
export interface ForkStore {
  /**
   * Copies a session's settings and its finished turns up to the first with a message after `seq`: their messages and all
   * that the model reads of them. Approvals, plans, schedules, notes, traces and usage stay with the source. Undefined if
   * the source is gone or has no such message. Safe to repeat.
   */
  fork(request: ForkRequest): Promise<Fork | undefined>;
  /** Records a folder whose fork was not made as removed, with the files of it that nodes share. */
  discardFolder(folder: string): Promise<void>;
}

/** A waiting message. */
export interface WaitingMessage {
  turnId: string;
  /** The number of its message; undefined for one that people do not see, such as a heartbeat. */
  seq?: number | undefined;
  content: string;
  senderName?: string | undefined;
  senderId: string;
  /** Its text may be changed: a person wrote it in this form. */
  isEditable: boolean;
  createdAt: Date;
}

/** What waits in a session: the first one is next. `busy` while a turn runs, or waits for a person. */
export interface WaitingQueue {
  mode: QueueMode;
  busy: boolean;
  messages: WaitingMessage[];
}

/** The result of a change: `begun` when the message is no longer waiting. */
export type WaitingChange = 'changed' | 'begun';

/** Changes hold the lane's lock: a message is changed or taken as a whole. Throws only `StoreError`; safe to repeat. */
export interface WaitingStore {
  waiting(session: SessionKey): Promise<WaitingQueue>;
  /** Replaces the text, for readers and for the model. `senderId` must have written it. */
  editWaiting(
    session: SessionKey,
    turnId: string,
    edit: { content: string; senderId: string },
  ): Promise<WaitingChange>;
  /** Removes it from the queue: its turn ends as `stopped`, and its message remains, marked as left out. */
  dropWaiting(session: SessionKey, turnId: string): Promise<WaitingChange>;
  /** Makes it the next one, and marks the running turn to end for it. */
  sendWaitingNow(session: SessionKey, turnId: string): Promise<WaitingChange>;
}
