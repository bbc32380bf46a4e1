/** Who receives for a bot: the node that holds the lane `poll:<channel>:<bot id>`, and nobody else. */
import type { LaneRunner, LaneHandler, LaneOutcome } from '../contracts/bus.ts';
import type { Channel } from '../contracts/channel.ts';
import { ChannelError, toGatewayError } from '../contracts/errors.ts';
import type { ChannelHealth } from '../contracts/gateway-api.ts';
import type { LaneHead, LaneStore } from '../contracts/lanes.ts';
import { backoffMs } from '../lib/backoff.ts';
import { pause } from '../lib/sleep.ts';
import type { Log } from '../contracts/log.ts';
import type { Receive } from '../contracts/receive.ts';

/** Longest pause between two attempts to learn who a bot token belongs to. */
const IDENTIFY_CAP_MS = 30_000;
/** How long one attempt may take. */
const IDENTIFY_TIMEOUT_MS = 15_000;
/** A channel that could not begin to receive is tried again after this. */
const START_AGAIN_MS = 10_000;

export interface LeaderDeps {
  channels: ReadonlyMap<string, Channel>;
  lanes: Pick<LaneStore, 'append' | 'finish'>;
  bus: LaneRunner;
  receive: Receive;
  log: Log;
}

/** Leads channels that have an identity. */
export interface Leader {
  /** Runs the heads of `poll:` lanes: receives for as long as the head is held. */
  handler: LaneHandler;
  /** Enters a channel for leadership, as soon as its platform says whose the token is. Ends with `signal`. Never throws. */
  enter(channel: Channel, signal: AbortSignal): Promise<void>;
  /** How a channel stands, with what keeps it from being entered. */
  health(channel: Channel): ChannelHealth;
}

/** Makes the leader. */
export function createLeader(deps: LeaderDeps): Leader {
  const waiting = new Map<string, ChannelHealth>();
  /** Channels this node receives for now. */
  const led = new Set<string>();
  return {
    handler: {
      handle: (head, signal) => lead(deps, led, head, signal),
      onDeadLetter: (head, error) => deps.lanes.finish(head, error.message),
    },
    health: (channel) => (led.has(channel.name) ? undefined : waiting.get(channel.name)) ?? channel.health(),
    async enter(channel, signal) {
      const identity = await identify(
        channel,
        signal,
        (health) => waiting.set(channel.name, health),
        deps.log,
      );
      if (identity === undefined) return;
      // Until this node holds the connection; another one may hold it for as long as it lives.
      waiting.set(channel.name, {
        state: 'starting',
        detail: 'waits to receive; another node may be receiving now',
      });
      await take(deps, channel, identity, signal, (health) => waiting.set(channel.name, health));
    },
  };
}

/** Queues for the lane until the store takes it: one that is away now is back sooner or later. */
async function take(
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
    } catch (error) {
      const fault = toGatewayError(error);
      report({ state: 'degraded', detail: fault.message });
      deps.log.error({ err: fault, channel: channel.name }, 'the channel waits for the store to be led');
      await pause(backoffMs(attempt, 1_000, IDENTIFY_CAP_MS), signal);
    }
  }
}

/** Asks whose the token is until the platform answers; undefined when it says "nobody's" or the house closes. */
async function identify(
  channel: Channel,
  signal: AbortSignal,
  report: (health: ChannelHealth) => void,
  log: Log,
): Promise<string | undefined> {
  report({ state: 'starting' });
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(IDENTIFY_TIMEOUT_MS)]);
      const identity = await channel.identify?.(limit);
      if (identity !== undefined)
        log.info({ channel: channel.name, bot: identity.name, botId: identity.id }, 'bot identified');
      return identity?.id;
    } catch (error) {
      if (signal.aborted) return undefined;
      const fault = toGatewayError(error);
      const dead = fault instanceof ChannelError && fault.code === 'unauthorized';
      report({ state: dead ? 'dead' : 'degraded', detail: fault.message });
      log.error(
        { err: fault, channel: channel.name },
        dead ? 'channel refused' : 'channel not reachable yet',
      );
      if (dead) return undefined;
      await pause(fault.retryAfterMs ?? backoffMs(attempt, 1_000, IDENTIFY_CAP_MS), signal);
    }
  }
  return undefined;
}

/** Holds the head until the node loses it or the house closes; the head itself never ends. */
async function lead(
  deps: LeaderDeps,
  led: Set<string>,
  head: LaneHead,
  signal: AbortSignal,
): Promise<LaneOutcome> {
  const name = head.lane.split(':')[1] ?? '';
  const channel = deps.channels.get(name);
  if (channel === undefined) {
    return {
      kind: 'retry',
      error: new ChannelError('unavailable', `Channel ${name} is off on this node.`),
      delayMs: START_AGAIN_MS,
    };
  }
  try {
    const starting = channel.start(deps.receive);
    led.add(name);
    await starting;
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    return { kind: 'released' };
  } catch (error) {
    const fault = toGatewayError(error);
    deps.log.error({ err: fault, channel: name }, 'the channel could not begin to receive');
    return { kind: 'retry', error: fault, delayMs: START_AGAIN_MS };
  } finally {
    led.delete(name);
    await channel.stop();
  }
}
