/** Durable lanes: ordered, exclusive queues by key, kept in the store. */
import type { BudgetChange, DecisionDetail } from '../agent/approvals.ts';
import type { ApprovalDecision, OpenedTurn } from './records.ts';
import type { DeliveryPayload, SessionKey } from '../message.ts';

/**
 * `in`: turns of a session; `out`: deliveries to an address; `agent`: a background subagent; `poll`: the node that holds
 * a channel's connection; `speech`: answers to be spoken; `hook`: notes for an outbound webhook; `push`: notifications of a browser.
 */
export const LANE_CLASSES = ['in', 'out', 'agent', 'poll', 'speech', 'hook', 'push'] as const;
export type LaneClass = (typeof LANE_CLASSES)[number];

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
  /** The JSON that was accepted. */
  payload: unknown;
  /** Attempts that ended in an error. */
  attempts: number;
  /** Deaths of a node that was working on it. */
  crashes: number;
  /** Those deaths at which it was the node's only suspect, since its last finished tool call. */
  loneCrashes: number;
  /** Sum of the pauses after its failures, in milliseconds. */
  waitedMs: number;
  /** Dead letters of the lane that its chat has not been notified about; only for `out` lanes. */
  unreported: number;
  /** The message is at or before the lane's stop mark: end it, do not run it. */
  stopped: boolean;
  /** What its turn needs, read with the acceptance of its message: only for a turn that starts at the same moment. */
  opened?: OpenedTurn | undefined;
}

/** Result of a fenced commit: heads that it claimed for this node in the same transaction. */
export interface LaneStep {
  heads: LaneHead[];
}

/** After this many deaths of nodes that were working on it, a message is run apart from other suspects. */
export const SUSPECT_CRASHES = 2;
/** A node claims one in this many of the suspects at a time: few run one by one, and a thousand do not wait for hours. */
export const SUSPECT_SHARE = 4;
/**
 * Suspects that have run for this long no longer keep others waiting, in milliseconds. It doubles with each death, so
 * that work that kills the process is alone when it does.
 */
export const SUSPECT_ALONE_MS = 250;
/** No suspect keeps others waiting for longer than this, in milliseconds. */
export const SUSPECT_ALONE_MAX_MS = 60_000;
/** A head that waits this long for something outside is recorded as waiting, in milliseconds. */
export const WAIT_NOTED_MS = 1_000;

/** How long this head waits before that is recorded, in milliseconds: while a suspect waits, others can be tried. */
export function waitNotedAfterMs({ crashes }: Pick<LaneHead, 'crashes'>): number {
  return crashes < SUSPECT_CRASHES ? WAIT_NOTED_MS : 0;
}

/** A period in which a surviving process could not reach the database. */
export interface NodeOutage {
  /** The id under which it held lanes before. */
  node: string;
  /** Milliseconds since the database was last known to be reachable: asked for when it can be reached again. */
  ms: () => number;
}

/** How many more lanes of one class a node can run now. */
export interface LaneCapacity {
  class: LaneClass;
  free: number;
}

/** Marks of a running lane for its owner. */
export interface LaneFlag {
  lane: LaneKey;
  stopSeq: number;
  /** The message whose turn should end because a later message interrupts it; 0 when there is none. */
  interruptSeq?: number | undefined;
}

/** The result of a stop: was a turn running or parked, how many queued messages were cancelled. */
export interface StopResult {
  stopped: boolean;
  cancelled: number;
  /** Background subagents that end with it; undefined = none. */
  agents?: number | undefined;
}

/** A message that is no longer retried. */
export interface DeadLetter {
  lane: LaneKey;
  seq: number;
  error: string;
  attempts: number;
  crashes: number;
  deadAt: Date;
  /** The beginning of what should have been answered, sent or done, at most `MAX_LETTER_CHARS`, if it has a text. */
  text?: string | undefined;
}

/** Characters of the text of a dead letter. */
export const MAX_LETTER_CHARS = 4_000;

/**
 * The lanes of the store. Durations are milliseconds, clocks the database's. Throws only `StoreError`; short outages are
 * retried, and fenced methods throw `FencedError` when the lane has moved on.
 */
