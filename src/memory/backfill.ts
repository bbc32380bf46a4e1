/** Computes vectors of texts in the background: of new ones, and of all of them after a change of model. */
import type { MeterCall } from '../protocol/agent/budgets.ts';
import { ProviderError, toGatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import type { LLMProvider } from '../protocol/agent/provider.ts';
import type { Vector } from '../protocol/store/notes.ts';
import { pause } from '../lib/async/sleep.ts';

/** Texts per call to the model server. */
export const BACKFILL_BATCH = 32;
/** Longest wait for its answer, in milliseconds: it may have to load the model. */
const CALL_MS = 120_000;
/** Maximum number of dimensions of a vector. */
const MAX_DIMENSIONS = 8_192;
/** Pause after a failure, in milliseconds: the first, and the longest; it doubles. */
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 5 * 60_000;

export interface BackfillDeps {
  vectors: {
    /** Texts that have no vector of this model. */
    withoutVector(model: string, limit: number): Promise<{ id: number; text: string }[]>;
    setVectors(model: string, vectors: readonly { id: number; vector: Vector }[]): Promise<void>;
  };
  embed: LLMProvider['embed'];
  metered: MeterCall;
  /** The embedding model; undefined if none is set. */
  model(): string | undefined;
  /** What an operator can do when the model does not answer. */
  remedy(model: string | undefined): string;
  /** Names of its log lines. */
  events: { failed: string; embedded: string; tooLong: string };
  /** Calls per minute at most; absent = as many as there are. */
  callsPerMinute?: number;
  log: Log;
}

export interface Backfill {
  /** There may be texts without a vector; `now` skips the pause after a failure. Never throws, never waits. */
  wake(options?: { now: boolean }): void;
  /** Stops the work. Never throws; a second call does nothing. */
  close(): Promise<void>;
}

/** Creates the backfill; it is idle until it is woken. */
export function createBackfill(deps: BackfillDeps): Backfill {
  const closing = new AbortController();
  let running: Promise<void> | undefined;
  let isWanted = false;
  let retryPause = new AbortController();
  const run = async (): Promise<void> => {
    let pauseMs = 0;
    while (isWanted && !closing.signal.aborted) {
      isWanted = false;
      try {
        await fill(deps, closing.signal);
        pauseMs = 0;
      } catch (error) {
        if (closing.signal.aborted) return;
        pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, pauseMs * 2));
        const remedy = deps.remedy(deps.model());
        deps.log.warn({ err: toGatewayError(error), pauseMs, remedy }, deps.events.failed);
        isWanted = true;
        retryPause = new AbortController();
        await pause(pauseMs, AbortSignal.any([closing.signal, retryPause.signal]));
      }
    }
  };
  const wake: Backfill['wake'] = ({ now } = { now: false }) => {
    isWanted = true;
    if (now) retryPause.abort();
    if (closing.signal.aborted) return;
    running ??= run().finally(() => {
      running = undefined;
      // It was woken while it was ending.
      if (isWanted) wake();
    });
  };
  return {
    wake,
    async close() {
      closing.abort();
      await running;
    },
  };
}

/** Gives every text a vector of the current model. Throws `ProviderError`, `StoreError`. */
async function fill(deps: BackfillDeps, closing: AbortSignal): Promise<void> {
  for (;;) {
    const model = deps.model();
    if (model === undefined || closing.aborted) return;
    const texts = await deps.vectors.withoutVector(model, BACKFILL_BATCH);
    if (texts.length === 0) return;
    const signal = AbortSignal.any([closing, AbortSignal.timeout(CALL_MS)]);
    await deps.vectors.setVectors(model, await vectorsOf(deps, model, texts, signal));
    deps.log.debug({ model, texts: texts.length }, deps.events.embedded);
    if (deps.callsPerMinute !== undefined) await pause(60_000 / deps.callsPerMinute, closing);
  }
}

async function vectorsOf(
  deps: BackfillDeps,
  model: string,
  texts: readonly { id: number; text: string }[],
  signal: AbortSignal,
): Promise<{ id: number; vector: Int8Array }[]> {
  try {
    const input = texts.map(({ text }) => text);
    const call = { purpose: 'embedding', model, input: input.join('') } as const;
    const { vectors } = await deps.metered(call, () => deps.embed({ model, input }, signal));
    return texts.map(({ id }, index) => ({ id, vector: toVector(vectors[index] ?? []) }));
  } catch (error) {
    if (!(error instanceof ProviderError) || error.code !== 'context_overflow') throw error;
    const [only] = texts;
    if (texts.length > 1 || only === undefined) {
      const singly = [];
      for (const text of texts) singly.push(...(await vectorsOf(deps, model, [text], signal)));
      return singly;
    }
    // Found only by its words: an empty vector keeps it from being requested over and over.
    deps.log.info({ model, id: only.id }, deps.events.tooLong);
    return [{ id: only.id, vector: new Int8Array() }];
  }
}

/** The direction of a model's vector. Throws `ProviderError('bad_response')` for an invalid one. */
export function toVector(numbers: readonly number[]): Vector {
  const largest = numbers.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
  if (numbers.length === 0 || numbers.length > MAX_DIMENSIONS || !Number.isFinite(largest)) {
    throw new ProviderError(
      'bad_response',
      `The embedding model gave a vector of ${numbers.length} dimensions; 1 to ${MAX_DIMENSIONS} finite numbers are read.`,
    );
  }
  return Int8Array.from(numbers, (one) => (largest === 0 ? 0 : Math.round((one / largest) * 127)));
}
