/** Receiving over a plug-in: it is asked to start again whenever its process did. */
import { backoffMs } from '../lib/async/backoff.ts';
import type { Channel } from '../protocol/channel.ts';
import type { ChannelHealth } from '../protocol/gateway-api.ts';
import type { Receive } from '../protocol/receive.ts';
import type { ChannelIds } from '../protocol/access.ts';
import type { Log } from '../protocol/log.ts';
import type { PluginChannelFacts } from '../protocol/plugin.ts';
import { readMessage } from './channel-shapes.ts';
import type { CallOptions, PluginProcess } from './plugin-process.ts';

/** How long it may take to stop receiving, in milliseconds. */
const STOP_MS = 5_000;
/** Pauses before it is asked again to receive, after it could not. */
const [RETRY_MS, MOST_RETRY_MS] = [1_000, 60_000];
const STATES = ['starting', 'up', 'degraded', 'dead'] as const;

/** What a channel is made from. */
export interface HostedChannelParts {
  name: string;
  facts: PluginChannelFacts;
  ids: ChannelIds;
  process: PluginProcess;
  log: Log;
  /** Takes messages before `start`, for webhooks: any node may get them. */
  receive: Receive;
}

/** What a running process tells its channel. */
export interface HostedChannel extends Channel {
  /** Passes on a message of the plug-in. Throws `GatewayError`. */
  receiveFrom(value: unknown): Promise<{ kind: string; reply?: string | undefined }>;
  noteHealth(state: string, detail: string | undefined): void;
  /** Its process has started again. */
  restarted(): void;
}

/** Calls a method of the channel. Throws `ChannelError`. */
export type CallChannel = (
  method: string,
  args: readonly unknown[],
  options?: CallOptions,
) => Promise<unknown>;

type Receiving = Pick<
  HostedChannel,
  'start' | 'stop' | 'health' | 'noteHealth' | 'restarted' | 'receiveFrom'
>;

/** Makes that part of a channel. */
export function createReceiving(
  { name, facts, ids, process, log, receive: receiveAlways }: HostedChannelParts,
  call: CallChannel,
): Receiving {
  let receiving: Receive | undefined;
  let reported: ChannelHealth = { state: 'starting' };
  let retry: NodeJS.Timeout | undefined;
  const resume = (attempt: number): void => {
    clearTimeout(retry);
    if (receiving !== undefined) call('start', []).catch((error: unknown) => retryAfter(error, attempt));
  };
  const retryAfter = (error: unknown, attempt: number): void => {
    log.warn({ err: error }, 'plugin_start_failed');
    if (process.state().state === 'refused') return;
    retry = setTimeout(() => resume(attempt + 1), backoffMs(attempt, RETRY_MS, MOST_RETRY_MS));
  };
  const start: Channel['start'] = async (receive) => {
    receiving = receive;
    process.isNeeded = true;
    try {
      await call('start', []);
    } catch (error) {
      // Whoever elects a node for it tries again; one that every node starts must not keep the gateway from its start.
      if (facts.webhook !== true) throw error;
      retryAfter(error, 0);
    }
  };
  const stop: Channel['stop'] = async () => {
    clearTimeout(retry);
    process.isNeeded = false;
    if (receiving === undefined) return;
    receiving = undefined;
    reported = { state: 'starting' };
    if (process.state().state !== 'up') return;
    // It is as good as stopped: nothing that it receives is taken any more.
    await call('stop', [], { limitMs: STOP_MS }).catch((error: unknown) =>
      log.warn({ err: error }, 'plugin_stop_failed'),
    );
  };
  return {
    start,
    stop,
    health: () => healthOf(process, reported, receiving !== undefined),
    restarted: () => resume(0),
    noteHealth(text, detail) {
      const state = STATES.find((one) => one === text) ?? 'degraded';
      reported = { state, ...(state !== 'up' && detail !== undefined && { detail }) };
    },
    async receiveFrom(value) {
      const { kind, ...more } = await (receiving ?? receiveAlways)(readMessage(name, ids, value));
      return { kind, ...('reply' in more && { reply: more.reply }) };
    },
  };
}

/** What its process does counts before what the plug-in last said. */
function healthOf(process: PluginProcess, reported: ChannelHealth, isReceiving: boolean): ChannelHealth {
  const { state, detail } = process.state();
  if (state === 'refused') return { state: 'dead', ...(detail !== undefined && { detail }) };
  if (state === 'waiting') return { state: 'degraded', ...(detail !== undefined && { detail }) };
  return isReceiving ? reported : { state: 'starting' };
}
