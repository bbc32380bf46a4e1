/** A model of the lanes: what must be true of them, as plainly as it can be said. */
import type { LaneHead, LaneKey, LaneStore } from '../../src/contracts/lanes.ts';

/** The real side: lanes of one database, and a hand that ends a node's lease behind its back. */
export interface RealLanes {
  lanes: LaneStore;
  expire: (node: string) => Promise<void>;
}

interface ModelMessage {
  dedupe: string;
  attempts: number;
  crashes: number;
  fate: 'waiting' | 'finished' | 'dead' | 'stopped';
}

interface ModelLane {
  messages: ModelMessage[];
  /** Messages before this index are over. */
  head: number;
  /** Messages before this index were stopped. */
  stop: number;
  holder: number | undefined;
  parked: boolean;
}

/** What must be true of the lanes, as plainly as it can be said. Nodes are slots; each boot has an id of its own. */
export class LaneModel {
  lanes: ModelLane[];
  nodes: { id: string; alive: boolean }[] = [];
  /** Heads handed out and held now, by lane; and every one that is void, `ended` by its own finish or not. */
  held = new Map<number, LaneHead>();
  stale: { head: LaneHead; ended: boolean }[] = [];
  approvals = 0;

  constructor(count: number) {
    this.lanes = Array.from({ length: count }, () => ({
      messages: [],
      head: 0,
      stop: 0,
      holder: undefined,
      parked: false,
    }));
  }

  /** The lane's holder is gone or has let go: what it was given is void. */
  free(index: number, ended = false): void {
    const head = this.held.get(index);
    if (head !== undefined) this.stale.push({ head, ended });
    this.held.delete(index);
    this.lanes[index]!.holder = undefined;
  }

  /** Ends the head, and steps over what a stop has cancelled. */
  end(index: number, fate: ModelMessage['fate']): void {
    const lane = this.lanes[index]!;
    lane.messages[lane.head]!.fate = fate;
    this.free(index, true);
    lane.head = Math.max(lane.head + 1, lane.stop);
  }

  /** A dead node's lanes are found free, and each counts a crash. */
  reclaimFromDead(): void {
    for (const [index, lane] of this.lanes.entries()) {
      if (lane.holder === undefined || this.nodes[lane.holder]?.alive === true) continue;
      lane.messages[lane.head]!.crashes += 1;
      this.free(index);
    }
  }

  isDue(index: number): boolean {
    const lane = this.lanes[index]!;
    return lane.holder === undefined && !lane.parked && lane.head < lane.messages.length;
  }
}

export function laneKey(index: number): LaneKey {
  return `in:t:${index}`;
}
