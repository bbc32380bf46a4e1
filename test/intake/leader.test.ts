/** Which node receives for a bot, and what its health reports before, during and after that. */
import { quietBus } from '../fakes/gateway/quiet-bus.ts';
import { partial } from '../fakes/partial.ts';
import { expect, it } from 'vitest';
import { LaneAbort } from '../../src/protocol/bus.ts';
import { type Channel, DEAD_AFTER_MS, DEAD_INTERVAL_MS } from '../../src/protocol/channel.ts';
import { ChannelError, StoreError } from '../../src/protocol/errors.ts';
import type { ChannelHealth } from '../../src/protocol/gateway-api.ts';
import { createLeader, YIELDS } from '../../src/intake/leader.ts';
import type { LaneHead, LaneStore } from '../../src/protocol/store/lanes.ts';
import { createLog } from '../../src/ops/log.ts';
import { FakeClock } from '../fakes/clock.ts';
import { laneHead } from '../fakes/stores/lane-head.ts';

const HEAD = laneHead('poll:telegram:7', 'leader');

function buildLeader(
  append: LaneStore['append'] = () => Promise.resolve({ seq: 1, duplicate: false, heads: [] }),
) {
  const dueAtOnce: string[] = [];
  const clock = new FakeClock();
  let state: ChannelHealth['state'] = 'off';
  const channel = {
    name: 'telegram',
    identify: () => Promise.resolve({ id: '7', name: 'bot' }),
    start: () => {
      state = 'up';
      return Promise.resolve();
    },
    stop: () => {
      state = 'off';
      return Promise.resolve();
    },
    health: () => ({ state }),
  } as unknown as Channel;
  const leader = createLeader({
    channels: new Map([['telegram', channel]]),
    lanes: partial({
      append,
      finish: () => Promise.resolve({ heads: [] }),
      endDelay: async (lane) => void dueAtOnce.push(lane),
    }),
    bus: quietBus(),
    receive: () => Promise.reject(new Error('nobody writes here')),
    log: createLog({ level: 'silent', redact: (text) => text }),
    clock,
  });
  const run = () => {
    const closing = new AbortController();
    const outcome = leader.handler.handle(HEAD, closing.signal);
    return { outcome, close: () => closing.abort(new LaneAbort('shutdown')) };
  };
  return { channel, clock, leader, run, dueAtOnce };
}

it('receives over each of several connections, leaving the second one to other nodes a few times', async () => {
  const { channel, leader } = buildLeader();
  const started: unknown[] = [];
  channel.identify = () => Promise.resolve({ id: '7', name: 'bot', shards: 2 });
  channel.start = async (_receive, shard) => void started.push(shard);
  await leader.enter(channel, NEVER);
  const closing = new AbortController();
  const headOf = (id: number): LaneHead => {
    const shard = { id, count: 2 };
    return { ...HEAD, lane: `poll:telegram:7:${id}:2`, payload: { channel: 'telegram', shard } };
  };
  const first = leader.handler.handle(headOf(0), closing.signal);
  for (let n = 0; n < YIELDS; n += 1)
    expect(await leader.handler.handle(headOf(1), closing.signal)).toEqual({ kind: 'released' });
  const second = leader.handler.handle(headOf(1), closing.signal);
  closing.abort();
  expect(await Promise.all([first, second])).toEqual([{ kind: 'released' }, { kind: 'released' }]);
  expect(started).toEqual([
    { id: 0, count: 2 },
    { id: 1, count: 2 },
  ]);
});

it('stops what it resumed for a number of connections that is no longer current', async () => {
  const { channel, leader, run } = buildLeader();
  const { outcome } = run();
  channel.identify = () => Promise.resolve({ id: '7', name: 'bot', shards: 2 });
  await leader.enter(channel, NEVER);
  expect(await outcome).toEqual({ kind: 'released', delayMs: 600_000 });
  expect(await run().outcome).toEqual({ kind: 'released', delayMs: 600_000 });
});

const NEVER = new AbortController().signal;

it('is on standby while another node receives, and up once this one does', async () => {
  const { channel, leader, run } = buildLeader();
  await leader.enter(channel, NEVER);
  expect(leader.health(channel).state).toBe('standby');
  const { outcome, close } = run();
  expect(leader.health(channel).state).toBe('up');
  close();
  expect(await outcome).toEqual({ kind: 'released' });
  expect(leader.health(channel).state).toBe('standby');
});

it('gives the lane to another node while its platform still keeps the channel from receiving', async () => {
  const { channel, run } = buildLeader();
  const stopped = Promise.withResolvers<void>();
  channel.start = () => stopped.promise;
  channel.stop = async () => stopped.resolve();
  const { outcome, close } = run();
  close();
  expect(await outcome).toEqual({ kind: 'released' });
});

it('stays up when a restarted node took its lane back before the platform identified the token', async () => {
  const { channel, leader, run } = buildLeader();
  const { outcome, close } = run();
  await leader.enter(channel, NEVER);
  expect(leader.health(channel).state).toBe('up');
  close();
  await outcome;
});

it('does not wait for a delay with which an earlier node left the bot, where the channel was off', async () => {
  const fresh = buildLeader();
  await fresh.leader.enter(fresh.channel, NEVER);
  expect(fresh.dueAtOnce).toEqual([]);
  const known = buildLeader(() => Promise.resolve({ seq: 1, duplicate: true, heads: [] }));
  await known.leader.enter(known.channel, NEVER);
  expect(known.dueAtOnce).toEqual(['poll:telegram:7']);
});

it('is queued for election once an unreachable store is back', async () => {
  let tries = 0;
  const { channel, clock, leader } = buildLeader(() => {
    tries += 1;
    return tries < 3
      ? Promise.reject(new StoreError('unavailable', 'The database is unavailable.', { retryable: true }))
      : Promise.resolve({ seq: 1, duplicate: false, heads: [] });
  });
  const entered = leader.enter(channel, NEVER);
  await clock.advance(0);
  expect(leader.health(channel)).toEqual({ state: 'degraded', detail: 'The database is unavailable.' });
  await clock.advance(60_000);
  await entered;
  expect(tries).toBe(3);
});

it('keeps asking while the platform refuses the token: dead after ten minutes, hourly from then on, no restart needed', async () => {
  const { channel, clock, leader } = buildLeader();
  let tries = 0;
  let refuses = true;
  channel.identify = async () => {
    tries += 1;
    if (refuses) throw new ChannelError('unauthorized', 'The token is refused.');
    return { id: '7', name: 'bot' };
  };
  const entered = leader.enter(channel, NEVER);
  await clock.advance(DEAD_AFTER_MS - 1);
  expect(leader.health(channel)).toEqual({ state: 'degraded', detail: 'The token is refused.' });
  await clock.advance(60_000);
  expect(leader.health(channel).state).toBe('dead');
  const before = tries;
  await clock.advance(DEAD_INTERVAL_MS);
  expect(tries).toBe(before + 1);
  refuses = false;
  await clock.advance(DEAD_INTERVAL_MS);
  await entered;
  expect(leader.health(channel).state).toBe('standby');
});

it('keeps the one head of a bot through any failure to start, and if the channel is off: no attempt is counted', async () => {
  const { channel, leader, run } = buildLeader();
  channel.start = () => Promise.reject(new ChannelError('rejected', 'The intents are not allowed.'));
  expect(await run().outcome).toEqual({ kind: 'released', delayMs: 10_000 });
  const elsewhere = leader.handler.handle({ ...HEAD, lane: 'poll:discord:7' }, NEVER);
  expect(await elsewhere).toEqual({ kind: 'released', delayMs: 10_000 });
});
