/** How channels pass messages to the gateway, and what is stored about their connections so that none is missed. */
import type { Caller, DenialDetail } from './access.ts';
import type { CallerOptions } from './agent/provider.ts';
import type { AcceptResult } from './store/accept.ts';

import type { PersonQuestion } from './agent/approvals.ts';
import type { PlanToRun } from './agent/plan-store.ts';
import { type Address, type InboundMessage, parseAddress, type Payer, type SessionKey } from './message.ts';
import type { ExecutionMode } from './agent/plan.ts';
import type { Source } from './agent/risk.ts';
import type { SessionChoice } from './store/records.ts';
import type { Say } from './texts/say.ts';

/** Result of `receive`. The channel may acknowledge to its platform after any of these. */
export type Receipt =
  /** Committed; `turnId` answers it after `position` other messages, `note` is a sentence for the sender. */
  | { kind: 'accepted'; turnId: string; seq: number; position: number; note?: string | undefined }
  /** Received before, with the ids of that time. `differs`: the message with this id had a different text. */
  | { kind: 'duplicate'; turnId: string; seq: number; differs?: true }
  /**
   * Handled at once, without the queue (`/stop`, a button). `reply` is for channels that answer in place (a press, a
   * command with a placeholder), else it was queued; `form` is shown instead of it. `personal`: it is useful only to
   * the sender. `problems`: as in `PressAnswer`.
   */
  | {
      kind: 'handled';
      reply?: string;
      personal?: true | undefined;
      form?: Form | undefined;
      problems?: PressAnswer['problems'];
    }
  /** Refused; `reply` says why and what to do, and is undefined when none is appropriate (a stranger in a group). */
  | {
      kind: 'refused';
      code:
        | 'denied'
        | 'forbidden'
        | 'pairing'
        | 'rate_limited'
        | 'queue_full'
        | 'too_large'
        | 'empty'
        | 'tools_pending'
        | 'planning_off'
        | 'not_retried';
      reply?: string;
      /** What operators may read in addition. */
      why?: DenialDetail;
      /** When it may be sent again, in milliseconds. */
      retryAfterMs?: number | undefined;
    };

/** Options of a channel for one message; chat channels need none. */
export interface ReceiveOptions {
  /** `run` answers without planning (`stream:false`), `plan` only plans; default `runStream`. */
  entry?: 'runStream' | 'run' | 'plan';
  /** Model or profile for this turn only. */
  model?: string | undefined;
  profileId?: string | undefined;
  /** Execution mode for this turn instead of that of the session (S-05). */
  mode?: ExecutionMode | undefined;
  /** Settings of the session, when this is its first message; a session that has others keeps its own. */
  begins?: SessionChoice | undefined;
  plan?: PlanToRun | undefined;
  /** The question of this turn is asked again; the content is that of the question. */
  retryOf?: string | undefined;
  /** The content is that question in other words. */
  reworded?: boolean | undefined;
  options?: CallerOptions | undefined;
  /** The message is a question to this person, not to the model. */
  question?: PersonQuestion | undefined;
  /** The sender waits for the answer: refused while the session waits for its caller's tools, instead of queued. */
  awaitsAnswer?: boolean | undefined;
  caller?: Caller;
  /**
   * Opens a thread for a separate question just before it is accepted, and returns its id; undefined if it stays in its
   * chat. A repeat returns the same thread. Never throws.
   */
  openThread?: (() => Promise<string | undefined>) | undefined;
}

/** What a command or a press becomes when the agent should answer it: a message from its sender. */
export interface ForwardedMessage {
  content: string;
  /** In place of the id of the press: what is passed on under the same id is asked once. */
  id?: string | undefined;
  options: Pick<ReceiveOptions, 'entry' | 'mode' | 'plan' | 'retryOf'>;
  /** The content is the text of this prompt of an MCP server, not the sender's own. */
  prompt?: InboundMessage['prompt'];
}

/**
 * Passes a message to the gateway. When it resolves, the message is committed or refused for good, and the channel may
 * acknowledge it. Throws a retryable `GatewayError` when the store is unreachable: then acknowledge nothing.
 */
export type Receive = (message: InboundMessage, options?: ReceiveOptions) => Promise<Receipt>;