export interface LaneStore {
  /**
   * Registers this process under a new node id and frees the lanes of an earlier process of this `instance`. After an
   * `outage` that was this process itself: no crash is counted.
   */
  register(instance: string, leaseMs: number, outage?: NodeOutage): Promise<string>;
  /** Renews the node's lease. False when it had expired: the node must abort its work and register again. */
  heartbeat(node: string, leaseMs: number): Promise<boolean>;
  /** Ends the node's lease and frees its lanes. */
  unregister(node: string): Promise<void>;
  /**
   * Frees the lanes of dead nodes, counting a crash against each head that had started, and claims due lanes, at most `free`
   * of each class, oldest wake-up first. Suspects (`SUSPECT_CRASHES`) are claimed in groups, so that a further death shows
   * which one causes it. Does nothing for a node whose own lease has ended.
   */
  sweep(node: string, capacities: LaneCapacity[]): Promise<LaneHead[]>;
  /** Stop marks of the lanes this node runs, in one query. */
  flags(node: string): Promise<LaneFlag[]>;
  /** Appends one message; a repeated `dedupe` in the lane changes nothing. Claims the lane for `node` if it is free. */
  append(
    lane: LaneKey,
    dedupe: string,
    payload: unknown,
    node?: string,
  ): Promise<LaneStep & { seq: number; duplicate: boolean }>;
  /**
   * Ends the head and claims the next one for the same node. `error` marks a dead letter, `unreported` one that its chat
   * does not know about.
   */
  finish(fence: Fence, error?: string, unreported?: boolean): Promise<LaneStep>;
  /** Releases the head for `delayMs`. `attempt` counts against the message; its `error` is kept, and the pauses add up. */
  release(fence: Fence, options: { delayMs: number; attempt: boolean; error?: string }): Promise<void>;
  /** Makes a lane whose head was released with a delay due at once; nothing where it is not waiting for that. */
  endDelay(lane: LaneKey): Promise<void>;
  /**
   * Records that a head waits for something outside, or works again. While it waits, other suspects may run, and a death of
   * the node does not count. The record ends with the claim.
   */
  noteWaiting(fence: Fence, isWaiting: boolean): Promise<void>;
  /**
   * Marks everything up to the tail as stopped, subagents included; ends queued messages and denies a parked one. `fresh`
   * also starts a new context (`/new`).
   */
  stop(session: SessionKey, options: { fresh: boolean }): Promise<StopResult>;
  /**
   * Parks a turn that waits for a person: head released until the approval expires, the request queued for its chats, in
   * one statement. For a stopped turn the request is denied and not delivered.
   */
  park(
    fence: Fence,
    approval: {
      id: string;
      turnId: string;
      detail: unknown;
      expiresInMs: number;
      /** The question for each chat that is asked. */
      questions?: readonly DeliveryPayload[] | undefined;
    },
  ): Promise<void>;
  /**
   * Asks for a pending approval in another chat, too, in one statement with the delivery; false if it was asked there
   * before, or waits no longer.
   */
  alsoAsk(approvalId: string, question: DeliveryPayload): Promise<boolean>;
  /** Parks a turn that waits for its caller's tools: state parked, head released until `expiresInMs` have passed. A stopped turn is due at once. */
  parkForCaller(fence: Fence, turn: { turnId: string; expiresInMs: number }): Promise<void>;
  /**
   * Decides a pending approval and wakes its lane; false if it was decided or had expired. `always` stores the request's
   * rule, up to `MAX_APPROVAL_RULES` per session; `budget` changes that budget, both in the same statement.
   */
  decide(
    approvalId: string,
    decision: ApprovalDecision,
    decidedBy: string,
    detail?: DecisionDetail & { name?: string | undefined; budget?: BudgetChange | undefined },
  ): Promise<boolean>;
  /** Makes an answer of this person pending again that was their next message; false once the turn has been claimed. */
  undoAnswer(approvalId: string, userId: string): Promise<boolean>;
  /** The newest `limit` dead letters, newest first, or `only` that one; they are kept as long as any finished message. */
  deadLetters(limit: number, only?: { lane: LaneKey; seq: number }): Promise<DeadLetter[]>;
  /** Queues a dead letter at the tail of its lane again with its counters at zero. False when there is none. */
  replayDeadLetter(lane: LaneKey, seq: number): Promise<boolean>;
  /** Deletes finished messages older than `olderThanMs`, at most `limit`, and names of removed folders; returns the number. */
  purge(olderThanMs: number, limit: number): Promise<number>;
}
