/** Leader election per bot: only the node that holds the lane `poll:<channel>:<bot id>` receives for it. */
import type { LaneRunner, LaneHandler, LaneOutcome } from '../contracts/bus.ts';
import type { Channel } from '../contracts/channel.ts';
import { ChannelError, toGatewayError } from '../contracts/errors.ts';
import type { ChannelHealth } from '../contracts/gateway-api.ts';
import type { LaneHead, LaneStore } from '../contracts/store/lanes.ts';
import { DEAD_AFTER_MS, DEAD_INTERVAL_MS } from '../contracts/channel.ts';
import { backoffMs } from '../lib/backoff.ts';
import { pauseOn, systemClock } from '../lib/clock.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../contracts/log.ts';
import type { Receive } from '../contracts/receive.ts';

/** Longest pause between two attempts to identify a bot token, in milliseconds. */
const IDENTIFY_CAP_MS = 30_000;
/** Longest duration of one attempt, in milliseconds. */
const IDENTIFY_TIMEOUT_MS = 15_000;
/** Pause before a channel that could not begin to receive is started again, in milliseconds. */
const RESTART_MS = 10_000;

export interface LeaderDeps {
  channels: ReadonlyMap<string, Channel>;
  lanes: Pick<LaneStore, 'append' | 'finish'>;
  bus: LaneRunner;
  receive: Receive;
  log: Log;
  clock?: Clock;
}

/** Runs the channels of which one node at a time may receive. */
export interface Leader {
  /** Runs the heads of `poll:` lanes: receives for as long as the head is held. */
  handler: LaneHandler;
  /** Queues a channel for leadership, as soon as its platform has identified the token. Ends with `signal`. Never throws. */
  enter(channel: Channel, signal: AbortSignal): Promise<void>;
  /** Health of a channel, with what keeps it from receiving. */
  health(channel: Channel): ChannelHealth;
}

/** Makes the leader. */
export function createLeader(deps: LeaderDeps): Leader {
  const waiting = new Map<string, ChannelHealth>();
  /** Names of the channels that this node receives for now. */
  const led = new Set<string>();
  return {
    handler: {
      handle: (head, signal) => lead(deps, led, head, signal),
      onDeadLetter: (head, error) => deps.lanes.finish(head, error.message),
    },
    health: (channel) => (led.has(channel.name) ? undefined : waiting.get(channel.name)) ?? channel.health(),
    async enter(channel, signal) {
      const identity = await identify(channel, signal, (health) => waiting.set(channel.name, health), deps);
      if (identity === undefined) return;
      // This is the state until this node is elected; another node may stay elected for as long as it runs.
      waiting.set(channel.name, {
        state: 'starting',
        detail: 'waits to receive; another node may be receiving now',
      });
      await queueForLeadership(deps, channel, identity, signal, (health) =>
        waiting.set(channel.name, health),
      );
    },
  };
}

/** Queues for the lane, retrying until the store accepts it. */
async function queueForLeadership(
  deps: LeaderDeps,
  channel: Channel,
  identity: string,
  signal: AbortSignal,
  report: (health: ChannelHealth) => void,
): Promise<void> {
  const lane = `poll:${channel.name}:${identity}` as const;
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    try {
      const payload = { channel: channel.name };
      deps.bus.runHeads(await deps.lanes.append(lane, 'leader', payload, deps.bus.claimingNode('poll')));
      return;
    } catch (thrown) {
      const error = toGatewayError(thrown);
      report({ state: 'degraded', detail: error.message });
      deps.log.error({ err: error, channel: channel.name }, 'leader_queue_failed');
      await pauseOn(deps.clock ?? systemClock, backoffMs(attempt, 1_000, IDENTIFY_CAP_MS), signal);
    }
  }
}

/** Identifies the token, asking until the platform accepts it; undefined when the gateway stops. */
async function identify(
  channel: Channel,
  signal: AbortSignal,
  report: (health: ChannelHealth) => void,
  { log, clock = systemClock }: LeaderDeps,
): Promise<string | undefined> {
  report({ state: 'starting' });
  let refusedSince: number | undefined;
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(IDENTIFY_TIMEOUT_MS)]);
      const identity = await channel.identify?.(limit);
      if (identity !== undefined)
        log.info({ channel: channel.name, bot: identity.name, botId: identity.id }, 'bot_identified');
      return identity?.id;
    } catch (thrown) {
      if (signal.aborted) return undefined;
      const error = toGatewayError(thrown);
      const refused = error instanceof ChannelError && error.code === 'unauthorized';
      const now = clock.monotonicMs();
      if (refused) refusedSince ??= now;
      const dead = refusedSince !== undefined && now - refusedSince >= DEAD_AFTER_MS;
      report({ state: dead ? 'dead' : 'degraded', detail: error.message });
      log.error({ err: error, channel: channel.name }, refused ? 'channel_refused' : 'channel_unreachable');
      const soonMs = error.retryAfterMs ?? backoffMs(attempt, 1_000, IDENTIFY_CAP_MS);
      await pauseOn(clock, dead ? DEAD_INTERVAL_MS : soonMs, signal);
    }
  }
  return undefined;
}

/** Holds the head until the node loses it or the gateway stops; the head itself never ends. */
async function lead(
  deps: LeaderDeps,
  led: Set<string>,
  head: LaneHead,
  signal: AbortSignal,
): Promise<LaneOutcome> {
  const name = head.lane.split(':')[1] ?? '';
  const channel = deps.channels.get(name);
  // No failure may end the head, which is the bot's only one: a channel that is off here may be on at another node.
  const later: LaneOutcome = { kind: 'released', delayMs: RESTART_MS };
  if (channel === undefined) {
    deps.log.warn({ channel: name }, 'channel_off_here');
    return later;
  }
  try {
    const over = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    const starting = channel.start(deps.receive);
    led.add(name);
    // A platform may keep a channel waiting for hours before it receives; another node must not wait for that.
    await Promise.race([starting, over]);
    await over;
    return { kind: 'released' };
  } catch (thrown) {
    const error = toGatewayError(thrown);
    deps.log.error({ err: error, channel: name }, 'channel_start_failed');
    return later;
  } finally {
    led.delete(name);
    await channel.stop();
  }
}
