/** Heads of lanes, as a store hands them to the node that claims them. */
import type { LaneHead } from '../../../src/protocol/store/lanes.ts';

/** The first item of a lane, claimed for the first time. */
export function laneHead(lane: LaneHead['lane'], dedupe: string): LaneHead {
  return {
    lane,
    node: 'node',
    epoch: 1,
    seq: 1,
    dedupe,
    payload: {},
    attempts: 0,
    crashes: 0,
    loneCrashes: 0,
    waitedMs: 0,
    unreported: 0,
    stopped: false,
  };
}
