/** The durable keyed lane: what must be ordered, exclusive and never lost, as the store keeps it. */
import type { ApprovalDecision } from './records.ts';
import type { DeliveryPayload, SessionKey } from './message.ts';

/**
 * `in` turns of a session, `out` deliveries to an address, `agent` a subagent in the background, `poll` who holds a
 * channel's connection.
 */
export type LaneClass = 'in' | 'out' | 'agent' | 'poll';

export type LaneKey = `${LaneClass}:${string}`;

/** Proof of holding a lane's head. Every fenced statement checks owner and epoch; a stale one throws `FencedError`. */
export interface Fence {
  lane: LaneKey;
  node: string;
  epoch: number;
  seq: number;
}

/** The message at the head of a lane, claimed for one node. */
export interface LaneHead extends Fence {
  dedupe: string;
  /** JSON as it was accepted. */
  payload: unknown;
  /** Attempts that ended in an error. */
  attempts: number;
  /** Claims whose node died. */
  crashes: number;
  /** The message is at or before the lane's stop mark: end it, do not run it. */
  stopped: boolean;
}

/** What a fenced commit leaves to do: heads it claimed for this node in the same transaction. */
export interface LaneStep {
  heads: LaneHead[];
}

/** How many more lanes of one class a node can run now. */
export interface LaneCapacity {
  class: LaneClass;
  free: number;
}

/** What a running lane's owner must notice. */
export interface LaneFlag {
  lane: LaneKey;
  stopSeq: number;
  /** The message whose turn is to end, because another one came that interrupts it; 0 when there is none. */
  interruptSeq?: number | undefined;
}

/** The result of a stop: was a turn running or parked, how many queued messages were cancelled. */
export interface StopResult {
  stopped: boolean;
  cancelled: number;
  /** Subagents in the background that end with it; undefined = none. */
  agents?: number | undefined;
}

/** A message that will not be tried again by itself. */
export interface DeadLetter {
  lane: LaneKey;
  seq: number;
  error: string;
  attempts: number;
  crashes: number;
  deadAt: Date;
}

/**
 * The lanes of the store. All durations are milliseconds, all clocks the database's. Every method throws only
 * `StoreError`; short outages are retried inside, and fenced methods throw `FencedError` when the lane has moved on.
 */
export interface LaneStore {
  /** Registers this process under a new node id and frees what an earlier process of the same `instance` held. */
  register(instance: string, leaseMs: number): Promise<string>;
  /** Renews the node's lease. False when it had run out: the node must abort its work and register anew. */
  heartbeat(node: string, leaseMs: number): Promise<boolean>;
  /** Ends the node's lease and frees its lanes. */
  unregister(node: string): Promise<void>;
  /** Claims due lanes that nobody holds, at most `free` of each class, oldest wake-up first; a dead owner's claim raises `crashes`. */
  sweep(node: string, capacities: LaneCapacity[]): Promise<LaneHead[]>;
  /** Stop marks of the lanes this node runs, in one query. */
  flags(node: string): Promise<LaneFlag[]>;
  /** Appends one message; a repeated `dedupe` in the lane changes nothing. Claims the lane for `node` when it is free. */
  append(
    lane: LaneKey,
    dedupe: string,
    payload: unknown,
    node?: string,
  ): Promise<LaneStep & { seq: number; duplicate: boolean }>;
  /** Ends the head and claims the next one of the lane for the same node. `error` marks a dead letter. */
  finish(fence: Fence, error?: string): Promise<LaneStep>;
  /** Lets go of the head until `delayMs` from now. `attempt` counts against the message; its `error` is kept. */
  release(fence: Fence, options: { delayMs: number; attempt: boolean; error?: string }): Promise<void>;
  /**
   * Marks everything up to the tail as stopped, the session's subagents in the background, too; ends what is queued, and
   * denies what is parked. `fresh` also forgets the context (`/new`).
   */
  stop(session: SessionKey, options: { fresh: boolean }): Promise<StopResult>;
  /**
   * Ends the actor of a turn that waits for a human: state parked, head released until the approval expires, the
   * question on its way to the address, all in one statement. A turn that is stopped already is denied, and not asked.
   */
  park(
    fence: Fence,
    approval: {
      id: string;
      turnId: string;
      detail: unknown;
      expiresInMs: number;
      question?: DeliveryPayload | undefined;
    },
  ): Promise<void>;
  /** Decides a pending approval and wakes its lane at once; false when it was decided or had expired before. */
  decide(
    approvalId: string,
    decision: ApprovalDecision,
    decidedBy: string,
    decidedName?: string,
  ): Promise<boolean>;
  /** The newest `limit` dead letters, the one that died last first; they are kept as long as any finished message. */
  deadLetters(limit: number): Promise<DeadLetter[]>;
  /** Puts a dead letter back at the tail of its lane with its counters at zero. False when there is none such. */
  replayDeadLetter(lane: LaneKey, seq: number): Promise<boolean>;
  /** Deletes finished messages older than `olderThanMs`, at most `limit`; gives how many. */
  purge(olderThanMs: number, limit: number): Promise<number>;
}
