/** A gateway from its start to its stop: what others need starts first and stops last. */
import type { EventBus, MessageBus } from './protocol/bus.ts';
import type { Channel } from './protocol/channel.ts';
import type { HealthReport } from './protocol/gateway-api.ts';
import type { Log, StartProgress } from './protocol/log.ts';
import type { Retention, RetentionStore } from './protocol/operator/backup.ts';
import type { BudgetStore } from './protocol/agent/budgets.ts';
import type { HookCallStore } from './protocol/operator/webhooks.ts';
import type { Receive } from './protocol/receive.ts';
import type { LaneStore } from './protocol/store/lanes.ts';
import type { RemovedFolders, ResponseStore } from './protocol/store/ledger.ts';
import type { TraceStore } from './protocol/store/traces.ts';
import type { SessionFiles, Tool } from './protocol/agent/tool.ts';
import type { UsageSums } from './protocol/agent/usage.ts';
import { announceState, type Redactor, startAddingUp, startRetention } from './ops/index.ts';
import type { Clock } from './lib/clock.ts';

/** What the process around a gateway decides besides its configuration. */
export interface GatewayOptions {
  log: Log;
  /** Takes secrets out of the log and of the prompts in traces; undefined = the gateway makes its own. */
  redact?: Redactor | undefined;
  /** Receives the steps of the start that take time. */
  progress?: StartProgress | undefined;
  /** Shows the first token on the terminal; undefined = there is no terminal, and the token is written to a file. */
  showToken?: ((token: string) => void) | undefined;
  /** Answers come from a script, and the page says so. */
  demo?: boolean;
  /** Tools besides the built-in ones, enabled in the default profile. */
  tools?: readonly Tool[];
  /** The time of daily backups; default: the machine's. */
  clock?: Clock;
  /** Origins that `web_fetch` may reach wherever they are; all others must be public. */
  reachable?: readonly string[];
}

export interface Gateway {
  /** Where the HTTP channel listens. */
  readonly url: string;
  health(): Promise<HealthReport>;
  /** A link that signs a browser in once, with an admin's rights; undefined when no token has them. Throws `StoreError`. */
  signInLink(): Promise<string | undefined>;
  /** Stops running work at a point where it can be resumed, and closes everything. Never throws; may be called twice. */
  stop(): Promise<void>;
}

/** Longest time for running work to reach a point where it can be resumed, in milliseconds. */
const DRAIN_MS = 20_000;

interface Closable {
  close(): unknown;
}

/** Everything that starts or stops, by name. */
export interface Components {
  settings: {
    current(): { retention: Retention };
    start(): Promise<void>;
    stop(): Promise<void>;
  };
  store: {
    lanes: LaneStore;
    traces: TraceStore;
    responses: ResponseStore;
    hookCalls: HookCallStore;
    budgets: BudgetStore;
    usage: UsageSums;
    folders: RemovedFolders;
    retention: RetentionStore;
    leaving(): void;
    close(): Promise<void>;
  };
  files: SessionFiles;
  events: EventBus;
  bus: MessageBus;
  scheduling: { start(): Promise<void>; stop(): Promise<void> };
  channels: ReadonlyMap<string, Channel>;
  leader: { enter(channel: Channel, signal: AbortSignal): Promise<void> };
  receive: Receive;
  health: { report(): Promise<HealthReport> };
  agent: Closable & { escalate(signal: AbortSignal): Promise<void> };
  backups: Closable & { start(): void };
  mcp: Closable & { start(): void };
  plugins: Closable;
  memory: Closable & { refresh(): void };
  speech: Closable;
  webhooks: Closable & { start(): void };
  push: Closable & { start(): void };
  delivery: Closable;
  languageFiles: Closable;
  loop: { stop(): void };
  media: { startSweep(signal: AbortSignal): void };
  profiles: Closable;
  refusals: Closable;
  telemetry: Closable;
  provider: Closable;
}

/** One life of the gateway, from `start` to `stop`. */
export interface Lifecycle {
  /** True while the channels receive. */
  readonly ready: boolean;
  /** Aborts when the gateway stops. */
  readonly closing: AbortSignal;
  /** Starts the components; once they run, `tell` tells others about this gateway until the signal aborts. Throws the `GatewayError` of the one that could not start; everything is closed by then. */
  start(components: Components, tell: (signal: AbortSignal) => void): Promise<void>;
  /** Stops running work at a point where it can be resumed, and closes everything. Never throws; may be called twice. */
  stop(): Promise<void>;
}

/** Makes a lifecycle; nothing has started yet. */
export function createLifecycle(log: Log): Lifecycle {
  const closing = new AbortController();
  let running: Components | undefined;
  let ready = false;
  let stopped: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    ready = false;
    closing.abort();
    if (running !== undefined) await closeAll(running);
  };
  const stop = (): Promise<void> =>
    (stopped ??= close().catch((error: unknown) => log.error({ err: error }, 'stop_failed')));
  return {
    get ready() {
      return ready;
    },
    closing: closing.signal,
    async start(components, tell) {
      running = components;
      const { store, files, settings } = components;
      const { lanes, traces, responses, hookCalls, budgets, folders, retention: old } = store;
      const deps = {
        lanes,
        traces,
        responses,
        hookCalls,
        budgets,
        folders,
        old,
        files,
        rules: () => settings.current().retention,
        log,
      };
      startRetention(deps, closing.signal);
      startAddingUp(store.usage, log, closing.signal);
      try {
        await startAll(components);
        components.media.startSweep(closing.signal);
        components.backups.start();
        void components.agent.escalate(closing.signal);
        ready = true;
        tell(closing.signal);
      } catch (error) {
        await stop();
        throw error;
      }
      announceState(log, components.health.report(), enterElections(components, closing.signal));
    },
    stop,
  };
}

/** Channels that any number of nodes may serve start here; the others wait for the lane that elects their node. */
async function startAll({
  settings,
  events,
  bus,
  scheduling,
  channels,
  receive,
  mcp,
  memory,
  webhooks,
  push,
}: Components): Promise<void> {
  // In the background: a server that is slow or gone delays nothing.
  mcp.start();
  memory.refresh();
  await events.start();
  await bus.start();
  webhooks.start();
  push.start();
  await scheduling.start();
  await settings.start();
  for (const channel of channels.values()) {
    if (channel.identify === undefined) await channel.start(receive);
  }
}

/** Resolves when every channel that one node at a time serves has queued for its election. */
async function enterElections({ channels, leader }: Components, signal: AbortSignal): Promise<unknown> {
  const elected = [...channels.values()].filter((channel) => channel.identify !== undefined);
  return await Promise.all(elected.map((channel) => leader.enter(channel, signal)));
}

async function closeAll(all: Components): Promise<void> {
  await all.settings.stop();
  all.store.leaving();
  await all.backups.close();
  await all.scheduling.stop();
  await all.webhooks.close();
  await all.push.close();
  await all.bus.stop(DRAIN_MS);
  await all.agent.close();
  await all.mcp.close();
  await all.memory.close();
  await all.speech.close();
  for (const channel of all.channels.values()) await channel.stop();
  await all.refusals.close();
  await all.telemetry.close();
  all.delivery.close();
  all.loop.stop();
  await all.profiles.close();
  await all.languageFiles.close();
  await all.events.stop();
  await all.provider.close();
  await all.plugins.close();
  await all.store.close();
}
