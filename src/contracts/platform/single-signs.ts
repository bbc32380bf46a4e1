/** Signs on questions on platforms where each sign is a separate reaction: people see one at a time. */
import { Recent } from '../../lib/recent.ts';
import type { QuestionState } from '../channel.ts';
import type { AskedQuestion } from '../delivery.ts';

/** Questions whose sign is remembered, and for how long in milliseconds. */
export const MAX_SIGNS = 5_000;
const REMEMBERED_MS = 6 * 3_600_000;

/** The platform's name of the reaction for each state. */
export type Signs = Readonly<Record<Exclude<QuestionState, 'none'>, string>>;

export interface SingleSignsParts {
  signs: Signs;
  /** Adds a reaction of the bot; one that already exists is not an error. */
  add: (question: AskedQuestion, sign: string) => Promise<void>;
  /** Removes one; one that is gone, or never existed, is not an error. */
  takeAway: (question: AskedQuestion, sign: string) => Promise<void>;
  /** Milliseconds of a monotonic clock. */
  monotonicNow: () => number;
}

/** Shows states of questions, each in place of the previous one. */
export class SingleSigns {
  readonly #parts: SingleSignsParts;
  /** The bot's reactions to a question, as far as this process knows. */
  readonly #shown: Recent<readonly string[]>;

  constructor(parts: SingleSignsParts) {
    this.#parts = parts;
    this.#shown = new Recent(REMEMBERED_MS, MAX_SIGNS, parts.monotonicNow);
  }

  /** A question has arrived here: it has no sign yet. */
  arrived(question: Pick<AskedQuestion, 'chatId' | 'messageId'>): void {
    const key = keyOf(question);
    if (this.#shown.get(key) === undefined) this.#shown.set(key, []);
  }

  /**
   * Shows a state in place of the previous one. Throws what `add` and `takeAway` throw; when called again, it continues
   * from there.
   */
  async show(question: AskedQuestion, state: QuestionState): Promise<void> {
    const { signs, add, takeAway } = this.#parts;
    const key = keyOf(question);
    const sign = state === 'none' ? undefined : signs[state];
    const isLast = state !== 'waiting' && state !== 'working';
    // Another node may have shown the signs before: those that may exist are removed with the last one.
    const before = this.#shown.get(key) ?? (isLast ? [signs.waiting, signs.working] : []);
    const old = before.filter((one) => one !== sign);
    const isKnown = isLast || this.#shown.get(key) !== undefined;
    if (sign !== undefined && !before.includes(sign)) await add(question, sign);
    const now = sign === undefined ? [] : [sign];
    if (isKnown) this.#shown.set(key, [...old, ...now]);
    for (const [at, one] of old.entries()) {
      await takeAway(question, one);
      if (isKnown) this.#shown.set(key, [...old.slice(at + 1), ...now]);
    }
  }
}

function keyOf({ chatId, messageId }: Pick<AskedQuestion, 'chatId' | 'messageId'>): string {
  return `${chatId} ${messageId}`;
}
