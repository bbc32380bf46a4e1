/** The numbers of the house in Prometheus' text format (version 0.0.4). */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { LaneClass } from '../contracts/lanes.ts';
import type { Health } from './health.ts';

export interface MetricsDeps {
  counts: Health['counts'];
  running: () => Record<LaneClass, number>;
  /** Counters of tokens and model time. */
  usage: () => string[];
  delivery: () => { calls: number; refused: number; ambiguousSends: number; dead: number };
}

/** Measures this process from now on. */
export interface Metrics {
  text(): Promise<string>;
  close(): void;
}

export function createMetrics(deps: MetricsDeps): Metrics {
  const loop = monitorEventLoopDelay({ resolution: 20 });
  loop.enable();
  return {
    close: () => void loop.disable(),
    async text() {
      const counts = await deps.counts();
      const delivery = deps.delivery();
      const lines = [
        ...metric('parley_store_up', 'gauge', 'The store answers.', counts === undefined ? 0 : 1),
        ...metric(
          'parley_messages_pending',
          'gauge',
          'Messages accepted and not finished.',
          counts?.pending ?? 0,
        ),
        ...metric('parley_dead_letters', 'gauge', 'Messages given up.', counts?.deadLetters ?? 0),
        ...metric('parley_sessions', 'gauge', 'Sessions known.', counts?.sessions ?? 0),
        ...metric('parley_platform_calls_total', 'counter', 'Calls to chat platforms.', delivery.calls),
        ...metric('parley_platform_refused_total', 'counter', 'Calls answered "too fast".', delivery.refused),
        ...metric(
          'parley_ambiguous_sends_total',
          'counter',
          'Sends whose answer was lost.',
          delivery.ambiguousSends,
        ),
        ...metric('parley_deliveries_dead_total', 'counter', 'Deliveries given up.', delivery.dead),
        ...metric('parley_loop_delay_p99_seconds', 'gauge', 'Event loop delay.', loop.percentile(99) / 1e9),
        ...metric('process_resident_memory_bytes', 'gauge', 'Resident memory.', process.memoryUsage.rss()),
        ...deps.usage(),
        '# HELP parley_heads_running Heads of lanes this node works on.',
        '# TYPE parley_heads_running gauge',
        ...Object.entries(deps.running()).map(
          ([name, count]) => `parley_heads_running{class="${name}"} ${count}`,
        ),
      ];
      return `${lines.join('\n')}\n`;
    },
  };
}

function metric(name: string, type: 'gauge' | 'counter', help: string, value: number): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, `${name} ${value}`];
}