/** Accepts the updates that a platform posts. The node that holds the bot's lane receives them, in order. */
export interface PlatformWebhook {
  /** True for a request with the secret that only the platform knows; compared in constant time. Reads no body, never throws. */
  isGenuine(headers: Readonly<Record<string, string | string[] | undefined>>): boolean;
  /** Stores the body of a genuine request durably; `invalid` if it is no update. Throws `GatewayError`. */
  takeUpdate(update: unknown): Promise<StoredUpdate | 'invalid'>;
}

/** Accepts what a platform posts about people's commands and buttons. Works without `start`: any node answers. */
export interface PlatformInteractions {
  /** True for a body that the platform signed within the last minutes; its content is not read. Throws `GatewayError`. */
  isGenuine(headers: Readonly<Record<string, string | string[] | undefined>>, body: Buffer): Promise<boolean>;
  /**
   * Acts on a genuine body: an object is the answer, `taken` means that another call informed the platform, `invalid`
   * that it is no interaction. Throws `GatewayError`.
   */
  answer(body: Buffer): Promise<object | 'taken' | 'invalid'>;
}

/** A request of a platform as it came. */
export interface PlatformRequest {
  method: string;
  /** With its leading `?`, or empty. */
  query: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Exactly its bytes. */
  body: Buffer;
}

/** Answers any request of a platform, which the channel itself checks. Never throws. */
export type AnswerPlatform = (request: PlatformRequest) => Promise<PlatformAnswer>;

/** The answer to it; 401 if it did not come from the platform. */
export interface PlatformAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** A message of the gateway itself to the agent in a session; the answer goes to `address` (B-36). */
export interface SystemMessage {
  /** The same for every attempt; a repeated message is accepted once. */
  id: string;
  session: SessionKey;
  address: Address;
  /** The sender: `agent:<id>`, `schedule:<id>`, `heartbeat`. */
  senderId: string;
  senderName?: string | undefined;
  content: string;
  /** Where the text comes from: text from a group is not trusted like a user's own. Default `private`. */
  place?: InboundMessage['place'] | undefined;
  /** The sources that the text was made from; unset = unknown for a subagent, none for the others. */
  sources?: readonly Source[] | undefined;
  /** On whose account its answer is; unset = on no one's but that of all. */
  payer?: Payer | undefined;
  /** Epoch milliseconds. */
  timestamp: number;
  /** Default `runStream`. */
  entry?: 'runStream' | 'run' | undefined;
  /** An answer that is only this token is neither delivered nor shown; the message itself is never shown. */
  silentToken?: string | undefined;
}

/** The system message as an inbound message for its session's lane. */
export function systemInbound(system: SystemMessage): InboundMessage {
  const { id, session, address, senderId, senderName, content, timestamp, place, sources, payer } = system;
  const { chatId, threadId } = parseAddress(address);
  return {
    channel: 'system',
    chatId,
    threadId,
    id,
    senderId,
    senderName,
    content,
    timestamp,
    media: [],
    place: place ?? 'private',
    mentioned: true,
    sessionKey: session,
    ...(sources !== undefined && { sources }),
    ...(payer !== undefined && { payer }),
  };
}

/** Starts a turn with a system message, without access check and rate limit. Throws only `StoreError`. */
export type SendSystemMessage = (message: SystemMessage) => Promise<AcceptResult>;

export interface Press {
  /** As it was sent with the button; a forged request can contain any other value. */
  value: string;
  address: Address;
  place: 'private' | 'group';
  /** From the transport. */
  userId: string;
  senderName?: string | undefined;
  owner: boolean;
  forms?: true | undefined;
  /** What they entered into this button's form. */
  fields?: Readonly<Record<string, string>> | undefined;
  say: Say;
}

/** Handles its kind of button, with its effect committed; undefined for any other. Throws only `StoreError`. */
export type PressHandler = (press: Press) => Promise<PressAnswer | undefined>;

