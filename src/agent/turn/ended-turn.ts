/** What the workers after a turn get about it, and what they return. */
import type { AfterTurnName } from '../../protocol/agent/subagents.ts';
import type { EventBody, TurnEndReason } from '../../protocol/event.ts';
import type { Log } from '../../protocol/log.ts';
import type { SessionKey } from '../../protocol/message.ts';
import type { Profile } from '../../protocol/agent/profile.ts';
import type { Source } from '../../protocol/agent/risk.ts';
import type { Prompt } from '../prompt/context-window.ts';
import type { StartOfPrompt } from '../prompt/system-prompt.ts';

/** A turn that has ended (N-66); with what its prompts began with, so that calls of workers begin alike. */
export interface EndedTurn extends StartOfPrompt {
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
  /** The conversation as the next turn would read it, this turn included. */
  conversation: () => Pick<Prompt, 'history' | 'current' | 'steps'>;
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
