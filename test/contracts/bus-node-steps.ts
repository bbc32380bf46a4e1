/** What can happen to the nodes of the lanes: they renew their lease, freeze, die, restart and leave. */
import type * as fc from 'fast-check';
import { expect } from 'vitest';
import type { LaneModel, RealLanes } from './bus-model.ts';

/** One step of a history. */
export type Step = fc.AsyncCommand<LaneModel, RealLanes>;

/** Creates a step from a name, its precondition, and its effect on both sides. */
export function step(name: string, check: (model: LaneModel) => boolean, run: Step['run']): Step {
  return { check, run, toString: () => name };
}

/** True while the node of that slot holds its lease. */
export const live = (model: LaneModel, slot: number): boolean => model.nodes[slot]?.alive === true;

/** The node renews its lease. */
export function heartbeat(slot: number): Step {
  return step(
    `heartbeat(node ${slot})`,
    (model) => model.nodes[slot] !== undefined,
    async (model, { lanes }) => {
      expect(await lanes.heartbeat(model.nodes[slot]!.id, 3_600_000)).toBe(live(model, slot));
    },
  );
}

/** The lease of a node ends behind its back. */
export function freeze(slot: number): Step {
  return step(
    `freeze(node ${slot})`,
    (model) => live(model, slot),
    async (model, { expire }) => {
      await expire(model.nodes[slot]!.id);
      model.nodes[slot]!.alive = false;
    },
  );
}

/** Boots a process of the slot's home, even in place of a running one: its lanes are free immediately. */
export function restart(slot: number): Step {
  return step(
    `restart(node ${slot})`,
    () => true,
    async (model, { lanes }) => {
      for (let index = model.nodes.length; index <= slot; index += 1)
        model.nodes.push({ id: `never-${index}`, alive: false });
      const node = model.nodes[slot]!;
      node.alive = false;
      model.reclaimFromDead();
      node.id = await lanes.register(`home-${slot}`, 3_600_000);
      node.alive = true;
    },
  );
}

/** The node releases its lanes. */
export function leave(slot: number): Step {
  return step(
    `leave(node ${slot})`,
    (model) => live(model, slot),
    async (model, { lanes }) => {
      await lanes.unregister(model.nodes[slot]!.id);
      for (const [index, lane] of model.lanes.entries()) if (lane.holder === slot) model.free(index);
      model.nodes[slot]!.alive = false;
    },
  );
}