/** The result of a press. */
export interface PressAnswer {
  /** For the user who pressed; at most 200 characters. */
  reply: string;
  /** Shown instead of the reply: nothing has been done yet. Only for a press with `forms`. */
  form?: Form | undefined;
  /** What is wrong with fields of the form that was sent, by their names: a channel that can shows it there, and no reply. */
  problems?: Readonly<Record<string, string>> | undefined;
  /** The delivery that shows this button, when the user may decide what it is about. */
  shownBy?: string | undefined;
  /** The press is passed on to the agent as this message from the person who pressed. */
  forwarded?: ForwardedMessage | undefined;
}

/** A session with the platform that can be continued. */
export interface PlatformSession {
  id: string;
  /** Number of the last event that is stored; the platform repeats everything after it. */
  sequence: number;
  /** What else is needed to continue it; only the channel that wrote it reads it, after checking it. */
  detail: Record<string, unknown>;
}

/** What is known about a connection. Times are epoch milliseconds of the database's clock, which all nodes share. */
export interface ConnectionRecord {
  session?: PlatformSession | undefined;
  /** Everything that the platform dispatched before this moment is stored; none that lies in the future. */
  heardAt?: number | undefined;
  /** Sessions started on `day` (UTC, `2026-01-31`). */
  day?: string | undefined;
  begunOnDay: number;
  /** When the newest session was started. */
  begunAt?: number | undefined;
  /** Consecutive sessions that ended soon after they were started. */
  shortSessions: number;
}

/** A chat with possibly missed messages. */
export interface HeardChat {
  address: Address;
  /** Epoch milliseconds. */
  changedAt: number;
}

/** The rows behind connections. Throws only `StoreError`. `key` names a channel and its bot. */
export interface ConnectionStore {
  /** The database's clock, in epoch milliseconds. */
  epochNow(): Promise<number>;
  connection(key: string): Promise<ConnectionRecord | undefined>;
  /** Stores a session and how far its events are stored; neither the sequence of a session nor `heardAt` moves back. */
  saveSession(key: string, session: PlatformSession, heardAt: number): Promise<void>;
  /** Counts a session that is about to start; false when another was started since `previous` was read. */
  countSession(
    key: string,
    begin: Required<Pick<ConnectionRecord, 'begunAt' | 'day' | 'shortSessions'>>,
    previous: number | undefined,
  ): Promise<boolean>;
  /** A channel's chats whose session changed since a time, newest first, and how many there are in total. */
  heardChats(
    channel: string,
    range: { since: number; limit: number },
  ): Promise<{ chats: HeardChat[]; total: number }>;
}

/** A form for the person who pressed a button; `value` is returned like a button's value, with what was entered. */
export interface Form {
  /** At most 45 characters. */
  title: string;
  value: string;
  /** At most five. */
  fields: FormField[];
  /** The label of a field for files, on a channel that has one; at most 45 characters. */
  files?: string | undefined;
}

interface FormField {
  name: string;
  /** At most 45 characters. */
  label: string;
  /** At most 100 characters. */
  description?: string | undefined;
  /** Prefilled. */
  value?: string | undefined;
  /** At most 4,000. */
  maxLength: number;
  lines: 'one' | 'many';
  required: boolean;
}

/** Updates of one bot that may wait; with more, the platform keeps them and posts them again. */
export const MAX_WAITING_UPDATES = 10_000;

/** How long ids of updates are stored, to recognize repeats: as long as Telegram stores updates. */
export const KEPT_UPDATE_HOURS = 24;

/** A waiting update; `id` rises in the order in which the platform created them. */
export interface WaitingUpdate {
  id: number;
  update: unknown;
}

/** The result of a posted update. */
export type StoredUpdate = 'stored' | 'repeated' | 'full';

/** The rows behind webhooks; `bot` names a channel and its bot. Throws only `StoreError`. */
export interface UpdateStore {
  /** `stored` once it is durable; `repeated` for an id that arrived before, `full` while `MAX_WAITING_UPDATES` wait. */
  storeUpdate(bot: string, posted: WaitingUpdate): Promise<StoredUpdate>;
  /** Waiting updates, lowest ids first. */
  waitingUpdates(bot: string, limit: number): Promise<WaitingUpdate[]>;
  /** Their effects are committed: they are no longer waiting, and only their ids are kept. */
  finishUpdates(bot: string, ids: readonly number[]): Promise<void>;
}
