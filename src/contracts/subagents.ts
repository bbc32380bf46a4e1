/** A subagent as the tool that makes one sees it, and the bounds it works in. */
import type { Fence, LaneKey, LaneStep } from './lanes.ts';
import type { TurnPayload } from './ledger.ts';
import type { SessionKey, Address, InboundMessage } from './message.ts';
import { MESSAGE_TOOL } from './delivery.ts';
import { SWITCH_PROFILE } from './profile.ts';
import type { ContextRecord, JournalRow } from './records.ts';
import type { TextSource } from './risk.ts';
import type { ModelUsage } from './usage.ts';
import { createHash } from 'node:crypto';

/** The tool that makes subagents; they have none of it themselves: one level deep, no deeper. */
export const SPAWN_TOOL = 'spawn_agent';
/** What a subagent never has, whatever its profile says: who speaks in the chat and changes the session is the main agent. */
export const NOT_FOR_SUBAGENTS: readonly string[] = [SPAWN_TOOL, MESSAGE_TOOL, 'cron', SWITCH_PROFILE];
/** Subagents of one turn that work at the same time, and those of a session that work in its background. */
export const MAX_SUBAGENTS_AT_ONCE = 4;
/** Subagents one turn may make. */
export const MAX_SUBAGENTS_PER_TURN = 16;
/** Longest task, in UTF-16 units. */
export const MAX_TASK_CHARS = 8_000;
/** Tokens that all model calls of one subagent may cost together; met between two of them. */
export const SUBAGENT_TOKENS = 200_000;
/** How long a subagent may work while its turn waits, in milliseconds. */
export const SUBAGENT_MS = 10 * 60_000;
/** How long one may work in the background, in milliseconds, from the moment it was asked for. */
export const BACKGROUND_SUBAGENT_MS = 60 * 60_000;

export interface SpawnRequest {
  task: string;
  /** Unset = the session's profile at this moment (N-08). */
  profileId?: string | undefined;
  /** True: the turn goes on, the result is announced later as a system message (B-31, B-34). */
  background: boolean;
}

/** What came of it: the result of a child that was waited for, or the id of one that works in the background. */
export type SpawnOutcome =
  | { kind: 'finished'; agentId: string; text: string; completedNormally: boolean }
  | { kind: 'started'; agentId: string }
  /** A cap was met, or the profile is unknown; `text` says which. */
  | { kind: 'refused'; text: string };

/** Bound to one call of one turn: repeated after a crash it finds the child it made. Throws `StoreError`, or the turn's end. */
export type Spawn = (request: SpawnRequest) => Promise<SpawnOutcome>;

/** One call's way to a subagent. */
export interface SubagentCall {
  spawn: Spawn;
  /**
   * Waits until what was spawned has ended or is known to have been left behind: nothing of it is seen after that.
   * Throws what ended the whole turn meanwhile (`StoreError`, a shutdown, a lost lease): then the call has no result yet.
   */
  settled(): Promise<void>;
}

/** The id of the subagent that a call makes, the same at each repetition. Ids of one session begin with `agentPrefix`. */
export function agentIdOf(session: SessionKey, callKey: string): string {
  return `${agentPrefix(session)}${digest(callKey)}`;
}

/** How the ids of a session's subagents begin: what its stop finds them by. */
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

/** Whose journal it is, and the session it works for. */
export interface AgentKey {
  agentId: string;
  session: SessionKey;
}

/** What the message of a `agent:` lane carries: all that a subagent needs when the turn that made it is long over. */
export interface SubagentPayload extends AgentKey {
  /** The turn that made it. */
  turnId: string;
  /** Where the answer to its result goes. */
  address: Address;
  userId: string;
  place: InboundMessage['place'];
  profileId: string;
  model?: string | undefined;
  /** What the turn might use: a subagent never may more. */
  tools: string[];
  task: string;
  /** Whose words the task may hold, where the turn had read others than its user's. */
  source?: TextSource | undefined;
  /** Its time is up then, in epoch milliseconds. */
  deadline: number;
}

/** The end of a subagent. */
export interface SubagentEnd {
  /** The turn that made it. */
  turnId: string;
  userId: string;
  /** What its calls cost, by model; empty when no model was reached. */
  usage: readonly ModelUsage[];
}

/** The end of a background subagent, and what its session hears of it. */
export interface SubagentFinish extends AgentKey, SubagentEnd {
  /** The system message with the result, and the turn that it starts (B-34). */
  announcement: TurnPayload;
  /** Instead of it where the user stopped the session: what the model reads of it, once it is asked something again. */
  stoppedNote: JournalRow;
  /** Set when it is given up: the error under which it stays visible as a dead letter, and can be replayed. */
  deadLetter?: string | undefined;
}

/** A subagent at work in the background. */
export type RunningSubagent = Pick<SubagentPayload, 'agentId' | 'profileId' | 'task' | 'deadline'>;

export type SubagentStart =
  | ({ kind: 'started' } & LaneStep)
  /** This call has made it before. */
  | { kind: 'known' }
  /** So many of the session are at work already. */
  | { kind: 'full' }
  /** The session was stopped meanwhile. */
  | { kind: 'stopped' };

/**
 * Throws only `StoreError`; a fence that does not hold throws `FencedError`. A subagent that is waited for is fenced by
 * the lane of its turn, one in the background by its own. Every method is safe to repeat.
 */
export interface SubagentStore {
  /** What a subagent has done so far, oldest first. */
  journal(agentId: string): Promise<ContextRecord[]>;
  /** Journals rows of a subagent; a row that is there already stays. They end with the turn, or with the background run. */
  write(fence: Fence, agent: AgentKey, rows: JournalRow[]): Promise<void>;
  /** Journals the result of a subagent that was waited for, and what it cost, once. */
  close(fence: Fence, agent: AgentKey, end: SubagentEnd & { result: JournalRow }): Promise<void>;
  /** How many of these are at work in the background. */
  atWork(agentIds: readonly string[]): Promise<number>;
  /** Those of a session, the longest at work first; at most `MAX_SUBAGENTS_AT_ONCE` are at once. */
  working(session: SessionKey): Promise<RunningSubagent[]>;
  /** Queues a background subagent, while fewer than `limit` of its session are at work; `fence` is its turn's. */
  start(fence: Fence, payload: SubagentPayload, limit: number, node?: string): Promise<SubagentStart>;
  /**
   * Ends a background subagent and accepts its result into its session, in one transaction; `seq` is the message's
   * place there. Where a stop came first the result is not announced and `seq` is undefined.
   */
  finish(fence: Fence, finish: SubagentFinish): Promise<LaneStep & { seq: number | undefined }>;
}
