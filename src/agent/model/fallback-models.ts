/** The models of a profile that answer while its own cannot, and which one answers for which right now. */
import { ProviderError, type ProviderErrorCode } from '../../protocol/errors.ts';
import type { EventBody } from '../../protocol/event.ts';
import type { Log } from '../../protocol/log.ts';
import type { SessionKey } from '../../protocol/message.ts';
import type { ReplacedModel } from '../../protocol/agent/provider.ts';
import { TtlCache } from '../../lib/ttl-cache.ts';
import { inEnglish, type PlainKey, type Say } from '../../protocol/texts/say.ts';

/** Failures of one model that say nothing about another, as the end of "the model …". */
const REASONS: Readonly<Partial<Record<ProviderErrorCode, PlainKey>>> = {
  unavailable: 'model_fails.unavailable',
  out_of_memory: 'model_fails.out_of_memory',
  rate_limited: 'model_fails.rate_limited',
  quota_exceeded: 'model_fails.quota_exceeded',
  unauthorized: 'model_fails.unauthorized',
  unknown_model: 'model_fails.unknown_model',
  timeout_first_chunk: 'model_fails.timeout_first_chunk',
};
/** A change is forgotten after this time, in milliseconds: then a conversation is notified of it again. */
const KEPT_MS = 3_600_000;
/** Conversations that were notified of changes, and models that did not answer, remembered at once. */
const MAX_NOTIFIED = 10_000;
const MAX_FAILED = 1_000;

/** The parts of a turn that are read and changed. */
export interface Failing {
  readonly sessionKey: SessionKey;
  readonly profile: { readonly fallbacks: readonly string[] };
  readonly askedModel?: string | undefined;
  readonly log: Log;
  model?: string | undefined;
  triedModels?: readonly string[] | undefined;
  /** Says what its conversation is notified of; default: in English. */
  readonly say?: Say | undefined;
}

/** A model that failed, and why. */
interface Failed {
  model: string;
  instead: string;
  reasonKey: PlainKey;
}

type Emit = (event: EventBody) => void;

/** Chooses the next model of a turn whose model failed, and remembers who answers. */
export class FallbackModels {
  /** By the model that failed. */
  readonly #failed: TtlCache<Failed>;
  /** The changes that a conversation was notified of, `from` to `next`. */
  readonly #notified: TtlCache<Map<string, string>>;

  /** `monotonicNow` is a clock in milliseconds. */
  constructor(monotonicNow: () => number = () => performance.now()) {
    this.#failed = new TtlCache(KEPT_MS, MAX_FAILED, monotonicNow);
    this.#notified = new TtlCache(KEPT_MS, MAX_NOTIFIED, monotonicNow);
  }

  /**
   * Gives the turn the next model of its profile that it has not tried, and says so once; false when there is none,
   * when the message asked for a model by name, or when the answer had begun. A chain that leads back to itself ends
   * there.
   */
  change(
    turn: Failing,
    { error, begun: hasOutput }: { error: unknown; begun: boolean },
    emit: Emit,
  ): boolean {
    if (hasOutput || turn.askedModel !== undefined) return false;
    const reasonKey = error instanceof ProviderError ? REASONS[error.code] : undefined;
    if (reasonKey === undefined) return false;
    const from = turn.model ?? '';
    turn.triedModels = [...(turn.triedModels ?? []), from];
    const next = turn.profile.fallbacks.find((model) => turn.triedModels?.includes(model) !== true);
    if (next === undefined) return false;
    turn.model = next;
    turn.log.warn({ err: error, model: from, instead: next }, 'model_changed');
    const entry = { model: from, instead: next, reasonKey };
    this.#failed.set(from, entry);
    this.#say(turn, entry, emit);
    return true;
  }

  /** Notes that the turn's model has answered, and says so if the conversation was notified that it could not. */
  answered(turn: Failing, emit: Emit): void {
    const model = turn.model ?? '';
    this.#failed.delete(model);
    const notified = this.#notified.get(turn.sessionKey);
    if (notified?.delete(model) !== true || turn.triedModels !== undefined) return;
    emit({
      type: 'notice',
      code: 'model_changed',
      text: (turn.say ?? inEnglish)('turn.model_back', { model }),
    });
  }

  /**
   * Who answers for this model, at the end of its chain, and why it does not itself; undefined while nothing is known
   * against it.
   */
  insteadOf(model: string): Failed | undefined {
    const first = this.#failed.get(model);
    const visited = new Set([model]);
    let last = first;
    while (last !== undefined && !visited.has(last.instead)) {
      visited.add(last.instead);
      const next = this.#failed.get(last.instead);
      if (next === undefined) break;
      last = next;
    }
    return first && last && { ...first, instead: last.instead };
  }

  /** Every model that another one answers for. */
  replaced(): ReplacedModel[] {
    return this.#failed.values().flatMap(({ model }) => {
      const substitute = this.insteadOf(model);
      return substitute === undefined
        ? []
        : [{ model, instead: substitute.instead, reason: inEnglish(substitute.reasonKey) }];
    });
  }

  #say(
    { sessionKey: session, say = inEnglish }: Failing,
    { model, instead, reasonKey }: Failed,
    emit: Emit,
  ): void {
    const notified = this.#notified.get(session) ?? new Map<string, string>();
    if (notified.get(model) === instead) return;
    this.#notified.set(session, notified.set(model, instead));
    const text =
      model === ''
        ? say('turn.default_instead', { why: say(reasonKey), instead })
        : say('turn.model_instead', { model, why: say(reasonKey), instead });
    emit({ type: 'notice', code: 'model_changed', text });
  }
}
