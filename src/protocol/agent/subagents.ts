/** Subagents: how tools spawn them, their limits, and how the store keeps them. */
import type { Fence, LaneKey, LaneStep } from '../store/lanes.ts';
import type { TurnPayload } from '../store/accept.ts';
import type { Address, InboundMessage, Payer, SessionKey } from '../message.ts';
import { MESSAGE_TOOL } from '../delivery.ts';
import { PLAN_TOOL, SWITCH_PROFILE } from './profile.ts';
import type { ContextRecord, JournalRow } from '../store/records.ts';
import type { Source } from './risk.ts';
import type { ModelUsage, Settlement } from './usage.ts';
import { createHash } from 'node:crypto';
import type { TraceAttempt } from '../store/traces.ts';

/** The tool that spawns subagents; subagents do not have it, so there is one level only. */
export const SPAWN_TOOL = 'spawn_agent';
/** Tools that no subagent has, regardless of its profile: only the main agent writes to the chat and changes the session. */
export const NOT_FOR_SUBAGENTS: readonly string[] = [
  SPAWN_TOOL,
  MESSAGE_TOOL,
  'ask',
  'cron',
  SWITCH_PROFILE,
  PLAN_TOOL,
];
/** Subagents of one turn that run at once, and background subagents of one session. */
export const MAX_SUBAGENTS_AT_ONCE = 4;
/** Subagents one turn may spawn. */
export const MAX_SUBAGENTS_PER_TURN = 16;
/** Longest task, in UTF-16 units. */
export const MAX_TASK_CHARS = 8_000;
/** Tokens that all model calls of one subagent may use together; checked between calls. */
export const SUBAGENT_TOKENS = 200_000;
/** How long a subagent may run while its turn waits, in milliseconds. */
export const SUBAGENT_MS = 10 * 60_000;
/** How long a background subagent may run after it was spawned, in milliseconds. */
export const BACKGROUND_SUBAGENT_MS = 60 * 60_000;

export interface SpawnRequest {
  task: string;
  /** Unset = the current profile of the session (N-08). */
  profileId?: string | undefined;
  /** True: the turn continues, and the result arrives later as a system message (B-31, B-34). */
  background: boolean;
}

/** Outcome of a spawn: the result of a subagent, or the id of one that runs in the background. */
export type SpawnOutcome =
  | {
      kind: 'finished';
      agentId: string;
      text: string;
      completedNormally: boolean;
      sources: readonly Source[];
    }
  | { kind: 'started'; agentId: string }
  /** A limit was reached, or the profile is unknown; `text` says which. */
  | { kind: 'refused'; text: string };

/** Bound to one call of one turn: repeated after a crash, it finds the subagent it spawned. Throws `StoreError`, or the abort of the turn. */
export type Spawn = (request: SpawnRequest) => Promise<SpawnOutcome>;

/** Spawns a subagent for one call. */
export interface SubagentCall {
  spawn: Spawn;
  /**
   * Waits until the subagent has ended or was abandoned; it emits nothing after that. Throws what ended the whole turn
   * (`StoreError`, a shutdown, a lost lease): then the call has no result yet.
   */
  settled(): Promise<void>;
}

/** The id of the subagent that a call spawns, the same for each repetition. Ids of a session begin with `agentPrefix`. */
export function agentIdOf(session: SessionKey, callKey: string): string {
  return `${agentPrefix(session)}${digest(callKey)}`;
}

