/** Who receives for a bot, and what its health says before, while and after. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { LaneAbort } from '../../src/contracts/bus.ts';
import type { Channel } from '../../src/contracts/channel.ts';
import { StoreError } from '../../src/contracts/errors.ts';
import type { ChannelHealth } from '../../src/contracts/gateway-api.ts';
import { createLeader } from '../../src/intake/leader.ts';
import type { LaneHead, LaneStore } from '../../src/contracts/lanes.ts';
import { createLog } from '../../src/ops/log.ts';

const HEAD: LaneHead = {
  lane: 'poll:telegram:7',
  node: 'n',
  epoch: 1,
  seq: 1,
  dedupe: 'leader',
  payload: {},
  attempts: 0,
  crashes: 0,
  stopped: false,
};

function buildLeader(
  append: LaneStore['append'] = () => Promise.resolve({ seq: 1, duplicate: false, heads: [] }),
) {
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
    lanes: {
      append,
      finish: () => Promise.resolve({ heads: [] }),
    },
    bus: { claimingNode: () => undefined, runHeads: () => undefined },
    receive: () => Promise.reject(new Error('nobody writes here')),
    log: createLog({ level: 'silent', redact: (text) => text }),
  });
  const run = () => {
    const closing = new AbortController();
    const outcome = leader.handler.handle(HEAD, closing.signal);
    return { outcome, close: () => closing.abort(new LaneAbort('shutdown')) };
  };
  return { channel, leader, run };
}

const NEVER = new AbortController().signal;

it('is starting until this node receives, and up afterwards', async () => {
  const { channel, leader, run } = buildLeader();
  await leader.enter(channel, NEVER);
  expect(leader.health(channel).state).toBe('starting');
  const { outcome, close } = run();
  expect(leader.health(channel).state).toBe('up');
  close();
  expect(await outcome).toEqual({ kind: 'released' });
  expect(leader.health(channel).state).toBe('starting');
});

it('stays up when a restarted node took its lane back before the platform identified the token', async () => {
  const { channel, leader, run } = buildLeader();
  const { outcome, close } = run();
  await leader.enter(channel, NEVER);
  expect(leader.health(channel).state).toBe('up');
  close();
  await outcome;
});

it('is queued for election once an unreachable store is back', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let tries = 0;
  const { channel, leader } = buildLeader(() => {
    tries += 1;
    return tries < 3
      ? Promise.reject(new StoreError('unavailable', 'The database is away.', { retryable: true }))
      : Promise.resolve({ seq: 1, duplicate: false, heads: [] });
  });
  const entered = leader.enter(channel, NEVER);
  await vi.advanceTimersByTimeAsync(0);
  expect(leader.health(channel)).toEqual({ state: 'degraded', detail: 'The database is away.' });
  await vi.advanceTimersByTimeAsync(60_000);
  await entered;
  expect(tries).toBe(3);
});
