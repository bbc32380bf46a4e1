/** A bot token that its platform refuses: when it is retried, what calls get until then, and the channel's health. */
import { Refusals } from '../lib/async/call-gate.ts';
import { DEAD_AFTER_MS, DEAD_INTERVAL_MS, type QuestionState } from './channel.ts';
import { ChannelError } from './errors.ts';
import type { ChannelHealth } from './gateway-api.ts';
import type { TextRef } from './texts/say.ts';
import { TtlCache } from '../lib/ttl-cache.ts';
import type { AskedQuestion } from './delivery.ts';

const WAITS = {
  firstMs: 5_000,
  capMs: 60_000,
  lastsAfterMs: DEAD_AFTER_MS,
  lastingMs: DEAD_INTERVAL_MS,
};

/** The refusals of one token, which starts as a valid one. */
export function tokenRefusals(monotonicMs: () => number): Refusals {
  return new Refusals(WAITS, monotonicMs);
}

/** The error of calls until the token is tried again; `message` says what to do. */
export function tokenRefused(refusals: Refusals, message: TextRef, cause?: unknown): ChannelError {
  const retryAfterMs = Math.max(1, refusals.leftMs);
  return new ChannelError('unauthorized', message, { retryable: true, retryAfterMs, cause });
}

/** Undefined while the token is valid. */
export function tokenHealth({ state }: Refusals, detail: TextRef): ChannelHealth | undefined {
  return state && { state: state === 'lasting' ? 'dead' : 'degraded', detail };
}

/** Questions whose reaction is remembered, and for how long in milliseconds. */
export const MAX_REACTIONS = 5_000;

const REMEMBERED_MS = 6 * 3_600_000;

/** The platform's name of the reaction for each state. */
export type StateReactions = Readonly<Record<Exclude<QuestionState, 'none'>, string>>;

interface SingleReactionsParts {
  reactions: StateReactions;
  /** Adds a reaction of the bot; one that already exists is not an error. */
  add: (question: AskedQuestion, emoji: string) => Promise<void>;
  /** Removes one; one that is gone, or never existed, is not an error. */
  takeAway: (question: AskedQuestion, emoji: string) => Promise<void>;
  /** Milliseconds of a monotonic clock. */
  monotonicNow: () => number;
}

/** Shows states of questions, each in place of the previous one. */
export class SingleReactions {
  readonly #parts: SingleReactionsParts;
  /** The bot's reactions to a question, as far as this process knows. */
  readonly #shown: TtlCache<readonly string[]>;

  constructor(parts: SingleReactionsParts) {
    this.#parts = parts;
    this.#shown = new TtlCache(REMEMBERED_MS, MAX_REACTIONS, parts.monotonicNow);
  }

  /** A question has arrived here: it has no reaction yet. */
  arrived(question: Pick<AskedQuestion, 'chatId' | 'messageId'>): void {
    const key = keyOf(question);
    if (this.#shown.get(key) === undefined) this.#shown.set(key, []);
  }

  /** Replaces the state that is shown. Throws what `add` and `takeAway` throw; called again, it continues from there. */
  async show(question: AskedQuestion, state: QuestionState): Promise<void> {
    const { reactions, add, takeAway } = this.#parts;
    const key = keyOf(question);
    const emoji = state === 'none' ? undefined : reactions[state];
    const isLast = state !== 'waiting' && state !== 'working';
    // Another node may have shown reactions before: those that may exist are removed with the last one.
    const before = this.#shown.get(key) ?? (isLast ? [reactions.waiting, reactions.working] : []);
    const old = before.filter((one) => one !== emoji);
    const isKnown = isLast || this.#shown.get(key) !== undefined;
    if (emoji !== undefined && !before.includes(emoji)) await add(question, emoji);
    const now = emoji === undefined ? [] : [emoji];
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
