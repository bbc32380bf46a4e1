/** The acceptance of a message into the lane of its session: the request and its result. */
import type { Address, InboundMessage, SessionKey } from '../message.ts';
import type { CallerOptions } from '../model/provider.ts';
import type { ExecutionMode } from '../plans/plan.ts';
import type { WhyNot } from '../sessions/tries.ts';
import type { LaneStep } from './lanes.ts';
import type { SessionChoice } from '../sessions/session-choice.ts';
import type { PlanToRun } from './plan-store.ts';

/** Context rows of earlier turns that a turn reads (B-35). */
export const HISTORY_ROWS = 50;

export type AcceptResult =
  | ({
      kind: 'accepted';
      session: SessionKey;
      turnId: string;
      laneSeq: number;
      seq: number;
      position: number;
      /** The running turn should end for this message: the node that runs it should be notified at once. */
      interrupts: boolean;
      /** For a question asked again: the tools that its earlier answers called. */
      effects?: readonly string[] | undefined;
    } & LaneStep)
  | { kind: 'not_retried'; why: WhyNot }
  /** `differs`: the message stored under this id has a different text. */
  | { kind: 'duplicate'; session: SessionKey; turnId: string; laneSeq: number; seq: number; differs: boolean }
  | { kind: 'full'; limit: number }
  /** The session belongs to another token. */
  | { kind: 'foreign' }
  /** The session waits for the results of its caller's tools. */
  | { kind: 'tools_pending'; toolCallIds: string[] };

/** A message to accept: what its turn will read, and how it is accepted. */
export interface AcceptRequest extends Omit<TurnPayload, 'turnId' | 'edited'> {
  /** Settings of the session, when this is its first message. */
  begins?: SessionChoice | undefined;
  /** Refuse the message while the session waits for its caller's tools. */
  unlessToolsPending?: boolean | undefined;
  /** The token that owns the `http:` session this message creates; a session of another token refuses the message. */
  ownerTokenId?: string | undefined;
  /** The token may also write to sessions of other tokens (scope `admin`). */
  anyOwner?: boolean | undefined;
  /** Asks the question of this turn again instead: only `id`, sender, address and placeholder of the message count. */
  retryOf?: string | undefined;
  /** Claim the lane for this node when it is free; undefined = leave it to the sweep. */
  node?: string | undefined;
  /** Also read what the turn needs if that node can start it at once, with at most this many rows of earlier turns. */
  historyRows?: number | undefined;
}

/** What an `in:` message contains. */
export interface TurnPayload {
  turnId: string;
  address: Address;
  message: InboundMessage;
  /** `run` answers without planning (cron, `stream:false`), `runStream` may plan first, `plan` makes a plan and runs nothing. */
  entry: 'runStream' | 'run' | 'plan';
  /** An answer that is only this is neither delivered nor shown. */
  silentToken?: string | undefined;
  /** Overrides for this turn only; `usualModel` yields to a model that the session names. */
  model?: string | undefined;
  profileId?: string | undefined;
  usualModel?: string | undefined;
  mode?: ExecutionMode | undefined;
  /** The stored plan that the turn runs. */
  plan?: PlanToRun | undefined;
  /** What the caller requests for the answer. */
  options?: CallerOptions | undefined;
  /** How often its text was changed while it waited. */
  edited?: number | undefined;
  /**
   * The sender was an owner when the message was accepted. For the prompt: permissions are looked up when they are
   * used.
   */
  isOwner?: boolean | undefined;
}
