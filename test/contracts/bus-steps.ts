/** Random histories of the lanes: nodes that accept, claim, finish, fail, freeze, die and restart, against the model. */
import * as fc from 'fast-check';
import { expect } from 'vitest';
import { FencedError } from '../../src/protocol/errors.ts';
import type { LaneHead } from '../../src/protocol/store/lanes.ts';
import { laneKey, type LaneModel, type RealLanes } from './bus-model.ts';
import { freeze, heartbeat, leave, live, restart, step, type Step } from './bus-node-steps.ts';

/** The steps that make up a history. */
export function laneSteps(lanes: number, nodes: number): fc.Arbitrary<Step>[] {
  const lane = fc.nat({ max: lanes - 1 });
  const node = fc.nat({ max: nodes - 1 });
  return [
    fc.tuple(lane, node, fc.nat({ max: 30 })).map(([l, n, id]) => accept(l, n, `id-${id}`)),
    fc.tuple(lane, node, fc.nat({ max: 30 })).map(([l, n, id]) => accept(l, n, `id-${id}`)),
    fc.tuple(lane, fc.nat({ max: 30 })).map(([l, id]) => acceptRaced(l, `id-${id}`)),
    fc.tuple(node, fc.integer({ min: 1, max: lanes })).map(([n, room]) => sweep(n, room)),
    fc.tuple(node, fc.integer({ min: 1, max: lanes })).map(([n, room]) => sweep(n, room)),
    lane.map((l) => finish(l, undefined)),
    lane.map((l) => finish(l, undefined)),
    lane.map((l) => finish(l, 'poison')),
    fc.tuple(lane, fc.boolean()).map(([l, attempt]) => release(l, attempt)),
    fc.tuple(lane, fc.boolean()).map(([l, isWaiting]) => noteWaiting(l, isWaiting)),
    lane.map((l) => park(l)),
    fc.nat({ max: 9 }).map((which) => decide(which)),
    lane.map((l) => stop(l)),
    lane.map((l) => actLate(l)),
    lane.map((l) => actLate(l)),
    node.map((n) => heartbeat(n)),
    node.map((n) => freeze(n)),
    node.map((n) => restart(n)),
    node.map((n) => leave(n)),
  ];
}

/** Records a claim of the lanes, after checking that it is the expected one. */
function noteClaim(model: LaneModel, index: number, slot: number, head: LaneHead | undefined): void {
  const lane = model.lanes[index]!;
  const { dedupe, attempts, crashes, loneCrashes } = lane.messages[lane.head]!;
  const { id: node } = model.nodes[slot]!;
  const stopped = lane.stop > lane.head;
  const counters = { attempts, crashes, loneCrashes };
  const expected = { lane: laneKey(index), node, seq: lane.head + 1, dedupe, ...counters, stopped };
  expect(head).toMatchObject(expected);
  const before = model.stale
    .filter((late) => late.head.lane === laneKey(index))
    .map((late) => late.head.epoch);
  expect(head!.epoch, 'every claim has a higher epoch').toBeGreaterThan(Math.max(0, ...before));
  lane.holder = slot;
  lane.parked = false;
  model.held.set(index, head!);
}

function accept(index: number, slot: number, dedupe: string): Step {
  return step(
    `accept(${index}, ${dedupe}, node ${slot})`,
    () => true,
    async (model, { lanes }) => {
      const lane = model.lanes[index]!;
      const known = lane.messages.findIndex((message) => message.dedupe === dedupe);
      const result = await lanes.append(laneKey(index), dedupe, { dedupe }, model.nodes[slot]?.id);
      expect(result).toMatchObject({
        duplicate: known >= 0,
        seq: known >= 0 ? known + 1 : lane.messages.length + 1,
      });
      if (known >= 0) return;
      lane.messages.push({ dedupe, attempts: 0, crashes: 0, loneCrashes: 0, fate: 'waiting' });
      if (model.isDue(index) && live(model, slot)) noteClaim(model, index, slot, result.heads[0]);
      else expect(result.heads).toEqual([]);
    },
  );
}

