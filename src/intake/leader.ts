/**
 * Leader election per bot: only the node that holds the lane `poll:<channel>:<bot id>` receives for it. Each connection
 * of a sharded bot has its own lane.
 */
import { textRef } from '../protocol/texts/say.ts';
import type { MessageBus, LaneHandler, LaneOutcome } from '../protocol/bus.ts';
import { z } from 'zod';
import {
  type Channel,
  type ChannelIdentity,
  DEAD_AFTER_MS,
  DEAD_INTERVAL_MS,
  type Shard,
} from '../protocol/channel.ts';
import { ChannelError, toGatewayError, messageOf } from '../protocol/errors.ts';
import type { ChannelHealth } from '../protocol/gateway-api.ts';
import type { LaneHead, LaneKey, LaneStore } from '../protocol/store/lanes.ts';
import { backoffMs } from '../lib/async/backoff.ts';
import { type Clock, pauseOn, systemClock } from '../lib/clock.ts';
import type { Log } from '../protocol/log.ts';
import type { Receive } from '../protocol/receive.ts';

/** Longest pause between two attempts to identify a bot token, in milliseconds. */
const IDENTIFY_CAP_MS = 30_000;
/** Longest duration of one attempt, in milliseconds. */
const IDENTIFY_TIMEOUT_MS = 15_000;
/** Pause before a channel that could not start receiving is started again, in milliseconds. */
const RESTART_MS = 10_000;
/** Pause before a connection for another total number of connections is checked again, in milliseconds. */
const OTHER_COUNT_MS = 600_000;
/**
 * How often a node leaves another connection of its bot to whichever node claims it first, so that nodes that start
 * together share them. The others claim it at once, before this node's next sweep; after a pause they might always
 * lose.
 */
export const YIELDS = 4;

export interface LeaderDeps {
  channels: ReadonlyMap<string, Channel>;
  lanes: LaneStore;
  bus: MessageBus;
  receive: Receive;
  log: Log;
  clock?: Clock;
}

/** Runs the channels that only one node at a time may receive for. */
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
  const problems = new Map<string, ChannelHealth>();
  const leases: Held = { connections: new Map(), yields: new Map(), counts: new Map() };
  const isLed = (name: string): boolean => leadsOf(leases, name) > 0;
  return {
    handler: {
      handle: (head, signal) => lead(deps, leases, head, signal),
      onDeadLetter: (head, error) => deps.lanes.finish(head, error.message),
    },
    health: (channel) => (isLed(channel.name) ? undefined : problems.get(channel.name)) ?? channel.health(),
    async enter(channel, signal) {
      const report = (health: ChannelHealth): void => void problems.set(channel.name, health);
      const identity = await identify(channel, signal, report, deps);
      if (identity === undefined) return;
      const { id, shards: count = 1 } = identity;
      leases.counts.set(channel.name, count);
      // A restarted node may have reclaimed connections before it knew how many there are now.
      for (const one of leases.connections.values())
        if (one.channel === channel.name && one.count !== count) one.end.abort();
      for (let shard = 0; shard < count; shard += 1)
        await queueForLeadership(
          deps,
          channel,
          laneOf(channel.name, id, { id: shard, count }),
          signal,
          report,
        );
    },
  };
}

interface Held {
  connections: Map<string, { channel: string; count: number; end: AbortController }>;
  /** How often it has left a lane to other nodes since it last held it. */
  yields: Map<string, number>;
  /** Connections that each channel has now, once its platform has reported it. */
  counts: Map<string, number>;
}

function leadsOf({ connections }: Held, name: string): number {
  return [...connections.values()].filter(({ channel }) => channel === name).length;
}

function laneOf(name: string, botId: string, shard: Shard): readonly [LaneKey, Shard] {
  const { id, count } = shard;
  return [count === 1 ? `poll:${name}:${botId}` : `poll:${name}:${botId}:${id}:${count}`, shard];
}

/** What an item of such a lane contains. */
const Connection = z.object({
  channel: z.string(),
  shard: z.object({ id: z.int(), count: z.int() }).optional(),
});

function shardOf({ payload }: LaneHead): Shard {
  return Connection.safeParse(payload).data?.shard ?? { id: 0, count: 1 };
}

