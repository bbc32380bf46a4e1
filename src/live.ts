/** A reply that grows on screen while its turn runs, as the agent sees it. */
import type { Address, SentMessage } from './message.ts';
import type { Plan } from './plan.ts';

/** What a growing message needs to know of its turn. */
export interface LiveTurnStart {
  turnId: string;
  address: Address;
  replyTo?: string | undefined;
  /** Parts already on screen from before a crash, or a deferred reply to grow in. */
  placeholders: SentMessage[];
  /** Text already said before a crash. */
  textSoFar: string;
  /** T5: stores the platform ids of the parts before anything is built on them. */
  note(sent: SentMessage[]): Promise<void>;
  /** The turn's own plan as it stands: a card of it may be on screen from before a crash. */
  plan?: Plan | undefined;
  /** As `note`, for the card of the turn's plan. */
  noteCard(ref: string, sent: SentMessage[]): Promise<void>;
}

export interface LiveTurn {
  /**
   * Ends the growing: takes no more text, waits for the call in flight, ends typing. After it resolves nothing of
   * this turn is on its way to the platform except the final delivery. Never throws; waits at most 10 s.
   */
  settle(): Promise<void>;
}

/** Follows a turn's events on the event bus and shows them. Channels without `edit` get typing only. Never throws. */
export interface LiveMessages {
  open(start: LiveTurnStart): LiveTurn;
}
