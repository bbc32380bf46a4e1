/** The gateway's metrics in Prometheus' text format (version 0.0.4). */
import type { LaneClass } from '../contracts/lanes.ts';
import type { Health } from './health.ts';

export interface MetricsDeps {
  counts: Health['counts'];
  running: () => Record<LaneClass, number>;
  /** Counters of tokens and model time. */
  usage: () => string[];
  /** 99th percentile of the event loop's delay, in milliseconds. */
  loopDelayP99Ms: () => number;
  delivery: () => { calls: number; refused: number; ambiguousSends: number; dead: number };
}

export interface Metrics {
  /** All metrics as they are now. Never throws. */
  text(): Promise<string>;
}

/** Makes the metrics. */
export function createMetrics(deps: MetricsDeps): Metrics {
  return {
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
        ...metric(
          'parley_loop_delay_p99_seconds',
          'gauge',
          'Event loop delay.',
          deps.loopDelayP99Ms() / 1_000,
        ),
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
