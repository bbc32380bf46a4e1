/** Cost of model calls: as the server reports it, else estimated, because a local model is never free. */
import type { Ledger } from '../../contracts/ledger.ts';
import { estimateTokens } from '../../lib/tokens.ts';
import type { ChatChunk, ChatRequest, Usage } from '../../contracts/provider.ts';
import type { ContextEntry } from '../../contracts/records.ts';
import type { ModelUsage } from '../../contracts/usage.ts';
import type { TurnContext, TurnIdentity, TurnProgress } from './turn-state.ts';

/** Observations of a call on this side. */
export interface SeenCall {
  /** The prompt's tokens, as estimated. */
  promptTokens: number;
  /** Everything the model said. */
  said: string;
  /** Milliseconds from its begin to its end. */
  ms: number;
}

/** Fills in what the server did not report; `reported` is undefined for a call that broke before its end. */
export function completeUsage(reported: Usage | undefined, seen: SeenCall): Usage {
  const promptTokens = reported?.promptTokens || Math.round(seen.promptTokens);
  const completionTokens = reported?.completionTokens || estimateTokens(seen.said);
  const modelMs = reported?.modelMs || Math.round(seen.ms);
  const estimated = promptTokens !== reported?.promptTokens || completionTokens !== reported.completionTokens;
  return { promptTokens, completionTokens, modelMs, ...(estimated && { estimated }) };
}

/** Watches the chunks of one call. */
export interface CallMeter {
  see(chunk: ChatChunk): void;
  /** Cost so far; undefined until the model has begun. */
  spent(): Usage | undefined;
}

/** Makes the meter of a call that began at `since`, by `performance.now()`. */
export function meterCall(
  request: ChatRequest,
  toolTokens: number,
  since: number = performance.now(),
): CallMeter {
  const parts: string[] = [];
  let reported: Usage | undefined;
  let heard = false;
  return {
    see(chunk) {
      heard = true;
      if (chunk.type === 'done') reported = chunk.usage;
      else parts.push(chunk.type === 'tool_call' ? JSON.stringify(chunk.call.args) : chunk.delta);
    },
    spent() {
      if (!heard) return undefined;
      const words = request.messages.map(({ content }) => content).join('');
      const promptTokens = estimateTokens(words) + toolTokens;
      return completeUsage(reported, { promptTokens, said: parts.join(''), ms: performance.now() - since });
    },
  };
}

/**
 * Stores the cost that no row holds of a turn that is left here and continued elsewhere: its end will not know it. Throws
 * `StoreError`.
 */
export async function recordUnreported(
  ledger: Pick<Ledger, 'noteUsage'>,
  { turnId, parentTurnId, sessionKey: session, userId, costs }: TurnIdentity & Pick<TurnProgress, 'costs'>,
): Promise<void> {
  const whose = { turnId: parentTurnId ?? turnId, session, userId };
  const purpose = parentTurnId === undefined ? 'turn' : 'subagent';
  for (const spent of costs.takeUnreported().spent ?? [])
    await ledger.noteUsage({ ...spent, ...whose, purpose });
}

/**
 * Cost of a turn's calls, by model: its answers and what was spent beside them, those from before a crash included.
 * `model` is that of answers which do not name theirs.
 */
export function usageOf(
  turn: Pick<TurnContext, 'model'> & Pick<TurnProgress, 'rows' | 'costs'>,
): ModelUsage[] {
  const answers = turn.rows.paidAnswers().flatMap(({ usage, model = turn.model ?? '' }) => {
    return usage === undefined ? [] : [{ ...usage, model }];
  });
  return sumByModel([...answers, ...turn.costs.all]);
}

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
function sumByModel(all: readonly ModelUsage[]): ModelUsage[] {
  const sums = new Map<string, Usage>();
  for (const { model, ...usage } of all) {
    const sum = sums.get(model);
    sums.set(model, sum === undefined ? usage : addUsage(sum, usage));
  }
  return [...sums].map(([model, usage]) => ({ ...usage, model }));
}
