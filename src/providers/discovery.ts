/** A cache of what models can do, as reported by their server. */
import { ProviderError } from '../protocol/errors.ts';
import { textRef } from '../protocol/texts/say.ts';
import type { ChatRequest, ModelCapabilities } from '../protocol/agent/provider.ts';
import { TtlCache } from '../lib/ttl-cache.ts';
import { estimateTokens } from '../lib/text.ts';
import type { ModelOmissions, Omission } from '../protocol/agent/omissions.ts';

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
  thoughtField: string | undefined;
  /** Its template drops the thoughts of earlier turns: it is served by llama-server or vLLM. */
  dropsThoughts: boolean;
  /** Its server says when an answer is complete: one without such an end is cut. */
  marksEnds: boolean;
  /** Words for the end of an answer that nobody knows, as far as they were reported. */
  readonly unknownReasons: Set<string>;
}

export type LearnedModels = ReturnType<typeof createLearnedModels>;

interface RefusedPart {
  /** Until when it is left out, and for how long in all. */
  until: number;
  ms: number;
}

/** The parts that one model refuses; those whose time has passed are sent again. */
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
      const refusedPart = this.#parts.get(part);
      if (refusedPart !== undefined && refusedPart.until > now) continue;
      const ms =
        refusedPart === undefined ? FIRST_OMISSION_MS : Math.min(refusedPart.ms * 2, LONGEST_OMISSION_MS);
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

/** How long a window counts that a refusal has shown, in milliseconds: a server may restart with other settings. */
export const LEARNED_WINDOW_MS = 60 * 60_000;
/** How long a capability is cached (B-26), in milliseconds. */
export const DISCOVERY_TTL_MS = 5 * 60_000;
/** How long a server may take to list its models or describe one, in milliseconds. */
export const DISCOVERY_TIMEOUT_MS = 10_000;
/** The context window of a model that does not report its own, in tokens. */
export const UNKNOWN_WINDOW = 16_384;
/** The smallest window that is concluded from a refused prompt, in tokens: a slip of the server must not mute a model. */
export const MIN_LEARNED_WINDOW = 1_024;

export interface Discovery {
  /** What the model can do; concurrent callers share one request. Throws `ProviderError`. */
  capabilities: (model: string, signal: AbortSignal) => Promise<ModelCapabilities>;
  /**
   * The prompt was too long, and the refusal may have named the window: the next call asks the server again, and for an
   * hour the window is at most that, or smaller than the prompt if nobody names one (B-11).
   */
  overflowed: (request: ChatRequest, named: number | undefined) => void;
}

/** A window that a refusal has shown; `guessed` = it only is smaller than the prompt that was refused. */
interface LearnedWindow {
  tokens: number;
  guessed: boolean;
}

/** Caches what `discover` finds; failures are not cached, so only models the server knows are. */
export function createDiscovery(
  discover: (model: string) => Promise<ModelCapabilities>,
  monotonicNow: () => number = () => performance.now(),
): Discovery {
  const discovered = new Map<string, { at: number; found: Promise<ModelCapabilities> }>();
  const windows = new TtlCache<LearnedWindow>(LEARNED_WINDOW_MS, MAX_LEARNED_MODELS, monotonicNow);
  const find = (model: string): Promise<ModelCapabilities> => {
    const cached = discovered.get(model);
    if (cached !== undefined && monotonicNow() - cached.at < DISCOVERY_TTL_MS) return cached.found;
    const entry = { at: monotonicNow(), found: discover(model) };
    discovered.set(model, entry);
    entry.found.catch(() => {
      if (discovered.get(model) === entry) discovered.delete(model);
    });
    return entry.found;
  };
  return {
    async capabilities(model, signal) {
      // Not under the caller's signal: concurrent callers share this answer.
      return within(await untilAborted(find(model), signal), windows.get(model));
    },
    overflowed(request, namedWindow) {
      const { model } = request;
      discovered.delete(model);
      // Refused within the window that was asked for: only the count of its tokens was wrong.
      if (namedWindow !== undefined && namedWindow >= request.contextWindow) return;
      const tokens = namedWindow ?? Math.max(MIN_LEARNED_WINDOW, promptTokens(request));
      const smallest = windows.get(model)?.tokens ?? Infinity;
      windows.set(model, {
        tokens: namedWindow ?? Math.min(tokens, smallest),
        guessed: namedWindow === undefined,
      });
    },
  };
}

function within(can: ModelCapabilities, limit: LearnedWindow | undefined): ModelCapabilities {
  if (limit === undefined || (limit.guessed && can.windowGuessed !== true)) return can;
  const { windowGuessed: _, ...certain } = can;
  return { ...certain, contextWindow: Math.min(can.contextWindow, limit.tokens) };
}

/** Estimated tokens of a prompt, without its pictures. */
function promptTokens({ messages, tools = [] }: ChatRequest): number {
  const texts = messages.map((message) => {
    const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
    return message.content + (calls.length === 0 ? '' : JSON.stringify(calls));
  });
  return estimateTokens(texts.join('\n')) + (tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools)));
}

/** Resolves like a shared promise, but rejects as soon as the signal aborts. */
async function untilAborted<T>(shared: Promise<T>, signal: AbortSignal): Promise<T> {
  const abort = Promise.withResolvers<never>();
  const onAbort = (): void =>
    abort.reject(new ProviderError('aborted', textRef('provider.stopped'), { cause: signal.reason }));
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([shared, abort.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Makes the memory of one server; `monotonicNow` returns milliseconds. */
export function createLearnedModels(monotonicNow: () => number = () => performance.now()) {
  // Longer than any part is remembered since it was last noted.
  const ttlMs = LONGEST_OMISSION_MS + RECALLED_MS;
  const models = new TtlCache<ModelHabits>(ttlMs, MAX_LEARNED_MODELS, monotonicNow);
  return {
    monotonicNow,
    /** The habits of a model, to be read and changed. Never throws. */
    of(model: string): ModelHabits {
      const existing = models.get(model);
      if (existing !== undefined) return existing;
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
    /** The models that refuse something now. */
    omissions: (): readonly ModelOmissions[] =>
      models
        .values()
        .flatMap(({ omissions: { model, current } }) =>
          current.size === 0 ? [] : [{ model, omissions: [...current] }],
        ),
    /** Digests of pictures that the server could not read. */
    unreadable: new TtlCache<true>(UNREADABLE_MS, MAX_UNREADABLE, monotonicNow),
  };
}
