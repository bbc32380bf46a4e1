/** What model calls cost: as the server reports it, else estimated, because a local model is never free. */
import type { Ledger } from '../../contracts/ledger.ts';
import { estimateTokens } from '../../lib/tokens.ts';
import type { ChatChunk, ChatRequest, Usage } from '../../contracts/provider.ts';
import type { ContextEntry } from '../../contracts/records.ts';
import type { ModelUsage } from '../../contracts/usage.ts';
import type { TurnContext, TurnIdentity, TurnProgress } from './turn-state.ts';

/** What was seen of a call from here. */
export interface SeenCall {
  /** The prompt's tokens, as estimated. */
  promptTokens: number;
  /** Everything the model said. */
  said: string;
  /** Milliseconds from its begin to its end. */
  ms: number;
}

/** Fills in what the server did not report; `told` is undefined for a call that broke before its end. */
export function reckonUsage(told: Usage | undefined, seen: SeenCall): Usage {
  const promptTokens = told?.promptTokens || Math.round(seen.promptTokens);
  const completionTokens = told?.completionTokens || estimateTokens(seen.said);
  const modelMs = told?.modelMs || Math.round(seen.ms);
  const estimated = promptTokens !== told?.promptTokens || completionTokens !== told.completionTokens;
  return { promptTokens, completionTokens, modelMs, ...(estimated && { estimated }) };
}

/** Watches the chunks of one call. */
export interface CallMeter {
  see(chunk: ChatChunk): void;
  /** What it cost so far; undefined until the model has begun. */
  spent(): Usage | undefined;
}

/** Makes the meter of a call that began at `since`, by `performance.now()`. */
export function meterCall(
  request: ChatRequest,
  toolTokens: number,
  since: number = performance.now(),
): CallMeter {
  const parts: string[] = [];
  let told: Usage | undefined;
  let heard = false;
  return {
    see(chunk) {
      heard = true;
      if (chunk.type === 'done') told = chunk.usage;
      else parts.push(chunk.type === 'tool_call' ? JSON.stringify(chunk.call.args) : chunk.delta);
    },
    spent() {
      if (!heard) return undefined;
      const words = request.messages.map(({ content }) => content).join('');
      const promptTokens = estimateTokens(words) + toolTokens;
      return reckonUsage(told, { promptTokens, said: parts.join(''), ms: performance.now() - since });
    },
  };
}

/**
 * Writes down what no row tells of a turn that is left here and taken up elsewhere: its end will not know. Throws
 * `StoreError`.
 */
export async function recordUnreported(
  ledger: Pick<Ledger, 'noteUsage'>,
  { turnId, parentTurnId, sessionKey: session, userId, costs }: TurnIdentity & Pick<TurnProgress, 'costs'>,
): Promise<void> {
  const whose = { turnId: parentTurnId ?? turnId, session, userId };
  const purpose = parentTurnId === undefined ? 'turn' : 'subagent';
  for (const spent of costs.take().spent ?? []) await ledger.noteUsage({ ...spent, ...whose, purpose });
}

/**
 * What a turn's calls cost, by model: its answers and what was spent beside them, those from before a crash included.
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
 * What a turn's calls cost that leave no answer in its journal: broken ones, corrections, explanations, summaries. The
 * next row that is journaled anyway takes along what no row tells yet, so a death loses the calls since that row, and
 * nothing is told twice.
 */
export class UnjournaledUsage {
  readonly #all: ModelUsage[];
  /** So many of them stand in the journal, or elsewhere. */
  #told: number;

  /** Goes on where a journal stands. */
  constructor(journal: readonly { entry: ContextEntry }[] = []) {
    this.#all = journal.flatMap(({ entry }) => ('spent' in entry ? (entry.spent ?? []) : []));
    this.#told = this.#all.length;
  }

  add(spent: ModelUsage): void {
    this.#all.push(spent);
  }

  /** Those of the journal included. */
  get all(): readonly ModelUsage[] {
    return this.#all;
  }

  /** What no row tells yet, by model, for a row that is journaled next; then one does. */
  take(): { spent?: ModelUsage[] } {
    const spent = sumByModel(this.#all.slice(this.#told));
    this.#told = this.#all.length;
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
