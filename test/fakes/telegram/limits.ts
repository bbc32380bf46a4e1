/** Telegram's unpublished flood limits, and the proof that no one called again before `retry_after` was over. */
import { type Refusal, tooManyRequests } from './refusal.ts';

/** Limits on what changes a chat (sends and edits); times in milliseconds. */
export interface FloodLimits {
  /** One call per this period in a private chat. */
  privateMs: number;
  /** Calls per minute in a group. */
  groupPerMinute: number;
  /** Calls per second over all chats. */
  perSecond: number;
}

/** What users of the Bot API report (1/s per chat, 20/min per group, 30/s in total). */
export const KNOWN_LIMITS: FloodLimits = { privateMs: 1_000, groupPerMinute: 20, perSecond: 30 };

/** Timers of the caller may fire this much too early, in milliseconds. */
const TOLERANCE_MS = 20;

/** Keeps the windows; one per fake server. */
export class FloodControl {
  /** Calls that came before their pause was over; a test with one fails when the fake closes. */
  readonly violations: string[] = [];
  /** Calls that were refused. */
  refused = 0;
  readonly #limits: FloodLimits | undefined;
  readonly #paused = new Map<string, number>();
  readonly #recent = new Map<string, number[]>();
  #overall: number[] = [];
  #forced: number[] = [];

  constructor(limits: FloodLimits | undefined) {
    this.#limits = limits;
  }

  /** The next call is refused with this pause. */
  force(retryAfterMs: number): void {
    this.#forced.push(retryAfterMs);
  }

  /** Counts a call, or throws 429 and pauses the chat. */
  admit(method: string, chatId: string, isGroup: boolean): void {
    this.assertPatient(method, chatId);
    const wait = this.#forced.shift() ?? this.#overLimit(chatId, isGroup, performance.now());
    if (wait > 0) throw this.pause(chatId, wait);
  }

  /** Records a call that came before its pause was over, and throws 429 again. `key` is a chat, or a method. */
  assertPatient(method: string, key: string): void {
    const left = (this.#paused.get(key) ?? 0) - performance.now();
    if (left <= 0) {
      this.#paused.delete(key);
      return;
    }
    this.refused += 1;
    if (left > TOLERANCE_MS)
      this.violations.push(`${method} for ${key} came ${Math.round(left)} ms too early`);
    throw tooManyRequests(left);
  }

  /** Pauses a chat or a method; returns the refusal. */
  pause(key: string, waitMs: number): Refusal {
    this.refused += 1;
    const refusal = tooManyRequests(waitMs);
    this.#paused.set(key, performance.now() + (refusal.parameters?.['retry_after'] ?? 0) * 1_000);
    return refusal;
  }

  /** How long the call is over a limit, in milliseconds; 0 if it was counted. */
  #overLimit(chatId: string, isGroup: boolean, now: number): number {
    const limits = this.#limits;
    if (!limits) return 0;
    const windowMs = isGroup ? 60_000 : limits.privateMs;
    const allowed = isGroup ? limits.groupPerMinute : 1;
    const calls = (this.#recent.get(chatId) ?? []).filter((at) => now - at < windowMs - TOLERANCE_MS);
    this.#overall = this.#overall.filter((at) => now - at < 1_000);
    const first = calls.at(-allowed);
    if (first !== undefined) return windowMs - (now - first);
    const firstOverall = this.#overall.at(-limits.perSecond);
    if (firstOverall !== undefined) return 1_000 - (now - firstOverall);
    calls.push(now);
    this.#recent.set(chatId, calls);
    this.#overall.push(now);
    return 0;
  }
}
