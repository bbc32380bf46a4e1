/** What was learned about a server's models: parts of a request that it refused are left out from then on. */
import { Recent } from '../lib/recent.ts';
import type { RefusedFeature } from './refusals.ts';

/** Models of one server that are remembered; one more forgets the oldest. */
export const MAX_LEARNED_MODELS = 256;
/** How long it is remembered, in milliseconds: a server may restart with other settings. */
export const LEARNED_TTL_MS = 60 * 60_000;

/** What is known about one model besides what its server reports. */
export interface ModelHabits {
  /** Parts of a request that it refuses. */
  readonly refused: Set<RefusedFeature>;
  /** Its answers begin in the middle of a thought: the opening tag is part of its template, not of the answer. */
  startsInThought: boolean;
  /** Its server says when an answer is complete: one without such an end is cut. */
  marksEnds: boolean;
  /** Words for the end of an answer that nobody knows, as far as they were reported. */
  readonly unknownReasons: Set<string>;
}

export interface LearnedModels {
  /** The habits of a model, to be read and changed. Never throws. */
  of(model: string): ModelHabits;
}

/** Makes the memory of one server; `monotonicNow` returns milliseconds. */
export function createLearnedModels(monotonicNow: () => number = () => performance.now()): LearnedModels {
  const models = new Recent<ModelHabits>(LEARNED_TTL_MS, MAX_LEARNED_MODELS, monotonicNow);
  return {
    of(model) {
      const known = models.get(model);
      if (known !== undefined) return known;
      const habits: ModelHabits = {
        refused: new Set(),
        startsInThought: false,
        marksEnds: false,
        unknownReasons: new Set(),
      };
      models.set(model, habits);
      return habits;
    },
  };
}
