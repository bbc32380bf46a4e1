/** Which message killed a node: heads that had started are counted, and suspects run apart until it is known. */
import { expect, it } from 'vitest';
import { FencedError } from '../../../src/protocol/errors.ts';
import {
  type LaneHead,
  type LaneKey,
  SUSPECT_ALONE_MAX_MS,
  SUSPECT_ALONE_MS,
  SUSPECT_SHARE,
} from '../../../src/protocol/store/lanes.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { request } from '../requests.ts';
import { accepted, IN_ROOM, LEASE_MS } from './turns.ts';

const HOME = 'home';
const ROOM = [
  { class: 'in' as const, free: 100 },
  { class: 'out' as const, free: 100 },
];

/** Starts the next process of the home after the previous one died; returns its id. */
const boot = ({ lanes }: TestStore): Promise<string> => lanes.register(HOME, LEASE_MS);

const keys = (heads: LaneHead[]): LaneKey[] => heads.map(({ lane }) => lane).toSorted();

/** Deliveries in separate lanes that were in progress at two crashes; returns the third process. */
async function suspects(store: TestStore, count: number): Promise<string> {
  for (let at = 0; at < count; at += 1) await store.lanes.append(`out:t:${at}`, 'm', {});
  for (let death = 0; death < 2; death += 1) {
    const node = await boot(store);
    expect(await store.lanes.sweep(node, ROOM)).toHaveLength(count);
  }
  return await boot(store);
}

/** Makes a running suspect look as if it was claimed `ms` ago. */
const startedAgo = ({ sql }: TestStore, { lane }: LaneHead, ms: number) =>
  sql`update lane set wake_at = now() - ${Math.round(ms)}::int * interval '1 millisecond' where key = ${lane}`;

/** How many further suspects the node claims when `running` has run for `ms`. */
async function claimedAfter(store: TestStore, running: LaneHead, node: string, ms: number): Promise<number> {
  await startedAgo(store, running, ms);
  return (await store.lanes.sweep(node, ROOM)).length;
}

