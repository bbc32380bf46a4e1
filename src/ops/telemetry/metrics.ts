/** The gateway's metrics in Prometheus' text format (version 0.0.4). */
import { Gauge } from 'prom-client';
import type { Fanout, MessageBus } from '../../protocol/bus.ts';
import type { BackupState } from '../../protocol/operator/backup.ts';
import type { Health } from '../health.ts';
import type { LoopMonitor } from '../loop-delay.ts';
import type { Meters } from './meters.ts';

/** Calls to the platform of each channel, and those that it refused as too fast. */
type PlatformCounts = ReadonlyMap<string, { readonly calls: number; readonly refused: number }>;

export interface MetricsDeps {
  health: Health;
  bus: MessageBus;
  /** Counters of tokens and model time. */
  usageMeter: { lines(): string[] };
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

/** Makes the metrics. */
export function createMetrics(deps: MetricsDeps): Metrics {
  const { registry } = deps.meters;
  const running = new Gauge({
    name: 'parley_heads_running',
    help: 'Heads of lanes this node works on.',
    labelNames: ['class'],
    registers: [registry],
  });
  return {
    async text() {
      const counts = await deps.health.counts();
      const delivery = deps.delivery.counts();
      for (const [name, count] of Object.entries(deps.bus.running())) running.set({ class: name }, count);
      const lines = [
        ...gauge('parley_store_up', 'The store answers.', counts === undefined ? 0 : 1),
        ...gauge('parley_messages_pending', 'Messages accepted and not finished.', counts?.pending ?? 0),
        ...gauge('parley_dead_letters', 'Messages given up.', counts?.deadLetters ?? 0),
        ...gauge('parley_sessions', 'Sessions known.', counts?.sessions ?? 0),
        ...platformLines(delivery.platforms),
        ...counter('parley_ambiguous_sends_total', 'Sends whose answer was lost.', delivery.ambiguousSends),
        ...counter('parley_deliveries_dead_total', 'Deliveries given up.', delivery.dead),
        ...counter(
          'parley_batches_refused_total',
          'Batches of live events that came from no node of this database.',
          deps.fanout?.refused?.() ?? 0,
        ),
        ...gauge(
          'parley_loop_delay_p99_seconds',
          'Event loop delay of the last minute.',
          deps.loop.p99Ms() / 1_000,
        ),
        ...counter('process_cpu_seconds_total', 'CPU time of this process.', cpuSeconds()),
        ...gauge('process_resident_memory_bytes', 'Resident memory.', process.memoryUsage.rss()),
        ...gauge('nodejs_heap_size_used_bytes', 'JavaScript heap in use.', process.memoryUsage().heapUsed),
        ...backupLines(deps.backups.state()),
        ...deps.usageMeter.lines(),
      ];
      return `${lines.join('\n')}\n${await registry.metrics()}`;
    },
  };
}

/** Without a sample while there is no daily backup: an age of 0 would look like a new one. */
function backupLines({ at }: BackupState = {}): string[] {
  const help = 'Age of the newest daily backup in this home.';
  const ageSeconds = Math.max(0, (Date.now() - Date.parse(at ?? '')) / 1_000);
  const lines = gauge('parley_backup_age_seconds', help, ageSeconds);
  return at === undefined ? lines.slice(0, -1) : lines;
}

/** User and system time of all threads of this process, in seconds. */
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000_000;
}

/** Counters of calls with one sample for each channel: there are as many as the gateway has. */
function platformLines(platforms: PlatformCounts): string[] {
  const byChannel = (
    name: string,
    help: string,
    pick: (counts: { calls: number; refused: number }) => number,
  ) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} counter`,
    ...[...platforms].map(([channel, counts]) => `${name}{channel="${channel}"} ${pick(counts)}`),
  ];
  return [
    ...byChannel('parley_platform_calls_total', 'Calls to chat platforms.', ({ calls }) => calls),
    ...byChannel('parley_platform_refused_total', 'Calls answered "too fast".', (counts) => counts.refused),
  ];
}

const gauge = metricOf('gauge');
const counter = metricOf('counter');

function metricOf(type: 'gauge' | 'counter') {
  return (name: string, help: string, value: number) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    `${name} ${value}`,
  ];
}
