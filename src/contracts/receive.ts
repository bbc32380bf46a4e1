/** How channels pass messages to the gateway: `receive`, its options and receipts, system messages and buttons. */
import type { Caller } from './access.ts';
import type { AcceptResult } from './ledger.ts';
import { parseAddress } from './message.ts';
import type { Address, InboundMessage, SessionKey } from './message.ts';
import type { ExecutionMode } from './plan.ts';

/** Result of `receive`. The channel may acknowledge to its platform after any of these. */
export type Receipt =
  /** Committed; `turnId` answers it. `position` messages of the session are before it. */
  | { kind: 'accepted'; turnId: string; seq: number; position: number }
  /** Received before; the ids are those of the first time. */
  | { kind: 'duplicate'; turnId: string; seq: number }
  /** Handled at once, without the queue (`/stop`, a button); `reply` is the text for the user, if any. */
  | { kind: 'handled'; reply?: string }
  /** Not accepted; `reply` says why and what to do, and is undefined when no reply is due (a stranger in a group). */
  | {
      kind: 'refused';
      code: 'denied' | 'pairing' | 'rate_limited' | 'queue_full' | 'too_large' | 'empty';
      reply?: string;
    };

/** Options of a channel for one message; chat channels need none. */
export interface ReceiveOptions {
  /** `run` answers without planning (`stream:false`); default `runStream`. */
  entry?: 'runStream' | 'run';
  /** Model or profile for this turn only. */
  model?: string | undefined;
  profileId?: string | undefined;
  /** Execution mode for this turn instead of that of the session (S-05). */
  mode?: ExecutionMode | undefined;
  /** The authenticated caller over HTTP. */
  caller?: Caller;
}

/**
 * Passes a message to the gateway. When it resolves, the message is committed or refused for good, and the channel may
 * acknowledge it. Throws `GatewayError` (retryable) when the store is unreachable: then acknowledge nothing.
 */
export type Receive = (message: InboundMessage, options?: ReceiveOptions) => Promise<Receipt>;

/** A message of the gateway itself to the agent in a session; the answer goes to `address` (B-36). */
export interface SystemMessage {
  /** The same for every attempt; a repeated message is accepted once. */
  id: string;
  session: SessionKey;
  address: Address;
  /** The sender: `agent:<id>`, `schedule:<id>`, `heartbeat`. */
  senderId: string;
  /** Name of the sender for users. */
  senderName?: string | undefined;
  content: string;
  /** Where the text comes from: that of a group is not trusted like a user's own. Default `private`. */
  place?: InboundMessage['place'] | undefined;
  /** Epoch milliseconds. */
  timestamp: number;
  /** Default `runStream`. */
  entry?: 'runStream' | 'run' | undefined;
  /** An answer that is only this token is neither delivered nor shown; the message itself is never shown. */
  silentToken?: string | undefined;
}

/** The system message as an inbound message for its session's lane. */
export function systemInbound(system: SystemMessage): InboundMessage {
  const { id, session, address, senderId, senderName, content, timestamp, place } = system;
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
  };
}

/** Starts a turn with a system message, without access check and rate limit. Throws only `StoreError`. */
export type SendSystemMessage = (message: SystemMessage) => Promise<AcceptResult>;

export interface Press {
  /** As it was sent with the button; a forged request can contain any other value. */
  value: string;
  /** The chat of the button's message. */
  address: Address;
  place: 'private' | 'group';
  /** From the transport. */
  userId: string;
  /** Display only. */
  senderName?: string | undefined;
  owner: boolean;
}

/**
 * Acts on a button of its own kind and gives the reply for the user, at most 200 characters; undefined for any other
 * button. Its effect is committed when it resolves. Throws only `StoreError`.
 */
export type PressHandler = (press: Press) => Promise<string | undefined>;