function acceptRaced(index: number, dedupe: string): Step {
  return step(
    `acceptRaced(${index}, ${dedupe})`,
    () => true,
    async (model, { lanes }) => {
      const lane = model.lanes[index]!;
      const known = lane.messages.findIndex((message) => message.dedupe === dedupe);
      const results = await Promise.all(
        [1, 2, 3].map(() => lanes.append(laneKey(index), dedupe, { dedupe })),
      );
      const seq = known >= 0 ? known + 1 : lane.messages.length + 1;
      expect(results.map((result) => result.seq)).toEqual([seq, seq, seq]);
      expect(results.filter((result) => !result.duplicate)).toHaveLength(known >= 0 ? 0 : 1);
      if (known < 0) lane.messages.push({ dedupe, attempts: 0, crashes: 0, loneCrashes: 0, fate: 'waiting' });
    },
  );
}

function sweep(slot: number, free: number): Step {
  return step(
    `sweep(node ${slot}, ${free} free)`,
    (model) => model.nodes[slot] !== undefined,
    async (model, { lanes }) => {
      if (live(model, slot)) model.reclaimFromDead();
      const open = model.lanes.flatMap((_, index) => (model.isOpen(index) ? [index] : []));
      const due = open.filter((index) => model.isDue(index));
      const suspects = model.suspectsFor(slot);
      const heads = await lanes.sweep(model.nodes[slot]!.id, [{ class: 'in', free }]);
      const usual = Math.min(free, due.length);
      const expected = suspects.counts.map((count) => usual + count);
      expect(live(model, slot) ? expected : [0]).toContain(heads.length);
      for (const head of heads) {
        const index = Number(head.lane.slice('in:t:'.length));
        expect(open, 'only what nobody holds is claimed').toContain(index);
        if (!due.includes(index)) {
          expect(head.crashes, 'the least suspected first').toBeLessThanOrEqual(suspects.crashes);
          model.lanes[index]!.group = heads.length - usual;
        }
        noteClaim(model, index, slot, head);
      }
    },
  );
}

const isHeld = (index: number) => (model: LaneModel) => model.held.has(index);

function finish(index: number, error: string | undefined): Step {
  return step(
    `finish(${index}${error === undefined ? '' : ', dead'})`,
    isHeld(index),
    async (model, { lanes }) => {
      const slot = model.lanes[index]!.holder!;
      const { heads } = await lanes.finish(model.held.get(index)!, error);
      model.end(index, error === undefined ? 'finished' : 'dead');
      if (model.isDue(index)) noteClaim(model, index, slot, heads[0]);
      else expect(heads).toEqual([]);
    },
  );
}

function release(index: number, attempt: boolean): Step {
  return step(`release(${index}, ${attempt})`, isHeld(index), async (model, { lanes }) => {
    const lane = model.lanes[index]!;
    await lanes.release(model.held.get(index)!, { delayMs: 0, attempt });
    if (attempt) lane.messages[lane.head]!.attempts += 1;
    model.free(index);
  });
}

/** A head waits for something external, or works again. */
function noteWaiting(index: number, isWaiting: boolean): Step {
  return step(`noteWaiting(${index}, ${isWaiting})`, isHeld(index), async (model, { lanes }) => {
    const lane = model.lanes[index]!;
    await lanes.noteWaiting(model.held.get(index)!, isWaiting);
    lane.waiting = isWaiting;
  });
}

/** The last message of a lane: one that others wait behind is due at once, because their turns may go ahead (`parked.test.ts`). */
function park(index: number): Step {
  const isAlone = (model: LaneModel): boolean => {
    const { head, messages } = model.lanes[index]!;
    return isHeld(index)(model) && messages.length === head + 1;
  };
  return step(`park(${index})`, isAlone, async (model, { lanes }) => {
    const lane = model.lanes[index]!;
    const approval = {
      id: `ask-${model.approvals}-${index}`,
      turnId: 'none',
      detail: {},
      expiresInMs: 3_600_000,
    };
    model.approvals += 1;
    await lanes.park(model.held.get(index)!, approval);
    // A stop that came before is the answer: the lane is due immediately.
    lane.parked = lane.stop <= lane.head;
    model.free(index);
  });
}

