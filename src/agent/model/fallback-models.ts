/** The models of a profile that answer while its own cannot. */
import { ProviderError } from '../../contracts/errors.ts';
import type { ProviderErrorCode } from '../../contracts/errors.ts';
import type { EventBody } from '../../contracts/event.ts';
import type { Log } from '../../contracts/log.ts';
import type { SessionKey } from '../../contracts/message.ts';
import type { Profile } from '../../contracts/profile.ts';
import { Recent } from '../../lib/recent.ts';

/** Failures of one model that say nothing about another. */
const OF_THIS_MODEL: ReadonlySet<ProviderErrorCode> = new Set([
  'unavailable',
  'rate_limited',
  'quota_exceeded',
  'unauthorized',
  'unknown_model',
  'timeout_first_chunk',
]);
/** A conversation reads of the same change again after this time, in milliseconds. */
const SAID_FOR_MS = 3_600_000;
/** Changes remembered at a time. */
const MAX_SAID = 10_000;

/** The parts of a turn that are read and changed. */
interface Failing {
  readonly sessionKey: SessionKey;
  readonly profile: Pick<Profile, 'fallbacks'>;
  readonly askedModel?: string | undefined;
  readonly log: Log;
  model?: string | undefined;
  triedModels?: readonly string[] | undefined;
}

type Emit = (event: EventBody) => void;

/** Chooses the next model of a turn whose model failed. */
export class FallbackModels {
  readonly #said: Recent<true>;

  /** `monotonicNow` is a clock in milliseconds. */
  constructor(monotonicNow: () => number = () => performance.now()) {
    this.#said = new Recent(SAID_FOR_MS, MAX_SAID, monotonicNow);
  }

  /**
   * Gives the turn the next model of its profile that it has not tried, and says so once; false when there is none, when the
   * message asked for a model by name, or when the answer had begun. A chain that comes back to itself ends there.
   */
  change(turn: Failing, { error, begun }: { error: unknown; begun: boolean }, emit: Emit): boolean {
    if (begun || turn.askedModel !== undefined) return false;
    if (!(error instanceof ProviderError) || !OF_THIS_MODEL.has(error.code)) return false;
    const from = turn.model ?? '';
    turn.triedModels = [...(turn.triedModels ?? []), from];
    const next = turn.profile.fallbacks.find((model) => turn.triedModels?.includes(model) !== true);
    if (next === undefined) return false;
    turn.model = next;
    turn.log.warn({ err: error, model: from, instead: next }, 'model_changed');
    this.#say(turn.sessionKey, from, next, emit);
    return true;
  }

  #say(session: SessionKey, from: string, next: string, emit: Emit): void {
    const key = JSON.stringify([session, from, next]);
    if (this.#said.get(key) !== undefined) return;
    this.#said.set(key, true);
    const who = from === '' ? 'The usual model' : `The model ${from}`;
    emit({
      type: 'notice',
      code: 'model_changed',
      text: `${who} cannot answer now; ${next} answers instead.`,
    });
  }
}
