/** The two buses: the message bus runs durable, ordered lanes; the event bus broadcasts live events and never waits for listeners. */
import { GatewayError } from './errors.ts';
import type { AgentEvent, EventBody } from './event.ts';
import type { LaneClass, LaneHead, LaneKey, LaneStep } from './store/lanes.ts';
import type { SessionKey } from './message.ts';

/** Reason why a running head must end now: the `reason` of the handler's signal. */
export class LaneAbort extends GatewayError {
  declare readonly code: 'stopped' | 'interrupted' | 'lease_lost' | 'shutdown';

  constructor(code: LaneAbort['code']) {
    super(
      code,
      {
        stopped: 'Stopped by the user.',
        interrupted: 'Interrupted by the next message.',
        lease_lost: 'This node lost its lease.',
        shutdown: 'The gateway is shutting down.',
      }[code],
    );
  }
}

/** State in which a handler leaves its head. Throwing a retryable error is `retry`; throwing anything else makes a dead letter. */
export type LaneOutcome =
  /** A fenced commit ended the head; `step` is what that commit claimed. */
  | { kind: 'finished'; step: LaneStep }
  /** Try again after `delayMs`, counting an attempt. */
  | { kind: 'retry'; error: GatewayError; delayMs?: number }
  /** Retry after `delayMs` without counting an attempt: the other side is unreachable, not the message at fault. */
  | { kind: 'waiting'; error: GatewayError; delayMs: number }
  /** `park` was committed: nothing more to do here. */
  | { kind: 'parked' }
  /** Release without counting an attempt, for `delayMs` (default 0): the answer to `shutdown`, and to a platform that asks for a pause. */
  | { kind: 'released'; delayMs?: number };

/** Works on the heads of one class of lanes. */
export interface LaneHandler {
  /** Attempts that may end in an error before a message becomes a dead letter; default 5. */
  readonly maxAttempts?: number;
  /**
   * Works on one head. `signal` aborts with a `LaneAbort`: on `stopped` and `interrupted` end the head with a commit,
   * on `lease_lost` write nothing, on `shutdown` return `released` once nothing is half done.
   */
  handle(head: LaneHead, signal: AbortSignal): Promise<LaneOutcome>;
  /** Ends a head that used up its attempts (5) or lone crashes (3) or failed for good, and notifies who waits for it. */
  onDeadLetter(head: LaneHead, error: GatewayError): Promise<LaneStep>;
}

/** Concurrency of one class of lanes on this node. */
export interface LaneBudget {
  class: LaneClass;
  handler: LaneHandler;
  concurrency: number;
}

/** What can be done with the database now. */
export type StoreState = 'up' | 'read_only' | 'down';

/** The durable lanes of this node: one worker per lane, separate budgets, stop marks, leases. */
export interface MessageBus {
  /** Registers the handler of a class of lanes, once and before `start`; other classes are left to other nodes. */
  register(budget: LaneBudget): void;
  /** Registers the node, takes back its own lanes at once, and starts to sweep. */
  start(): Promise<void>;
  /** Aborts running work with `shutdown`, waits up to `drainMs`, frees the lanes. Never throws; may be called again. */
  stop(drainMs: number): Promise<void>;
  /** Runs heads that a commit claimed for this node. Never throws. */
  runHeads(step: LaneStep): void;
  /** This node's id when it has capacity for one more head of the class, else undefined; `accept` takes it as `node`. */
  claimingNode(laneClass: LaneClass): string | undefined;
  /**
   * This node's id while it holds its lanes; undefined before `start`, after `stop`, and once another node may hold
   * them. Registering again gives another id.
   */
  lease(): string | undefined;
  /** The database as this node's last heartbeats found it; never waits. */
  store(): StoreState;
  /** Reads the lane's stop mark now instead of at the next poll; tells the other nodes, too. Never throws. */
  notifyStop(lane: LaneKey): void;
  /** Sweeps soon: something may have become due (a decision, a new message on a full node). Never throws. */
  sweepSoon(): void;
  /** Heads running now, by class. */
  running(): Record<LaneClass, number>;
}

/** Runs heads that a commit claimed: the only part of the message bus that modules see. */
export type LaneRunner = Pick<MessageBus, 'claimingNode' | 'runHeads'>;

/** Selects the events of a listener; absent fields match everything. */
export interface EventFilter {
  sessionKey?: SessionKey;
  turnId?: string;
}

export type EventListener = (event: AgentEvent) => void;

/** Events a reconnecting reader missed, oldest first, with a `snapshot` in place of those that are no longer kept. */
export interface EventReplay {
  events: AgentEvent[];
  /** The turn whose end the reader has, whatever this node knows of it: later events of it are repeats. */
  endedTurn?: string | undefined;
}

/** Emits the events of one turn with gapless `eventSeq`. */
export interface TurnEmitter {
  emit(body: EventBody, from?: { agentId: string }): void;
}

/** Live turns' events are kept for reconnecting readers up to these limits. */
export const RING_EVENTS = 2_048;
export const RING_BYTES = 256 * 1024;
export const RING_KEPT_MS = 60_000;

/** Fire and forget: no order across listeners, no waiting; a slow or throwing listener affects only itself. */
export interface EventBus {
  /** Emits an event outside a turn; `from` names the subagent it comes from. Never throws. */
  emit(sessionKey: SessionKey, body: EventBody, from?: { agentId: string }): void;
  /** Opens a turn's numbering; `textSoFar` is what a resumed turn had already said. */
  turn(turn: { sessionKey: SessionKey; turnId: string; epoch: number; textSoFar?: string }): TurnEmitter;
  /** Calls `listener` for matching events, other nodes' within about 50 ms. Returns the function that ends it. */
  subscribe(filter: EventFilter, listener: EventListener): () => void;
  /** What a reader of a session missed after `lastEventId` (from `sseId`; undefined = the running turn). */
  replay(sessionKey: SessionKey, lastEventId: string | undefined): EventReplay;
  /** The place of the newest kept event of a session; `FIRST_EVENT_ID` when there is none. */
  lastEventId(sessionKey: SessionKey): string;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Carries batches to other nodes: NATS if configured and up, else Postgres NOTIFY; absent on one embedded process. */
export interface Fanout {
  /** Sends one batch (≤ 7,500 bytes of JSON). May lose it; never throws. */
  publish(batch: string): void;
  /**
   * Calls `listener` with other nodes' batches, each node's in order, and `onResumed` after each lost connection once
   * there is a new one: batches may be missing. Returns the function that ends it. Throws `GatewayError` when it cannot connect.
   */
  subscribe(listener: (batch: string) => void, onResumed?: () => void): Promise<() => Promise<void>>;
  /** False while it cannot reach the other nodes, so that live events are late or lost. */
  isUp(): boolean;
  /** Batches since the start that no node of this database sent; absent where only such nodes can send. */
  refused?(): number;
}

/** What the nodes of one database share to find and trust each other elsewhere; random, and stored in the database. */
export interface FanoutSecret {
  /** A name no other database has: 32 hexadecimal digits. */
  subject: string;
  /** 32 bytes. */
  key: Buffer;
}
