/** The one way in: what a channel passes on and what it gets back. */
import type { Caller } from './access.ts';
import type { AcceptResult } from './ledger.ts';
import { parseAddress } from './message.ts';
import type { Address, InboundMessage, SessionKey } from './message.ts';
import type { ExecutionMode } from './plan.ts';

/** What came of handing a message in. The channel may acknowledge to its platform after any of these. */
export type Receipt =
  /** Committed; `turnId` answers it. `position` messages of the session are before it. */
  | { kind: 'accepted'; turnId: string; seq: number; position: number }
  /** Seen before; the same ids as the first time. */
  | { kind: 'duplicate'; turnId: string; seq: number }
  /** Done at once, past the queue (`/stop`, a button); `reply` is what the user should read, if anything. */
  | { kind: 'handled'; reply?: string }
  /** Not taken; `reply` says why and what to do, and is undefined when silence is right (a stranger in a group). */
  | {
      kind: 'refused';
      code: 'denied' | 'pairing' | 'rate_limited' | 'queue_full' | 'too_large' | 'empty';
      reply?: string;
    };

/** What a channel may ask for one message; channels with people behind them need none of it. */
export interface ReceiveOptions {
  /** `run` answers without planning (`stream:false`); default `runStream`. */
  entry?: 'runStream' | 'run';
  /** Model or profile for this turn only. */
  model?: string | undefined;
  profileId?: string | undefined;
  /** How a plan of this turn is followed, instead of as the session says (S-05). */
  mode?: ExecutionMode | undefined;
  /** Who calls over HTTP; the channel has authenticated it. */
  caller?: Caller;
}

/**
 * Hands a message to the gateway. When it resolves, the message is committed or refused for good and the platform may
 * be told. Throws `GatewayError` (retryable) when the store cannot be reached: then acknowledge nothing.
 */
export type Receive = (message: InboundMessage, options?: ReceiveOptions) => Promise<Receipt>;

/** A message of the gateway itself to the agent in one of its sessions; the answer goes to `address` (B-36). */
export interface SystemMessage {
  /** The same for every attempt: a repeated one is taken once. */
  id: string;
  session: SessionKey;
  address: Address;
  /** What speaks: `agent:<id>`, `schedule:<id>`, `heartbeat`. */
  senderId: string;
  /** How people see the speaker. */
  senderName?: string | undefined;
  content: string;
  /** Whose words these are: a group's are not trusted like a user's own. Default `private`. */
  place?: InboundMessage['place'] | undefined;
  /** Epoch milliseconds. */
  timestamp: number;
  /** Default `runStream`. */
  entry?: 'runStream' | 'run' | undefined;
  /** An answer that is only this is neither delivered nor shown, and the question never is. */
  silentToken?: string | undefined;
}

/** The gateway's words as a message that its session's lane takes. */
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

/** Starts a turn with a message of the gateway's own, without access policy and rate limit. Throws only `StoreError`. */
export type SendSystemMessage = (message: SystemMessage) => Promise<AcceptResult>;

export interface Press {
  /** As it was sent with the button; whoever can edit requests can send any other. */
  value: string;
  /** The chat the button stands in. */
  address: Address;
  place: 'private' | 'group';
  /** From the transport. */
  userId: string;
  /** Display only. */
  senderName?: string | undefined;
  owner: boolean;
}

/**
 * Acts on a button of its own kind, and gives what the presser reads, at most 200 characters; undefined for any other
 * button. What it does is committed when it resolves. Throws only `StoreError`.
 */
export type PressHandler = (press: Press) => Promise<string | undefined>;
