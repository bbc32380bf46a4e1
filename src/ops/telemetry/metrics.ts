/** The gateway's metrics in Prometheus' text format (version 0.0.4). */
import type { Fanout, MessageBus } from '../../protocol/bus.ts';
import type { BackupState } from '../../protocol/operator/backup.ts';
import type { Health } from '../health.ts';
import type { LoopMonitor } from '../loop-delay.ts';
import { type Meters, registerIn } from './meters.ts';

/** Calls to the platform of each channel, and those that it refused as too fast. */
type PlatformCounts = ReadonlyMap<string, { readonly calls: number; readonly refused: number }>;

export interface MetricsDeps {
  health: Health;
  bus: MessageBus;
  loop: LoopMonitor;
  delivery: { counts(): { platforms: PlatformCounts; ambiguousSends: number; dead: number } };
  fanout: Fanout | undefined;
  backups: { state(): BackupState | undefined };
  meters: Meters;
}

export interface Metrics {
  /** All current metrics. Never throws. */
  text(): Promise<string>;
}

/** Makes the metrics; those that are counted elsewhere are read when someone asks. */
export function createMetrics(deps: MetricsDeps): Metrics {
  const { registry } = deps.meters;
  const register = registerIn(registry);
  const gauge = (name: string, help: string) => register.gauge(name, help, []);
  const counter = (name: string, help: string) => {
    const metric = register.counter(name, help, ['channel']);
    return (totals: Iterable<readonly [string | undefined, number]>): void => {
      metric.reset();
      for (const [channel, total] of totals) metric.inc(channel === undefined ? {} : { channel }, total);
    };
  };
  const storeUp = gauge('parley_store_up', 'The store takes writes.');
  const fanoutUp = gauge('parley_fanout_up', 'Live events reach the other nodes in time.');
  const pending = gauge('parley_messages_pending', 'Messages accepted and not finished.');
  const deadLetters = gauge('parley_dead_letters', 'Messages given up.');
  const sessions = gauge('parley_sessions', 'Sessions known.');
  const running = register.gauge('parley_heads_running', 'Heads of lanes this node works on.', ['class']);
  const loopDelay = gauge('parley_loop_delay_p99_seconds', 'Event loop delay of the last minute.');
  const rss = gauge('process_resident_memory_bytes', 'Resident memory.');
  const heap = gauge('nodejs_heap_size_used_bytes', 'JavaScript heap in use.');
  const backupAge = gauge('parley_backup_age_seconds', 'Age of the newest daily backup in this home.');
  const calls = counter('parley_platform_calls_total', 'Calls to chat platforms.');
  const refused = counter('parley_platform_refused_total', 'Calls answered "too fast".');
  const ambiguous = counter('parley_ambiguous_sends_total', 'Sends whose answer was lost.');
  const dead = counter('parley_deliveries_dead_total', 'Deliveries given up.');
  const batches = counter(
    'parley_batches_refused_total',
    'Batches of live events that came from no node of this database.',
  );
  const cpu = counter('process_cpu_seconds_total', 'CPU time of all threads of this process.');
  return {
    async text() {
      const counts = await deps.health.counts();
      const { platforms, ambiguousSends, dead: deadCount } = deps.delivery.counts();
      const { user, system } = process.cpuUsage();
      const { at } = deps.backups.state() ?? {};
      storeUp.set(deps.bus.store() === 'up' ? 1 : 0);
      fanoutUp.set(deps.fanout?.isUp() === false ? 0 : 1);
      pending.set(counts?.pending ?? 0);
      deadLetters.set(counts?.deadLetters ?? 0);
      sessions.set(counts?.sessions ?? 0);
      for (const [name, count] of Object.entries(deps.bus.running())) running.set({ class: name }, count);
      loopDelay.set(deps.loop.p99Ms() / 1_000);
      rss.set(process.memoryUsage.rss());
      heap.set(process.memoryUsage().heapUsed);
      // Without a daily backup there is no sample: an age of 0 would look like a new one.
      if (at === undefined) backupAge.remove();
      else backupAge.set(Math.max(0, (Date.now() - Date.parse(at)) / 1_000));
      calls([...platforms].map(([channel, one]) => [channel, one.calls]));
      refused([...platforms].map(([channel, one]) => [channel, one.refused]));
      ambiguous([[undefined, ambiguousSends]]);
      dead([[undefined, deadCount]]);
      batches([[undefined, deps.fanout?.refused?.() ?? 0]]);
      cpu([[undefined, (user + system) / 1_000_000]]);
      return await registry.metrics();
    },
  };
}
