/** A model of the lanes: what must hold for them, stated as plainly as possible. */
import {
  type LaneHead,
  type LaneKey,
  type LaneStore,
  SUSPECT_CRASHES,
  SUSPECT_SHARE,
} from '../../src/protocol/store/lanes.ts';

/** The real side: lanes of one database, and a function that ends a node's lease behind its back. */
export interface RealLanes {
  lanes: LaneStore;
  expire: (node: string) => Promise<void>;
}

interface ModelMessage {
  dedupe: string;
  attempts: number;
  crashes: number;
  loneCrashes: number;
  fate: 'waiting' | 'finished' | 'dead' | 'stopped';
}

interface ModelLane {
  messages: ModelMessage[];
  /** Messages before this index have ended. */
  head: number;
  /** Messages before this index were stopped. */
  stop: number;
  holder: number | undefined;
  parked: boolean;
  /** Its head was running at two or more crashes. */
  suspect: boolean;
  /** How many suspects, including itself, its head was claimed with. */
  group: number;
  /** Its head only waits for something external, and is not to blame for a death. */
  waiting: boolean;
}

/** What must hold for the lanes, stated as plainly as possible. Nodes are slots; each boot has its own id. */
export class LaneModel {
  lanes: ModelLane[];
  nodes: { id: string; alive: boolean }[] = [];
  /** Heads currently held, by lane; and every void one, whether or not it `ended` by its own finish. */
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
      suspect: false,
      group: 0,
      waiting: false,
    }));
  }

  /** The lane's holder is gone or has released it: the head it held is void. */
  free(index: number, ended = false): void {
    const head = this.held.get(index);
    if (head !== undefined) this.stale.push({ head, ended });
    this.held.delete(index);
    Object.assign(this.lanes[index]!, { holder: undefined, waiting: false });
  }

  /** Ends the head, and skips what a stop has cancelled. */
  end(index: number, fate: ModelMessage['fate']): void {
    const lane = this.lanes[index]!;
    lane.messages[lane.head]!.fate = fate;
    this.free(index, true);
    this.clear(index);
    lane.head = Math.max(lane.head + 1, lane.stop);
  }

  /** The lane's head is no longer suspected, or will do nothing more. One that waits still waits when it is stopped. */
  clear(index: number): void {
    Object.assign(this.lanes[index]!, { suspect: false, group: 0 });
  }

  /** Frees a dead node's lanes; each that did not wait counts a crash, and a suspect that was its only one is to blame. */
  reclaimFromDead(): void {
    const dead = this.lanes.filter(
      ({ holder }) => holder !== undefined && this.nodes[holder]?.alive !== true,
    );
    const alone = new Set(
      dead.filter(({ holder, group }) => group === 1 && this.suspectsOf(holder).length === 1),
    );
    for (const lane of dead) {
      const message = lane.messages[lane.head]!;
      if (!lane.waiting) {
        message.crashes += 1;
        if (alone.has(lane)) message.loneCrashes += 1;
      }
      lane.suspect ||= message.crashes >= SUSPECT_CRASHES;
      this.free(this.lanes.indexOf(lane));
    }
  }

  /** Whether the lane can be claimed immediately, ignoring suspects. */
  isDue(index: number): boolean {
    return this.isOpen(index) && !this.lanes[index]!.suspect;
  }

  isOpen(index: number): boolean {
    const lane = this.lanes[index]!;
    return lane.holder === undefined && !lane.parked && lane.head < lane.messages.length;
  }

  /** The suspects that a node is working on. */
  suspectsOf(slot: number | undefined): ModelLane[] {
    return this.lanes.filter((lane) => lane.holder === slot && lane.group > 0 && !lane.waiting);
  }

  /**
   * How many suspects a sweep of the node claims now, and the highest crash count among them. While it works on others,
   * either that many or none: they are alone only briefly, and that time may have passed.
   */
  suspectsFor(slot: number): { counts: number[]; crashes: number } {
    const open = this.lanes.flatMap((lane, index) =>
      lane.suspect && this.isOpen(index) ? [lane.messages[lane.head]!.crashes] : [],
    );
    const count = Math.min(open.length, Math.max(1, Math.floor(open.length / SUSPECT_SHARE)));
    const counts = this.suspectsOf(slot).length > 0 ? [0, count] : [count];
    return { counts, crashes: open.toSorted((a, b) => a - b)[count - 1] ?? 0 };
  }
}

export function laneKey(index: number): LaneKey {
  return `in:t:${index}`;
}