/** Queues for the lane, retrying until the store accepts it. */
async function queueForLeadership(
  deps: LeaderDeps,
  channel: Channel,
  [lane, shard]: readonly [LaneKey, Shard],
  signal: AbortSignal,
  report: (health: ChannelHealth) => void,
): Promise<void> {
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    try {
      const payload = { channel: channel.name, ...(shard.count > 1 && { shard }) };
      const appended = await deps.lanes.append(lane, 'leader', payload, deps.bus.claimingNode('poll'));
      deps.bus.runHeads(appended);
      // The state until this node is elected; another one may stay elected for as long as it runs.
      if (appended.heads.length === 0) report({ state: 'standby', detail: textRef('health.queued') });
      // A node where the channel is off, or could not start, has left it to later ones with a delay.
      if (appended.duplicate) await deps.lanes.endDelay(lane);
      return;
    } catch (cause) {
      const error = toGatewayError(cause);
      report({ state: 'degraded', detail: messageOf(error) });
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
): Promise<ChannelIdentity | undefined> {
  report({ state: 'starting' });
  let refusedSince: number | undefined;
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(IDENTIFY_TIMEOUT_MS)]);
      const identity = await channel.identify?.(limit);
      if (identity !== undefined)
        log.info({ channel: channel.name, bot: identity.name, botId: identity.id }, 'bot_identified');
      return identity;
    } catch (cause) {
      if (signal.aborted) return undefined;
      const error = toGatewayError(cause);
      const isRefused = error instanceof ChannelError && error.code === 'unauthorized';
      const now = clock.monotonicMs();
      if (isRefused) refusedSince ??= now;
      const dead = refusedSince !== undefined && now - refusedSince >= DEAD_AFTER_MS;
      report({ state: dead ? 'dead' : 'degraded', detail: messageOf(error) });
      log.error({ err: error, channel: channel.name }, isRefused ? 'channel_refused' : 'channel_unreachable');
      const soonMs = error.retryAfterMs ?? backoffMs(attempt, 1_000, IDENTIFY_CAP_MS);
      await pauseOn(clock, dead ? DEAD_INTERVAL_MS : soonMs, signal);
    }
  }
  return undefined;
}

/** Holds the head until the node loses it or the gateway stops; the head itself never ends. */
async function lead(
  deps: LeaderDeps,
  leases: Held,
  head: LaneHead,
  signal: AbortSignal,
): Promise<LaneOutcome> {
  const name = head.lane.split(':')[1] ?? '';
  const channel = deps.channels.get(name);
  // No failure may end the head, which is the bot's only one: a channel that is off here may be on at another node.
  const retry: LaneOutcome = { kind: 'released', delayMs: RESTART_MS };
  if (channel === undefined) {
    deps.log.warn({ channel: name }, 'channel_off_here');
    return retry;
  }
  const shard = shardOf(head);
  const isOver = () => (leases.counts.get(name) ?? shard.count) !== shard.count;
  if (isOver()) return { kind: 'released', delayMs: OTHER_COUNT_MS };
  if (leavesToOthers(leases, head, name)) return { kind: 'released' };
  const end = new AbortController();
  const endSignal = AbortSignal.any([signal, end.signal]);
  const of = shard.count === 1 ? undefined : shard;
  try {
    const over = new Promise<void>((resolve) => {
      if (endSignal.aborted) resolve();
      else endSignal.addEventListener('abort', () => resolve(), { once: true });
    });
    const starting = channel.start(deps.receive, of);
    leases.connections.set(head.lane, { channel: name, count: shard.count, end });
    // A platform may keep a channel waiting for hours before it receives; another node must not wait for that.
    await Promise.race([starting, over]);
    await over;
    return { kind: 'released', ...(isOver() && { delayMs: OTHER_COUNT_MS }) };
  } catch (cause) {
    const error = toGatewayError(cause);
    deps.log.error({ err: error, channel: name }, 'channel_start_failed');
    return retry;
  } finally {
    leases.connections.delete(head.lane);
    await channel.stop(of);
  }
}

/** True while a node that receives over one connection of a bot gives other nodes a chance to take this one. */
function leavesToOthers(leases: Held, { lane }: LaneHead, name: string): boolean {
  const yields = leases.yields.get(lane) ?? 0;
  const leaves = leadsOf(leases, name) > 0 && yields < YIELDS;
  if (leaves) leases.yields.set(lane, yields + 1);
  else leases.yields.delete(lane);
  return leaves;
}
