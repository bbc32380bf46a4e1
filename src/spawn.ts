/** A subagent as the tool that makes one sees it, and the bounds it works in. */
import { createHash } from 'node:crypto';
import type { SessionKey } from './message.ts';
import { MESSAGE_TOOL } from './posts.ts';
import { SWITCH_PROFILE } from './profile.ts';

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
