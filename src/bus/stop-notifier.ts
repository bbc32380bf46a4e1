/** Tells the other nodes that a stop mark was set: a hint that saves them the wait for their next look, no more. */
import type { LaneKey } from '../contracts/lanes.ts';

export interface StopNotifier {
  /** Tells the other nodes. Never throws; may be lost. */
  tell(lane: LaneKey): void;
  /** Calls `listener` for each lane another node tells of; gives the end of it. */
  listen(listener: (lane: LaneKey) => void): () => void;
}
