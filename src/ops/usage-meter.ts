/** Counts the usage that a ledger stores, for Prometheus. */
import type { Ledger } from '../protocol/store/ledger.ts';
import type { Usage } from '../protocol/agent/provider.ts';
import type { UsagePurpose } from '../protocol/agent/usage.ts';

/** Models with their own counters; usage of any further one is counted under `other`. */
export const METERED_MODELS = 50;

/** A ledger and the counters of what it stores. */
export interface UsageMeter {
  /** The same ledger, counted. */
  ledger: Ledger;
  /** The counters in Prometheus' text format. */
  lines(): string[];
}

/** Makes the meter; failed writes are not counted. */
export function meterUsage(ledger: Ledger): UsageMeter {
  const models = new Map<string, Map<UsagePurpose, Usage>>();
  const add = (named: string, purpose: UsagePurpose, usage: Usage): void => {
    const model = models.has(named) || models.size < METERED_MODELS ? named : 'other';
    const purposes = models.get(model) ?? new Map<UsagePurpose, Usage>();
    models.set(model, purposes);
    const sum = purposes.get(purpose) ?? { promptTokens: 0, completionTokens: 0, modelMs: 0 };
    sum.promptTokens += usage.promptTokens;
    sum.completionTokens += usage.completionTokens;
    sum.modelMs += usage.modelMs;
    purposes.set(purpose, sum);
  };
  return {
    ledger: {
      ...ledger,
      async finishTurn(fence, finish) {
        const step = await ledger.finishTurn(fence, finish);
        for (const spent of finish.usage) add(spent.model, 'turn', spent);
        return step;
      },
      async noteUsage(note) {
        await ledger.noteUsage(note);
        add(note.model, note.purpose, note);
      },
      async storePlan(fence, turnId, planning) {
        await ledger.storePlan(fence, turnId, planning);
        add(planning.model, 'plan', planning.usage);
      },
    },
    lines() {
      const rows = [...models].flatMap(([model, purposes]) =>
        [...purposes].map(([purpose, usage]) => ({
          labels: `model="${escaped(model)}",purpose="${purpose}"`,
          usage,
        })),
      );
      return [
        '# HELP parley_tokens_total Tokens of model calls, read (prompt) and written (completion).',
        '# TYPE parley_tokens_total counter',
        ...rows.flatMap(({ labels, usage }) => [
          `parley_tokens_total{${labels},kind="prompt"} ${Math.round(usage.promptTokens)}`,
          `parley_tokens_total{${labels},kind="completion"} ${Math.round(usage.completionTokens)}`,
        ]),
        '# HELP parley_model_seconds_total Time that models worked.',
        '# TYPE parley_model_seconds_total counter',
        ...rows.map(({ labels, usage }) => `parley_model_seconds_total{${labels}} ${usage.modelMs / 1_000}`),
      ];
    },
  };
}

/** Escapes the value of a label. */
function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
