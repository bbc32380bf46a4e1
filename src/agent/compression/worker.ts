/** What the turns ask of the compression of their contexts. */
import type { TurnEndReason } from '../../contracts/event.ts';
import type { Emit } from '../deps.ts';
import type { Turn } from '../state/turn-state.ts';

export interface Compressor {
  /** Shortens the context of a turn that has not begun, if it is too heavy (N-67). Throws `StoreError`, or the signal's reason. */
  before(turn: Turn, emit: Emit): Promise<void>;
  /** Begins to shorten the context of a turn that has ended, if it is crowded (N-66). Never throws, never waits. */
  after(turn: Turn, reason: TurnEndReason): void;
  /** Ends the workers. Never throws; twice is fine. */
  close(): Promise<void>;
}
