/** Limits of the fake channel's platform, which the bot learns only from refusals. */
import { Bucket, type BucketLimit } from '../matrix/bucket.ts';

/** Limits that the bot does not know. */
export interface HiddenLimits {
  /** Minimum time between two calls in a chat. */
  chatIntervalMs(chatId: string): number;
  /** Maximum calls of the whole bot in any second. */
  callsPerSecond(nowMs: number): number;
  /** The pause that a refusal of the whole bot's rate asks for; a second by default. */
  retryAfterMs?: number;
  /** Such a refusal applies to every call until the pause is over. */
  bansBot?: boolean;
  /** What counts the calls of the whole bot that show something; a refusal names the wait for the next one. */
  bucket?: BucketLimit;
}

/** Times are those of the calls, in milliseconds. */
export class PlatformLimits {
  readonly #limits: HiddenLimits;
  readonly #bucket: Bucket | undefined;
  readonly #chatCalls = new Map<string, number>();
  #recent: number[] = [];
  #bannedUntil = 0;

  constructor(limits: HiddenLimits) {
    this.#limits = limits;
    this.#bucket = limits.bucket && new Bucket(limits.bucket);
  }

  /** Counts a call; undefined if it may pass. `shows`: it is not typing. */
  refusal(shows: boolean, chatId: string, at: number): { retryAfterMs: number; global?: true } | undefined {
    const limits = this.#limits;
    this.#recent = this.#recent.filter((time) => at - time < 1_000);
    const gap = at - (this.#chatCalls.get(chatId) ?? Number.NEGATIVE_INFINITY);
    const waitMs = limits.chatIntervalMs(chatId) - gap;
    if (shows && waitMs > 0) return { retryAfterMs: waitMs };
    const pauseMs = limits.retryAfterMs ?? 1_000;
    if (at < this.#bannedUntil) return { retryAfterMs: this.#bannedUntil - at };
    if (this.#recent.length >= limits.callsPerSecond(at)) {
      if (limits.bansBot === true) this.#bannedUntil = at + pauseMs;
      return { retryAfterMs: pauseMs };
    }
    const refillMs = (shows && this.#bucket?.take(at)) || 0;
    if (refillMs > 0) return { retryAfterMs: refillMs, global: true };
    this.#recent.push(at);
    if (shows) this.#chatCalls.set(chatId, at);
    return undefined;
  }
}
