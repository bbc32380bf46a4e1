/** Work after a turn: what a worker gets about the turn that has ended, and what it returns. */
import type { EventBody, TurnEndReason } from '../event.ts';
import type { Log } from '../log.ts';
import type { SessionKey } from '../message.ts';
import type { Profile } from './profile.ts';
import type { Source } from '../tools/risk.ts';

/** The workers, in the order in which they run after a turn; each can be switched off in `config.json`. */
export const AFTER_TURN_WORKERS = ['compression', 'facts', 'title'] as const;
export type AfterTurnName = (typeof AFTER_TURN_WORKERS)[number];

/** Which workers run. */
export type AfterTurnSettings = Readonly<Record<AfterTurnName, boolean>>;

/** A turn that has ended (N-66). */
export interface EndedTurn {
  turnId: string;
  sessionKey: SessionKey;
  reason: TurnEndReason;
  /** The user that was answered; `system` when no person wrote the message. */
  userId: string;
  /** Whose memories it read and wrote. */
  memoryOwner: string;
  place: 'private' | 'group';
  profile: Profile;
  /** The model that answered; undefined when none was reached. */
  model?: string | undefined;
  /** What the user wrote, without what it quotes and its files. */
  said: string;
  /** The answer as people see it; empty when there is none. */
  answer: string;
  /** The title of the session when the turn began. */
  title?: string | undefined;
  /** Sources of everything that the session's model has read. */
  sources: readonly Source[];
  /** Size of the conversation that the next turn would read, in estimated tokens and rows. */
  size: { tokens: number; rows: number };
  /** Tokens that prompt and tools take in addition. */
  promptTokens: { system: number; tools: number };
  log: Log;
}

/** A worker. When `run` throws, the error is logged and the next worker runs. */
export interface AfterTurnWorker {
  readonly name: AfterTurnName;
  /** The session's next turn ends it: its work is worth less than a free model server. */
  readonly givesWay: boolean;
  /** The events that it returns are emitted after the `turn_ended` of the turn. `signal` aborts when it must end. */
  run(turn: EndedTurn, signal: AbortSignal): Promise<readonly EventBody[]>;
}
