/**
 * What is sent next after a refusal: a model server that refuses a request is asked again with less of it, one step a
 * call, until it accepts or nothing is left to try.
 */
import { isDeepStrictEqual } from 'node:util';
import { fieldOf, type Omission } from '../../protocol/agent/omissions.ts';
import type { ModelHabits } from '../learned.ts';
import { ProviderError, messageOf } from '../../protocol/errors.ts';
import type { RefusalError } from '../refusals.ts';
import { type RefusedCall, rungsFor, saysBlind } from './rungs.ts';

/** Calls in all for one answer. */
export const MAX_LADDER_CALLS = 18;
/** How long after the first refusal another one is still answered by a further call, in milliseconds. */
export const LADDER_MS = 20_000;
/** Pause before a server that reported a failure is asked whether it says the same again, in milliseconds. */
const SAME_AGAIN_MS = 250;

/** What the ladder needs of the call that it repeats. */
export interface Climb {
  habits: Pick<ModelHabits, 'omissions'>;
  /** What would be sent without these parts. */
  callFor(omitted: ReadonlySet<Omission>): RefusedCall;
  monotonicNow(): number;
}

/** The next call. */
export interface NextCall {
  omitted: ReadonlySet<Omission>;
  /** The pause before it. */
  waitMs: number;
}

/**
 * The steps of one answer. A part that changed nothing is put back; when the server refuses in other words, the part
 * was one of several causes, and stays out.
 */
export class Ladder {
  readonly #climb: Climb;
  readonly #inEffect: ReadonlySet<Omission>;
  /** Left out in every further call. */
  #base: ReadonlySet<Omission>;
  #omitted: ReadonlySet<Omission>;
  #rungs: Omission[][] = [];
  #sent: Readonly<Record<string, unknown>>[] = [];
  #first: { error: RefusalError; at: number } | undefined;
  #words: string | undefined;
  #confirmed = false;
  #calls = 1;

  constructor(climb: Climb) {
    this.#climb = climb;
    this.#inEffect = climb.habits.omissions.current;
    this.#base = this.#inEffect;
    this.#omitted = this.#inEffect;
  }

  /** The parts that are left out of the current call. */
  get omitted(): ReadonlySet<Omission> {
    return this.#omitted;
  }

  /** The parts that are left out of the current call, and were not when the first was made. */
  get added(): Omission[] {
    return [...this.#omitted].filter((part) => !this.#inEffect.has(part));
  }

  /** Whether the server says that the model sees no pictures, rather than that it could not read these. */
  get blind(): boolean {
    return this.#first !== undefined && saysBlind(this.#first.error.reason);
  }

  /** The call after a refusal. Throws the error of the answer when there is nothing left to try. */
  next(error: RefusalError): NextCall {
    const now = this.#climb.monotonicNow();
    const words = wordsOf(error);
    this.#first ??= { error, at: now };
    if (error.isFailure && !this.#confirmed) {
      if (this.#words === undefined) {
        this.#words = words;
        this.#calls += 1;
        return { omitted: this.#omitted, waitMs: SAME_AGAIN_MS };
      }
      // Another failure each time is an outage, and passes.
      if (words !== this.#words) throw error;
      this.#confirmed = true;
      this.#words = undefined;
    }
    if (words !== this.#words) this.#turnTo(error);
    this.#words = words;
    if (this.#calls < MAX_LADDER_CALLS && now - this.#first.at < LADDER_MS) {
      const omitted = this.#step();
      if (omitted !== undefined) {
        this.#omitted = omitted;
        this.#calls += 1;
        return { omitted, waitMs: 0 };
      }
    }
    throw finalError(this.#first.error);
  }

  /** Begins again with the rungs for other words; what is left out by now helped against those before. */
  #turnTo(error: RefusalError): void {
    const isFirst = this.#rungs.length === 0 && this.#sent.length === 0;
    if (!isFirst) this.#base = this.#omitted;
    const call = this.#climb.callFor(this.#base);
    this.#sent.push(call.body);
    const previous = this.#climb.habits.omissions.previous;
    this.#rungs = [...(isFirst && previous.length > 0 ? [previous] : []), ...rungsFor(call, error.reason)];
  }

  /** The next step that changes what is sent. */
  #step(): ReadonlySet<Omission> | undefined {
    for (let rung = this.#rungs.shift(); rung !== undefined; rung = this.#rungs.shift()) {
      const omitted = new Set([...this.#base, ...rung]);
      const { body } = this.#climb.callFor(omitted);
      if (this.#sent.some((other) => isDeepStrictEqual(other, body))) continue;
      this.#sent.push(body);
      return omitted;
    }
    return undefined;
  }
}

/** The body without the fields that are left out; the same object when there are none. */
export function withoutFields<Body extends object>(
  body: Body,
  omitted: ReadonlySet<Omission>,
): Partial<Body> {
  const fields = new Set([...omitted].flatMap((part) => fieldOf(part) ?? []));
  if (fields.size === 0) return body;
  const left: Partial<Body> = {};
  for (const field in body) if (!fields.has(field)) left[field] = body[field];
  return left;
}

/** The words without what changes between two equal refusals: numbers, and ids of requests. */
function wordsOf({ reason }: RefusalError): string {
  return reason.replaceAll(/[\w-]+/g, (word) => (/\d/.test(word) ? '#' : word));
}

/** A refusal that nothing helped against will not pass: the same call is not repeated. */
function finalError(error: RefusalError): ProviderError {
  if (!error.retryable) return error;
  return new ProviderError(error.code, messageOf(error), { cause: error });
}
