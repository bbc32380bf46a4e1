/** Leader election per bot: only the node that holds the lane `poll:<channel>:<bot id>` receives for it. */
import type { LaneRunner, LaneHandler, LaneOutcome } from '../contracts/bus.ts';
import type { Channel } from '../contracts/channel.ts';
import { ChannelError, toGatewayError } from '../contracts/errors.ts';
import type { ChannelHealth } from '../contracts/gateway-api.ts';
import type { LaneHead, LaneStore } from '../contracts/lanes.ts';
import { backoffMs } from '../lib/backoff.ts';
import { pause } from '../lib/sleep.ts';
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
      const identity = await identify(
        channel,
        signal,
        (health) => waiting.set(channel.name, health),
        deps.log,
      );
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
      await pause(backoffMs(attempt, 1_000, IDENTIFY_CAP_MS), signal);
    }
  }
}

/** Identifies the token, asking until the platform answers; undefined when it is refused or the gateway stops. */
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
        log.info({ channel: channel.name, bot: identity.name, botId: identity.id }, 'bot_identified');
      return identity?.id;
    } catch (thrown) {
      if (signal.aborted) return undefined;
      const error = toGatewayError(thrown);
      const refused = error instanceof ChannelError && error.code === 'unauthorized';
      report({ state: refused ? 'dead' : 'degraded', detail: error.message });
      log.error({ err: error, channel: channel.name }, refused ? 'channel_refused' : 'channel_unreachable');
      if (refused) return undefined;
      await pause(error.retryAfterMs ?? backoffMs(attempt, 1_000, IDENTIFY_CAP_MS), signal);
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
  if (channel === undefined) {
    return {
      kind: 'retry',
      error: new ChannelError('unavailable', `Channel ${name} is off on this node.`),
      delayMs: RESTART_MS,
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
  } catch (thrown) {
    const error = toGatewayError(thrown);
    deps.log.error({ err: error, channel: name }, 'channel_start_failed');
    return { kind: 'retry', error, delayMs: RESTART_MS };
  } finally {
    led.delete(name);
    await channel.stop();
  }
}