function decide(which: number): Step {
  const target = (model: LaneModel): number => {
    const parked = model.lanes.flatMap((lane, index) => (lane.parked ? [index] : []));
    return parked[which % Math.max(1, parked.length)] ?? -1;
  };
  return step(
    `decide(${which})`,
    (model) => target(model) >= 0,
    async (model, { lanes }) => {
      const index = target(model);
      const ids = Array.from({ length: model.approvals }, (_, n) => `ask-${n}-${index}`);
      let decided = 0;
      for (const id of ids) if (await lanes.decide(id, 'approved', 'owner')) decided += 1;
      expect(decided, 'one question of the lane was open').toBe(1);
      model.lanes[index]!.parked = false;
    },
  );
}

function stop(index: number): Step {
  return step(
    `stop(${index})`,
    (model) => !model.lanes[index]!.parked,
    async (model, { lanes }) => {
      const lane = model.lanes[index]!;
      const waiting = lane.messages.filter((message, at) => at >= lane.head && message.fate === 'waiting');
      const running = lane.holder !== undefined;
      const result = await lanes.stop(`t:${index}`, { fresh: false });
      expect(result).toEqual({ stopped: running, cancelled: waiting.length - (running ? 1 : 0) });
      if (lane.head === lane.messages.length) return;
      model.clear(index);
      lane.stop = lane.messages.length;
      for (const message of waiting.slice(running ? 1 : 0)) message.fate = 'stopped';
      if (!running) lane.head = lane.messages.length;
    },
  );
}

/** The node that last lost the lane tries to write anyway: it may by now hold it again, at the same message. */
function actLate(index: number): Step {
  const newest = (model: LaneModel) => model.stale.findLast(({ head }) => head.lane === laneKey(index));
  return step(
    `actLate(${index})`,
    (model) => newest(model) !== undefined,
    async (model, { lanes }) => {
      const { head, ended } = newest(model)!;
      const approval = { id: `late-${head.epoch}`, turnId: 'none', detail: {}, expiresInMs: 1_000 };
      const late = [
        () => lanes.release(head, { delayMs: 0, attempt: true }),
        () => lanes.noteWaiting(head, true),
        () => lanes.park(head, approval),
      ];
      // Repeating its own finish is not a mistake: the answer of the first may have been lost.
      if (!ended) late.push(() => lanes.finish(head).then(() => undefined));
      for (const act of late)
        await expect(act(), 'a stale holder is refused').rejects.toBeInstanceOf(FencedError);
    },
  );
}

/** Lets one node finish all work, and checks that every accepted message ended exactly once. */
export async function drain(model: LaneModel, real: RealLanes): Promise<void> {
  await restart(0).run(model, real);
  for (let index = 0; index < model.lanes.length; index += 1) {
    if (model.lanes[index]!.parked) await decide(parkedBefore(model, index)).run(model, real);
  }
  for (const [slot, node] of model.nodes.entries())
    if (slot > 0 && node.alive) await leave(slot).run(model, real);
  do {
    await sweep(0, model.lanes.length).run(model, real);
    for (let index = 0; index < model.lanes.length; index += 1) {
      while (model.held.has(index)) await finish(index, undefined).run(model, real);
    }
    // Suspects run one after another.
  } while (model.lanes.some((_, index) => model.isOpen(index)));
  const open = model.lanes.flatMap((lane) => lane.messages.filter((message) => message.fate === 'waiting'));
  expect(open, 'nothing is lost').toEqual([]);
  expect(await real.lanes.sweep(model.nodes[0]!.id, [{ class: 'in', free: 100 }]), 'nothing is left').toEqual(
    [],
  );
}

function parkedBefore(model: LaneModel, index: number): number {
  return model.lanes.slice(0, index).filter((lane) => lane.parked).length;
}
