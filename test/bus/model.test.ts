/** Random histories of the lanes against their model, on both databases. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { LaneModel, type RealLanes } from '../contracts/bus-model.ts';
import { restart } from '../contracts/bus-node-steps.ts';
import { drain, laneSteps } from '../contracts/bus-steps.ts';
import { describeStore } from '../database.ts';

const LANES = 3;
const NODES = 3;
const RUNS = 60;

describeStore('the lanes', (databases) => {
  it('neither lose nor reorder anything, leave no gap, have one owner and refuse stale ones, in any sequence of steps', async () => {
    const { lanes, sql } = await databases.open();
    const real: RealLanes = {
      lanes,
      expire: async (node) => {
        await sql`update node set lease_until = now() - interval '1 second' where id = ${node}`;
      },
    };
    const histories = fc.commands(laneSteps(LANES, NODES), { size: 'large', maxCommands: 60 });
    const property = fc.asyncProperty(histories, async (history) => {
      await sql`truncate lane, lane_item, node, approval`;
      const model = new LaneModel(LANES);
      await restart(0).run(model, real);
      await fc.asyncModelRun(() => ({ model, real }), history);
      await drain(model, real);
    });
    await expect(fc.assert(property, { numRuns: RUNS })).resolves.toBeUndefined();
  }, 120_000);
});