/** Prefix of the ids of a session's subagents, by which a stop finds them. */
export function agentPrefix(session: SessionKey): string {
  return `agent-${digest(session)}-`;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** The lane of a background subagent. */
export function agentLane(agentId: string): LaneKey {
  return `agent:${agentId}`;
}

/** The owner of a journal, and the session it works for. */
export interface AgentKey {
  agentId: string;
  session: SessionKey;
}

/** Payload of an `agent:` lane: everything a subagent needs, since the turn that spawned it may be over. */
export interface SubagentPayload extends AgentKey {
  turnId: string;
  address: Address;
  userId: string;
  /** Absent = only the account of all. */
  payer?: Payer | undefined;
  /** Whose memories it reads and writes; absent = the user's. */
  memoryOwner?: string | undefined;
  folder: string;
  place: InboundMessage['place'];
  profileId: string;
  model?: string | undefined;
  /** Tools of the turn; a subagent may use no others. */
  tools: string[];
  task: string;
  /** Sources of everything that was read before the task was written. */
  sources: readonly Source[];
  /** How long it may run after it was spawned, in milliseconds; the store knows when that ends. */
  limitMs: number;
  /** Of the person whose turn spawned it; absent = English. */
  language?: string | undefined;
}

/** The end of a subagent. */
export interface SubagentEnd {
  turnId: string;
  userId: string;
  /** Usage of its calls by model; empty when no model was reached. */
  usage: readonly ModelUsage[];
  /** As that of a `TurnFinish`. */
  settles?: Settlement | undefined;
}

/** The end of a background subagent, and the message to its session. */
export interface SubagentFinish extends AgentKey, SubagentEnd {
  /** The system message with the result, and the turn that it starts (B-34). */
  announcement: TurnPayload;
  /** Replaces the system message when the user stopped the session: the model reads it in the next turn. */
  stoppedNote: JournalRow;
  /** Set when it failed permanently: the error of the dead letter, which can be replayed. */
  deadLetter?: string | undefined;
}

/** A running background subagent. */
export interface RunningSubagent extends Pick<SubagentPayload, 'agentId' | 'profileId' | 'task'> {
  leftMs: number;
}

export type SubagentStart =
  | ({ kind: 'started' } & LaneStep)
  | { kind: 'known' }
  /** The session already has this many. */
  | { kind: 'full' }
  | { kind: 'stopped' };

/**
 * Throws only `StoreError`; `FencedError` if a fence does not hold. An awaited subagent is fenced by its turn's lane, a
 * background one by its own. Every method is safe to repeat.
 */
export interface SubagentStore {
  journal(agentId: string): Promise<ContextRecord[]>;
  /** Stores journal rows of a subagent; existing rows stay. Those of one in the background are deleted at its end, the others stay with their turn. */
  write(fence: Fence, agent: AgentKey, rows: JournalRow[]): Promise<void>;
  /** Stores the result and the usage of an awaited subagent, once. */
  close(fence: Fence, agent: AgentKey, end: SubagentEnd & { result: JournalRow }): Promise<void>;
  /** How many of these run in the background. */
  atWork(agentIds: readonly string[]): Promise<number>;
  /** Running ones of a session, oldest first; at most `MAX_SUBAGENTS_AT_ONCE`. */
  working(session: SessionKey): Promise<RunningSubagent[]>;
  /** Milliseconds that one in the background may still run, by the database's clock; never more than its limit. */
  leftMs(agentId: string): Promise<number>;
  /** Queues a background subagent while fewer than `limit` of its session run; `fence` is that of its turn. */
  start(fence: Fence, payload: SubagentPayload, limit: number, node?: string): Promise<SubagentStart>;
  /** Marks a background subagent of the session as stopped; false if it has ended. */
  stop(agent: AgentKey): Promise<boolean>;
  /**
   * Ends a background subagent and accepts its result into its session, in one transaction; `seq` is its message. After
   * a stop the result is not announced, and `seq` is undefined.
   */
  finish(fence: Fence, finish: SubagentFinish): Promise<LaneStep & { seq: number | undefined }>;
}

/** A finished or interrupted attempt, for code that counts or exports it. */
export interface TracedTurn {
  turnId: string;
  sessionKey: SessionKey;
  attempt: TraceAttempt;
  /** Epoch milliseconds of this machine. */
  startedAt: number;
  /** False if the turn continues later. */
  ended: boolean;
}

/** A run of a subagent that has ended or been interrupted, for code that exports it. */
export interface TracedSubagent extends Pick<TracedTurn, 'sessionKey' | 'attempt' | 'startedAt'> {
  agentId: string;
  turnId: string;
  /** It does not end with its turn. */
  background: boolean;
}

/** Follows the turns running on this node. Never throws. */
export interface TurnWatch {
  /** A turn starts; `look` returns its attempt so far. Returns the function that forgets it. */
  begin(turnId: string, look: () => TraceAttempt): () => void;
  /** An attempt has ended and is stored. */
  ended(traced: TracedTurn): void;
  subagentEnded(traced: TracedSubagent): void;
  /** What a turn had asked a person was decided, and it resumes. */
  decided(outcome: 'approved' | 'denied' | 'expired' | 'stopped'): void;
}

/** The workers, in the order in which they run after a turn; each can be switched off in `config.json`. */
const AFTER_TURN_WORKERS = ['compression', 'facts', 'title'] as const;

export type AfterTurnName = (typeof AFTER_TURN_WORKERS)[number];

/** Which workers run. */
export type AfterTurnSettings = Readonly<Record<AfterTurnName, boolean>>;
