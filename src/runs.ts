/** Subagents as the store keeps them: their journals, and the `run:` lanes of those that work in the background. */
import type { Fence, LaneKey, LaneStep } from './lanes.ts';
import type { TurnPayload } from './ledger.ts';
import type { Address, InboundMessage, SessionKey } from './message.ts';
import type { ContextRecord, JournalRow } from './records.ts';
import type { TextSource } from './risk.ts';
import type { ModelUsage } from './usage.ts';

/** The lane of a background subagent. */
export function runLane(agentId: string): LaneKey {
  return `run:${agentId}`;
}

/** Whose journal it is, and the session it works for. */
export interface AgentKey {
  agentId: string;
  session: SessionKey;
}

/** What the message of a `run:` lane carries: all that a subagent needs when the turn that made it is long over. */
export interface RunPayload extends AgentKey {
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
export interface RunEnd {
  /** The turn that made it. */
  turnId: string;
  userId: string;
  /** What its calls cost, by model; empty when no model was reached. */
  usage: readonly ModelUsage[];
}

/** The end of a background subagent, and what its session hears of it. */
export interface RunFinish extends AgentKey, RunEnd {
  /** The system message with the result, and the turn that it starts (B-34). */
  announcement: TurnPayload;
  /** Instead of it where the user stopped the session: what the model reads of it, once it is asked something again. */
  stoppedNote: JournalRow;
  /** Set when it is given up: the error under which it stays visible as a dead letter, and can be replayed. */
  deadLetter?: string | undefined;
}

/** A subagent at work in the background. */
export type WorkingRun = Pick<RunPayload, 'agentId' | 'profileId' | 'task' | 'deadline'>;

export type RunStart =
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
export interface RunStore {
  /** What a subagent has done so far, oldest first. */
  journal(agentId: string): Promise<ContextRecord[]>;
  /** Journals rows of a subagent; a row that is there already stays. They end with the turn, or with the background run. */
  write(fence: Fence, agent: AgentKey, rows: JournalRow[]): Promise<void>;
  /** Journals the result of a subagent that was waited for, and what it cost, once. */
  close(fence: Fence, agent: AgentKey, end: RunEnd & { result: JournalRow }): Promise<void>;
  /** How many of these are at work in the background. */
  atWork(agentIds: readonly string[]): Promise<number>;
  /** Those of a session, the longest at work first; at most `MAX_SUBAGENTS_AT_ONCE` are at once. */
  working(session: SessionKey): Promise<WorkingRun[]>;
  /** Queues a background subagent, while fewer than `limit` of its session are at work; `fence` is its turn's. */
  start(fence: Fence, payload: RunPayload, limit: number, node?: string): Promise<RunStart>;
  /**
   * Ends a background subagent and accepts its result into its session, in one transaction; `seq` is the message's
   * place there. Where a stop came first the result is not announced and `seq` is undefined.
   */
  finish(fence: Fence, finish: RunFinish): Promise<LaneStep & { seq: number | undefined }>;
}
