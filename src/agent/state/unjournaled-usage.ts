/** Usage of a turn's model calls that leave no answer in its journal, and sums of usage. */
import type { Usage } from '../../protocol/agent/provider.ts';
import type { ContextEntry } from '../../protocol/store/records.ts';
import type { ModelUsage } from '../../protocol/agent/usage.ts';

/**
 * Usage of the calls that leave no answer in the journal: broken calls, corrections, explanations, summaries. The next row
 * that is journaled stores it too, so a crash loses only the calls since that row, and nothing is counted twice.
 */
export class UnjournaledUsage {
  readonly #all: ModelUsage[];
  /** How many of them are stored already. */
  #reported: number;

  /** Continues from the usage in a journal. */
  constructor(journal: readonly { entry: ContextEntry }[] = []) {
    this.#all = journal.flatMap(({ entry }) => ('spent' in entry ? (entry.spent ?? []) : []));
    this.#reported = this.#all.length;
  }

  add(spent: ModelUsage): void {
    this.#all.push(spent);
  }

  /** Includes those from the journal. */
  get all(): readonly ModelUsage[] {
    return this.#all;
  }

  /** The usage that is not stored yet, by model, for the row that is journaled next. It counts as stored from then on. */
  takeUnreported(): { spent?: ModelUsage[] } {
    const spent = sumByModel(this.#all.slice(this.#reported));
    this.#reported = this.#all.length;
    return spent.length === 0 ? {} : { spent };
  }
}

/** Adds one usage to another. */
export function addUsage(sum: Usage, more: Usage): Usage {
  return {
    promptTokens: sum.promptTokens + more.promptTokens,
    completionTokens: sum.completionTokens + more.completionTokens,
    modelMs: sum.modelMs + more.modelMs,
    ...((sum.estimated || more.estimated) && { estimated: true }),
  };
}

/** One sum per model, in the order of their first use. */
export function sumByModel(all: readonly ModelUsage[]): ModelUsage[] {
  const sums = new Map<string, Usage>();
  for (const { model, ...usage } of all) {
    const sum = sums.get(model);
    sums.set(model, sum === undefined ? usage : addUsage(sum, usage));
  }
  return [...sums].map(([model, usage]) => ({ ...usage, model }));
}
