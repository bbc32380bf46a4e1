/** Random histories of two buses on the same lanes: whatever handlers and leases do, no lane is left behind. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { HEARTBEAT_MS, SWEEP_MS } from '../../src/bus/message-bus.ts';
import { FencedError } from '../../src/protocol/errors.ts';
import type { LaneKey } from '../../src/protocol/store/lanes.ts';
import { drivenBus, type DrivenBus, flaky, type OpenRun, pass, useDrivenBuses } from './driven-bus.ts';
import { MemoryLanes } from './memory-lanes.ts';

const LANES: LaneKey[] = ['in:t:0', 'in:t:1', 'in:t:2', 'in:t:3'];
useDrivenBuses();

const action = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('send' as const), lane: fc.nat(3), bus: fc.nat(1) }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('finish' as const), which: fc.nat(20) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('retry' as const), which: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('fail' as const), which: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('letGo' as const), which: fc.nat(20) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('freeze' as const), bus: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('stop' as const), lane: fc.nat(3) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      ms: fc.integer({ min: SWEEP_MS, max: 2 * HEARTBEAT_MS }),
    }),
  },
);
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never;

/** Two buses with little capacity, and the runs that their handlers have not ended. */
class Gateway {
  readonly lanes = new MemoryLanes();
  readonly buses: DrivenBus[] = ['a', 'b'].map((instance) =>
    drivenBus({ instance, lanes: this.lanes, concurrency: 2, classes: ['in'] }),
  );
  #over = new Set<OpenRun>();

  get open(): OpenRun[] {
    return this.buses.flatMap(({ runs }) => runs).filter((run) => !this.#over.has(run));
  }

  /** Ends a run the way a handler would: with a commit, passing on its refusal. */
  async end(run: OpenRun | undefined, how: 'finish' | 'retry' | 'fail' | 'letGo'): Promise<void> {
    if (run === undefined) return;
    this.#over.add(run);
    if (how === 'retry') run.end({ kind: 'retry', error: flaky() });
    else if (how === 'fail') run.fail(new Error('a bug'));
    else if (how === 'letGo') run.end({ kind: 'released' });
    else {
      await this.lanes.finish(run.head).then(
        (step) => run.end({ kind: 'finished', step }),
        (error: unknown) => run.fail(error instanceof FencedError ? error : new Error('unexpected')),
      );
    }
    await pass(0);
  }

  async act(one: Action): Promise<void> {
    if (one.kind === 'send') {
      const lane = LANES[one.lane]!;
      await this.buses[one.bus]!.send(lane, `${this.lanes.lane(lane).messages.length}`);
    } else if (one.kind === 'wait') await pass(one.ms);
    else if (one.kind === 'freeze') this.lanes.expire(this.buses[one.bus]!.bus.claimingNode('in'));
    else if (one.kind === 'stop') this.lanes.markStop(LANES[one.lane]!);
    else await this.end(this.open[one.which % Math.max(1, this.open.length)], one.kind);
  }
}

it('completes every lane and never runs a lane twice at the same time', async () => {
  const property = fc.asyncProperty(
    fc.array(action, { minLength: 5, maxLength: 80, size: 'max' }),
    async (actions) => {
      const gateway = new Gateway();
      for (const { bus } of gateway.buses) await bus.start();
      try {
        for (const one of actions) {
          await gateway.act(one);
          const live = gateway.open.filter(
            (run) => gateway.lanes.lane(run.head.lane).epoch === run.head.epoch,
          );
          expect(new Set(live.map((run) => run.head.lane)).size, 'one holder').toBe(live.length);
        }
        const isDone = (): boolean =>
          LANES.every((lane) => gateway.lanes.lane(lane).head === gateway.lanes.lane(lane).messages.length);
        for (let sweeps = 0; !isDone() && sweeps < 400; sweeps += 1) {
          for (const run of gateway.open) await gateway.end(run, 'finish');
          await pass(SWEEP_MS);
        }
        expect(isDone(), 'every message has ended').toBe(true);
        for (const run of gateway.open) await gateway.end(run, 'finish');
        expect(gateway.buses.map(({ bus }) => bus.running().in)).toEqual([0, 0]);
      } finally {
        await Promise.all(gateway.buses.map(({ bus }) => bus.stop(0)));
      }
    },
  );
  await fc.assert(property, { numRuns: 300 });
}, 60_000);