describeStore('the death of a node', (databases) => {
  it('counts against the turns that had started, not against what was still queued', async () => {
    const store = await databases.open();
    const node = await boot(store);
    const ask = (id: string, chatId: string) => request(id, { chatId }, node);
    const begun = accepted(await store.ledger.accept(ask('m1', '1')));
    accepted(await store.ledger.accept(ask('m2', '2')));
    await store.lanes.append('poll:telegram:7', 'hold', {}, node);
    await store.ledger.openTurn(begun.heads[0]!, begun.turnId, 10);
    const heads = await store.lanes.sweep(await boot(store), [...ROOM, { class: 'poll', free: 1 }]);
    const crashes = Object.fromEntries(heads.map((head) => [head.lane, head.crashes]));
    expect(crashes).toEqual({ 'in:telegram:1': 1, 'in:telegram:2': 0, 'poll:telegram:7': 0 });
  });

  it('makes suspects of heads in progress at two crashes: they run one by one, everything else in parallel', async () => {
    const store = await databases.open();
    const node = await suspects(store, 3);
    await store.lanes.append('out:t:new', 'm', {});
    const [suspect, ...others] = (await store.lanes.sweep(node, ROOM)).toSorted(
      (a, b) => b.crashes - a.crashes,
    );
    expect(suspect).toMatchObject({ crashes: 2, loneCrashes: 0 });
    expect(keys(others)).toEqual(['out:t:new']);
    await startedAgo(store, suspect!, 0);
    await store.sql`update lane_item set crashes = 9 where lane = ${suspect!.lane}`;
    expect(await store.lanes.sweep(node, ROOM)).toEqual([]);
    await store.lanes.finish(suspect!);
    expect(await store.lanes.sweep(node, ROOM)).toMatchObject([{ crashes: 2 }]);
  });

  it('counts a crash for the only running suspect, and runs it after all others', async () => {
    const store = await databases.open();
    const [guilty] = await store.lanes.sweep(await suspects(store, 3), ROOM);
    const node = await boot(store);
    const order: LaneHead[] = [];
    for (let round = 0; round < 3; round += 1) {
      const [head] = await store.lanes.sweep(node, ROOM);
      order.push(head!);
      await store.lanes.finish(head!);
    }
    expect(order.map(({ crashes, loneCrashes }) => [crashes, loneCrashes])).toEqual([
      [2, 0],
      [2, 0],
      [3, 1],
    ]);
    expect(order[2]?.lane).toBe(guilty?.lane);
  });

  it('runs a quarter of many at a time, and singles none of them out, not even the last one left', async () => {
    const store = await databases.open();
    const node = await suspects(store, 3 * SUSPECT_SHARE);
    const group = await store.lanes.sweep(node, ROOM);
    expect(group).toHaveLength(3);
    for (const head of group.slice(1)) await store.lanes.finish(head);
    await boot(store);
    const [row] = await store.sql`select crashes, lone_crashes from lane_item where lane = ${group[0]!.lane}`;
    expect(row).toEqual({ crashes: 3, lone_crashes: 0 });
  });

  it('does not let a suspect wait for one that has run for a moment without a crash, whatever the clock does', async () => {
    const store = await databases.open();
    const node = await suspects(store, 3);
    const [long] = await store.lanes.sweep(node, ROOM);
    await startedAgo(store, long!, SUSPECT_ALONE_MS + 1);
    const [second] = await store.lanes.sweep(node, ROOM);
    await store.lanes.finish(second!);
    await startedAgo(store, long!, -7_200_000);
    expect(await store.lanes.sweep(node, ROOM)).toHaveLength(1);
  });

  it.each([
    { crashes: 2, aloneMs: SUSPECT_ALONE_MS },
    { crashes: 5, aloneMs: 8 * SUSPECT_ALONE_MS },
    { crashes: 9, aloneMs: 128 * SUSPECT_ALONE_MS },
    { crashes: 10, aloneMs: SUSPECT_ALONE_MAX_MS },
    { crashes: 2_000, aloneMs: SUSPECT_ALONE_MAX_MS },
  ])('after $crashes deaths a suspect is alone for $aloneMs ms', async ({ crashes, aloneMs }) => {
    const store = await databases.open();
    const node = await suspects(store, 2);
    await store.sql`update lane_item set crashes = ${crashes}`;
    const [running] = await store.lanes.sweep(node, ROOM);
    expect(await claimedAfter(store, running!, node, aloneMs / 2)).toBe(0);
    expect(await claimedAfter(store, running!, node, aloneMs + 1)).toBe(1);
  });

  it('lets others run and counts no crash while it waits, and runs it alone again once it works', async () => {
    const store = await databases.open();
    const node = await suspects(store, 2);
    const [waiting] = await store.lanes.sweep(node, ROOM);
    await store.lanes.noteWaiting(waiting!, true);
    const [other] = await store.lanes.sweep(node, ROOM);
    expect(other).toBeDefined();
    const counters = async ({ lane }: LaneHead) => {
      const [row] = await store.sql`select crashes, lone_crashes as lone from lane_item where lane = ${lane}`;
      return row;
    };
    const next = await boot(store);
    expect(await counters(waiting!)).toEqual({ crashes: 2, lone: 0 });
    expect(await counters(other!)).toEqual({ crashes: 3, lone: 1 });
    const [again] = await store.lanes.sweep(next, ROOM);
    expect(again?.lane).toBe(waiting?.lane);
    await store.lanes.noteWaiting(again!, true);
    await store.lanes.noteWaiting(again!, false);
    await boot(store);
    expect(await counters(waiting!)).toEqual({ crashes: 3, lone: 1 });
    await expect(store.lanes.noteWaiting(again!, true)).rejects.toBeInstanceOf(FencedError);
  });

  it('counts nothing against a turn that waits, however often, until it works again', async () => {
    const store = await databases.open();
    const { turnId } = accepted(await store.ledger.accept(request('m1')));
    for (let death = 0; death < 5; death += 1) {
      const [head] = await store.lanes.sweep(await boot(store), IN_ROOM);
      expect(head).toMatchObject({ crashes: 0 });
      await store.ledger.openTurn(head!, turnId, 10);
      await store.lanes.noteWaiting(head!, true);
    }
    const [worked] = await store.lanes.sweep(await boot(store), IN_ROOM);
    await store.lanes.noteWaiting(worked!, true);
    await store.lanes.noteWaiting(worked!, false);
    // A node that claims the head again does not know about a wait.
    const [again] = await store.lanes.sweep(await boot(store), IN_ROOM);
    expect(again).toMatchObject({ crashes: 1 });
    expect(await store.lanes.sweep(await boot(store), IN_ROOM)).toMatchObject([{ crashes: 2 }]);
  });

  it('counts against what came after a head that waited, whichever node claims it', async () => {
    const store = await databases.open();
    const node = await boot(store);
    const waits = async (lane: LaneKey) => {
      const { heads } = await store.lanes.append(lane, 'm1', {}, node);
      await store.lanes.append(lane, 'm2', {}, node);
      await store.lanes.noteWaiting(heads[0]!, true);
      return heads[0]!;
    };
    await store.lanes.finish(await waits('out:t:finished'));
    await store.lanes.release(await waits('out:t:released'), { delayMs: 0, attempt: false });
    await store.lanes.append('out:t:released', 'm3', {}, node);
    expect(await store.lanes.sweep(await boot(store), ROOM)).toMatchObject([{ crashes: 1 }, { crashes: 1 }]);
  });

  it('counts no crash when the process survives and only lost the database', async () => {
    const store = await databases.open();
    const node = await boot(store);
    await store.lanes.append('out:t:1', 'm', {}, node);
    const back = await store.lanes.register(HOME, LEASE_MS, { node, ms: () => 2 * LEASE_MS });
    expect(await store.lanes.sweep(back, ROOM)).toMatchObject([{ crashes: 0 }]);
    // The next death counts.
    expect(await store.lanes.sweep(await boot(store), ROOM)).toMatchObject([{ crashes: 1 }]);
  });

  it('counts no crash when a sweep that the outage delayed arrives before the process is registered again', async () => {
    const store = await databases.open();
    const node = await boot(store);
    await store.lanes.append('out:t:1', 'm', {}, node);
    await store.sql`update node set lease_until = now() - interval '1 second' where id = ${node}`;
    expect(await store.lanes.sweep(node, ROOM)).toEqual([]);
    const back = await store.lanes.register(HOME, LEASE_MS, { node, ms: () => 2 * LEASE_MS });
    expect(await store.lanes.sweep(back, ROOM)).toMatchObject([{ crashes: 0 }]);
  });

  it('is not assumed for nodes whose leases ended in the same outage until they have had time to return', async () => {
    const store = await databases.open();
    const { lanes, sql } = store;
    const [here, there, dead] = [
      await boot(store),
      await lanes.register('there', LEASE_MS),
      await lanes.register('dead', LEASE_MS),
    ];
    for (const [at, node] of [here, there, dead].entries()) await lanes.append(`out:t:${at}`, 'm', {}, node);
    const ended = async (node: string, ago: string) =>
      sql`update node set lease_until = now() - ${ago}::interval where id = ${node}`;
    await ended(here, '50 s');
    await ended(there, '50 s');
    await ended(dead, '2 min');
    const back = await lanes.register(HOME, LEASE_MS, { node: here, ms: () => 60_000 });
    const heads = await lanes.sweep(back, ROOM);
    const crashes = Object.fromEntries(heads.map((head) => [head.lane, head.crashes]));
    expect(crashes).toEqual({ 'out:t:0': 0, 'out:t:2': 1 });
    const alsoBack = await lanes.register('there', LEASE_MS, { node: there, ms: () => 60_000 });
    expect(await lanes.sweep(alsoBack, ROOM)).toMatchObject([{ lane: 'out:t:1', crashes: 0 }]);
  });

  it('stays a suspect when it is released while waiting; an unsuspected head stays unsuspected', async () => {
    const store = await databases.open();
    const node = await suspects(store, 1);
    const [head] = await store.lanes.sweep(node, ROOM);
    await store.lanes.noteWaiting(head!, true);
    await store.lanes.release(head!, { delayMs: 0, attempt: false });
    const group = async (lane: LaneKey) =>
      (await store.sql<{ group: number }[]>`select suspect_group as group from lane where key = ${lane}`)[0]
        ?.group;
    expect(await group(head!.lane)).toBe(1);
    const fresh = await store.lanes.append('out:t:new', 'm', {}, node);
    await store.lanes.noteWaiting(fresh.heads[0]!, true);
    await store.lanes.noteWaiting(fresh.heads[0]!, false);
    expect(await group('out:t:new')).toBe(0);
  });

  it('starts with any of several equal suspects, so that external kills do not always hit the same one', async () => {
    const store = await databases.open();
    const first = new Set<string>();
    let node = await suspects(store, 5);
    for (let round = 0; round < 60 && first.size < 2; round += 1) {
      const [head] = await store.lanes.sweep(node, ROOM);
      first.add(head!.lane);
      await store.lanes.unregister(node);
      node = await boot(store);
    }
    expect(first.size).toBe(2);
  });

  it('does not let another message start a suspect, and does not keep it from being stopped', async () => {
    const store = await databases.open();
    for (const chatId of ['1', '2']) accepted(await store.ledger.accept(request(`m${chatId}`, { chatId })));
    for (let death = 0; death < 2; death += 1) {
      for (const head of await store.lanes.sweep(await boot(store), IN_ROOM)) {
        await store.ledger.openTurn(head, (head.payload as { turnId: string }).turnId, 10);
      }
    }
    const node = await boot(store);
    const [running] = await store.lanes.sweep(node, IN_ROOM);
    const chatId = running?.lane === 'in:telegram:1' ? '2' : '1';
    expect(accepted(await store.ledger.accept(request('next', { chatId }, node))).heads).toEqual([]);
    expect(await store.lanes.stop(`telegram:${chatId}`, { fresh: false })).toMatchObject({ cancelled: 2 });
    expect(accepted(await store.ledger.accept(request('last', { chatId }, node))).heads).toHaveLength(1);
  });

  it('resets the count of lone crashes when a tool call succeeded, not when it failed', async () => {
    const store = await databases.open();
    const { turnId } = accepted(await store.ledger.accept(request('m1')));
    const loneCrashes = async (): Promise<number> => {
      const [head] = await store.lanes.sweep(await boot(store), IN_ROOM);
      await store.ledger.openTurn(head!, turnId, 10);
      const result = { kind: 'tool_result', toolCallId: 'c', toolName: 'probe', callIndex: 0 } as const;
      const count = head!.loneCrashes;
      await store.ledger.toolResult(head!, turnId, count, { ...result, content: '', isError: count < 2 }, 1);
      return count;
    };
    const seen: number[] = [];
    for (let life = 0; life < 6; life += 1) seen.push(await loneCrashes());
    expect(seen).toEqual([0, 0, 0, 1, 2, 1]);
  });
});
