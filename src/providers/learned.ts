/** What was learned about a server's models: parts of a request that it refuses are left out for a while. */
import type { ModelOmissions, Omission } from '../protocol/agent/omissions.ts';
import { Recent } from '../lib/recent.ts';

/** Models of one server that are remembered; one more forgets the oldest. */
export const MAX_LEARNED_MODELS = 256;
/** Parts remembered per model; one more forgets the oldest. */
export const MAX_OMISSIONS = 64;
/** How long a part is left out the first time, in milliseconds: each further time twice as long, up to the longest. */
export const FIRST_OMISSION_MS = 60_000;
export const LONGEST_OMISSION_MS = 60 * 60_000;
/** How long after that it is still known to have been refused, so that the next time it is left out for longer. */
export const RECALLED_MS = 60 * 60_000;
/** Pictures of one server that are remembered as unreadable, and for how long, in milliseconds. */
export const MAX_UNREADABLE = 1_024;
export const UNREADABLE_MS = 24 * 60 * 60_000;

/** What is known about one model besides what its server reports. */
export interface ModelHabits {
  /** Its answers begin in the middle of a thought: the opening tag is part of its template, not of the answer. */
  startsInThought: boolean;
  /** Parts of a request that it refuses, and how long each is left out. */
  readonly omissions: RefusedParts;
  /** The field in which it sent its thoughts. */
  thoughtField: string | undefined;
  /** Its template drops the thoughts of earlier turns: it is served by llama-server or vLLM. */
  dropsThoughts: boolean;
  /** Its server says when an answer is complete: one without such an end is cut. */
  marksEnds: boolean;
  /** Words for the end of an answer that nobody knows, as far as they were reported. */
  readonly unknownReasons: Set<string>;
}

export interface LearnedModels {
  /** The habits of a model, to be read and changed. Never throws. */
  of(model: string): ModelHabits;
  /** Its clock, in milliseconds. */
  readonly monotonicNow: () => number;
  /** The models that refuse something now. */
  omissions(): readonly ModelOmissions[];
  /** Digests of pictures that the server could not read. */
  readonly unreadable: Recent<true>;
}

interface RefusedPart {
  /** Until when it is left out, and for how long in all. */
  until: number;
  ms: number;
}

/** The parts that one model refuses; those whose time is over are sent again. */
export class RefusedParts {
  readonly model: string;
  readonly #parts = new Map<Omission, RefusedPart>();
  readonly #monotonicNow: () => number;
  readonly #onNote: () => void;

  /** `onNote` is called whenever something was noted. */
  constructor(model: string, monotonicNow: () => number, onNote: () => void) {
    this.model = model;
    this.#monotonicNow = monotonicNow;
    this.#onNote = onNote;
  }

  /** The parts that are left out now. */
  get current(): ReadonlySet<Omission> {
    if (this.#parts.size === 0) return NOTHING;
    const now = this.#monotonicNow();
    return new Set([...this.#parts].flatMap(([part, { until }]) => (until > now ? [part] : [])));
  }

  /** The parts that were left out once and are sent again now. */
  get previous(): Omission[] {
    this.#forget();
    const now = this.#monotonicNow();
    return [...this.#parts].flatMap(([part, { until }]) => (until > now ? [] : [part]));
  }

  /** Notes that a request was accepted only without these parts. */
  note(parts: Iterable<Omission>): void {
    this.#forget();
    const now = this.#monotonicNow();
    for (const part of parts) {
      const known = this.#parts.get(part);
      if (known !== undefined && known.until > now) continue;
      const ms = known === undefined ? FIRST_OMISSION_MS : Math.min(known.ms * 2, LONGEST_OMISSION_MS);
      this.#parts.delete(part);
      this.#parts.set(part, { until: now + ms, ms });
    }
    for (const part of this.#parts.keys()) {
      if (this.#parts.size <= MAX_OMISSIONS) break;
      this.#parts.delete(part);
    }
    this.#onNote();
  }

  #forget(): void {
    const now = this.#monotonicNow();
    for (const [part, { until }] of this.#parts) if (until + RECALLED_MS <= now) this.#parts.delete(part);
  }
}

const NOTHING: ReadonlySet<Omission> = new Set();

/** Makes the memory of one server; `monotonicNow` returns milliseconds. */
export function createLearnedModels(monotonicNow: () => number = () => performance.now()): LearnedModels {
  // Longer than any part is remembered since it was last noted.
  const ttlMs = LONGEST_OMISSION_MS + RECALLED_MS;
  const models = new Recent<ModelHabits>(ttlMs, MAX_LEARNED_MODELS, monotonicNow);
  return {
    monotonicNow,
    of(model) {
      const known = models.get(model);
      if (known !== undefined) return known;
      const omissions = new RefusedParts(model, monotonicNow, () => models.set(model, habits));
      const habits: ModelHabits = {
        startsInThought: false,
        omissions,
        thoughtField: undefined,
        dropsThoughts: false,
        marksEnds: false,
        unknownReasons: new Set(),
      };
      models.set(model, habits);
      return habits;
    },
    omissions: () =>
      models
        .values()
        .flatMap(({ omissions: { model, current } }) =>
          current.size === 0 ? [] : [{ model, omissions: [...current] }],
        ),
    unreadable: new Recent<true>(UNREADABLE_MS, MAX_UNREADABLE, monotonicNow),
  };
}
