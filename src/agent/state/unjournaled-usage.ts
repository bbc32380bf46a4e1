/** Usage of a turn's model calls that leave no answer in its journal, and sums of usage. */
import type { Usage } from '../../contracts/provider.ts';
import type { ContextEntry } from '../../contracts/records.ts';
import type { ModelUsage } from '../../contracts/usage.ts';

/**
 * Cost of the calls of a turn that leave no answer in its journal: broken ones, corrections, explanations, summaries. The
 * next row that is journaled anyway takes along what no row holds yet, so a death loses the calls since that row, and
 * nothing is reported twice.
 */
export class UnjournaledUsage {
  readonly #all: ModelUsage[];
  /** Number of them that stand in the journal, or elsewhere. */
  #reported: number;

  /** Goes on where a journal stands. */
  constructor(journal: readonly { entry: ContextEntry }[] = []) {
    this.#all = journal.flatMap(({ entry }) => ('spent' in entry ? (entry.spent ?? []) : []));
    this.#reported = this.#all.length;
  }

  add(spent: ModelUsage): void {
    this.#all.push(spent);
  }

  /** Those of the journal included. */
  get all(): readonly ModelUsage[] {
    return this.#all;
  }

  /** The cost that no row holds yet, by model, for the row that is journaled next; from then on it counts as reported. */
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

/** One sum a model, in the order the models come. */
export function sumByModel(all: readonly ModelUsage[]): ModelUsage[] {
  const sums = new Map<string, Usage>();
  for (const { model, ...usage } of all) {
    const sum = sums.get(model);
    sums.set(model, sum === undefined ? usage : addUsage(sum, usage));
  }
  return [...sums].map(([model, usage]) => ({ ...usage, model }));
}
