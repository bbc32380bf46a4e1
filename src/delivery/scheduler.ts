/** Schedules the calls to one bot's platform: finals first, edits newest-only, one at a time in a chat, never too fast. */
import { ChannelError, GatewayError, toGatewayError } from '../contracts/errors.ts';
import type { Clock } from '../lib/clock.ts';
import { RateLimit } from './rate-limit.ts';

/** Calls one bot makes per second at most: below Telegram's ~30 and Discord's 50; a platform that refuses lowers it. */
export const CALLS_PER_SECOND = 25;

/** Calls that may go out at once after a quiet moment: with the rate above never more than 29 in any second. */
const BOT_BURST = 4;

/** A final may follow an edit at once: the chat pauses afterwards. Not for a while after the platform has refused a call. */
const FINAL_BURST = 1;
const AFTER_REFUSAL_MS = 600_000;

/** This many chats refused within this time mean that the bot as a whole is too fast. */
const REFUSED_CHATS = 3;
const REFUSED_WITHIN_MS = 5_000;

/** A final waits in place for pauses up to this long in all; a longer one is left to its lane. */
export const MAX_FINAL_WAIT_MS = 60_000;

/** Pause after a refusal that names no time. */
const DEFAULT_PAUSE_MS = 3_000;

/** Something on screen that can bring itself up to date. */
export interface LiveEdit {
  /**
   * Makes at most one call that shows the newest state; true when there is more to show. Throws only
   * `ChannelError('rate_limited')`: it is asked again after the pause.
   */
  show(): Promise<boolean>;
}

interface Final {
  order: number;
  waitedMs: number;
  signal: AbortSignal;
  call(): Promise<false>;
  fail(error: GatewayError): void;
}

interface Chat {
  id: string;
  limit: RateLimit;
  busy: boolean;
  finals: Final[];
  /** Edits asked for, with the order they were asked in. */
  edits: Map<LiveEdit, number>;
}

/** The next call of a chat: its oldest final, else its oldest edit. */
type Choice = { chat: Chat; order: number } & (
  | { final: Final; edit: undefined }
  | { final: undefined; edit: LiveEdit }
);

export class Scheduler {
  /** All calls, and those answered "too fast": for the metrics. */
  readonly counts = { calls: 0, refused: 0 };
  readonly #clock: Clock;
  readonly #editIntervalMs: (chatId: string) => number;
  readonly #bot = new RateLimit(1_000 / CALLS_PER_SECOND);
  readonly #chats = new Map<string, Chat>();
  readonly #refusals = new Map<string, number>();
  #afterRefusalUntil = 0;
  #order = 0;
  #wake: { at: number; cancel: () => void } | undefined;

  constructor(clock: Clock, editIntervalMs: (chatId: string) => number) {
    this.#clock = clock;
    this.#editIntervalMs = editIntervalMs;
  }

  /** Number of chats that are remembered: those with work, and those whose rate limit is in use. */
  get chats(): number {
    return this.#chats.size;
  }

  /** Calls `edit.show` once more when its chat may be called next. Cheap to repeat. Never throws. */
  requestEdit(chatId: string, edit: LiveEdit): void {
    const chat = this.#chat(chatId);
    if (chat.edits.has(edit)) return;
    chat.edits.set(edit, this.#order++);
    this.#startCalls();
  }

  /** Takes the request back; a call in flight goes on. */
  cancelEdit(chatId: string, edit: LiveEdit): void {
    this.#chats.get(chatId)?.edits.delete(edit);
  }

  /**
   * Makes a call that must happen, before any edit and in order within its chat; "too fast" is waited out in place.
   * Throws what `call` throws, `rate_limited` once the waits pass `MAX_FINAL_WAIT_MS`, the signal's reason before the call.
   */
  final<T>(chatId: string, call: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const chat = this.#chat(chatId);
    const final: Final = {
      order: this.#order++,
      waitedMs: 0,
      signal,
      async call() {
        resolve(await call());
        return false;
      },
      fail: reject,
    };
    const leave = () => {
      if (!chat.finals.includes(final)) return;
      chat.finals = chat.finals.filter((other) => other !== final);
      reject(toGatewayError(signal.reason));
    };
    signal.addEventListener('abort', leave, { once: true });
    chat.finals.push(final);
    if (signal.aborted) leave();
    else this.#startCalls();
    return promise.finally(() => signal.removeEventListener('abort', leave));
  }

  /** Makes a call that may be left out (typing) if the limits allow it now; true unless it failed for good. Never throws. */
  async tryOptional(chatId: string, call: () => Promise<void>): Promise<boolean> {
    const now = this.#clock.monotonicMs();
    const paused = (this.#chats.get(chatId)?.limit.pausedUntil ?? 0) > now;
    if (paused || this.#bot.readyAt(0) > now) return true;
    this.#bot.count(now);
    this.counts.calls++;
    try {
      await call();
      return true;
    } catch (error) {
      if (!isRefusal(error)) return false;
      this.#applyRefusal(this.#chat(chatId), error);
      return true;
    }
  }

  /** Stops the timer; finals that wait are refused, and their lanes try them again. */
  close(): void {
    this.#wake?.cancel();
    this.#wake = undefined;
    const closing = new GatewayError('closing', 'The gateway is shutting down.', { retryable: true });
    for (const chat of this.#chats.values()) for (const final of chat.finals) final.fail(closing);
    this.#chats.clear();
  }

  #chat(id: string): Chat {
    let chat = this.#chats.get(id);
    if (chat === undefined) {
      chat = {
        id,
        limit: new RateLimit(this.#editIntervalMs(id)),
        busy: false,
        finals: [],
        edits: new Map(),
      };
      this.#chats.set(id, chat);
    }
    return chat;
  }

  /** Starts every call whose time has come, and sets the timer for the next one. */
  #startCalls(): void {
    for (;;) {
      const now = this.#clock.monotonicMs();
      const botReady = this.#bot.readyAt(BOT_BURST);
      if (botReady > now) {
        this.#wakeAt(botReady);
        return;
      }
      const { choice, next } = this.#choose(now);
      if (choice === undefined) {
        if (next !== undefined) this.#wakeAt(next);
        return;
      }
      this.#bot.count(now);
      const { chat, final, edit } = choice;
      chat.limit.count(now);
      chat.busy = true;
      this.counts.calls++;
      if (final !== undefined) chat.finals.shift();
      else chat.edits.delete(edit);
      const call = final === undefined ? edit.show() : final.call();
      call.then(
        (more) => this.#ended(choice, more),
        (error: unknown) => this.#failed(choice, error),
      );
    }
  }

  /** The call that goes next: the oldest final, else the edit that has waited longest; else when to look again. */
  #choose(now: number): { choice: Choice | undefined; next: number | undefined } {
    let choice: Choice | undefined;
    let next: number | undefined;
    for (const chat of this.#chats.values()) {
      const [final] = chat.finals;
      const [entry] = chat.edits;
      if (chat.busy) continue;
      if (final === undefined && entry === undefined) {
        if (chat.limit.isFresh(now)) this.#chats.delete(chat.id);
        continue;
      }
      const readyAt = chat.limit.readyAt(
        final !== undefined && now >= this.#afterRefusalUntil ? FINAL_BURST : 0,
      );
      if (readyAt > now) {
        next = Math.min(next ?? readyAt, readyAt);
        continue;
      }
      const offer = nextCall(chat, final, entry);
      if (offer !== undefined && (choice === undefined || isBefore(offer, choice))) choice = offer;
    }
    return { choice, next };
  }

  #ended({ chat, edit }: Choice, more: boolean): void {
    if (more && edit !== undefined) chat.edits.set(edit, this.#order++);
    chat.busy = false;
    this.#startCalls();
  }

  #failed({ chat, final, edit }: Choice, error: unknown): void {
    const refusal = isRefusal(error) ? error : undefined;
    if (refusal !== undefined) this.#applyRefusal(chat, refusal);
    if (final === undefined) {
      if (refusal !== undefined) chat.edits.set(edit, this.#order++);
    } else {
      final.waitedMs += refusal?.retryAfterMs ?? DEFAULT_PAUSE_MS;
      if (final.signal.aborted) final.fail(toGatewayError(final.signal.reason));
      else if (refusal !== undefined && final.waitedMs <= MAX_FINAL_WAIT_MS) chat.finals.unshift(final);
      else final.fail(refusal ?? toGatewayError(error));
    }
    chat.busy = false;
    this.#startCalls();
  }

  /** Pauses the chat, or the whole bot when the refusal is global or several chats are refused at once. */
  #applyRefusal(chat: Chat, error: ChannelError): void {
    const now = this.#clock.monotonicMs();
    const pauseMs = error.retryAfterMs ?? DEFAULT_PAUSE_MS;
    this.counts.refused++;
    this.#afterRefusalUntil = now + AFTER_REFUSAL_MS;
    this.#refusals.set(chat.id, now);
    for (const [id, at] of this.#refusals) if (now - at > REFUSED_WITHIN_MS) this.#refusals.delete(id);
    if (error.global || this.#refusals.size >= REFUSED_CHATS) {
      this.#refusals.clear();
      this.#bot.slowDown(now, pauseMs);
    }
    if (!error.global) chat.limit.slowDown(now, pauseMs);
  }

  #wakeAt(at: number): void {
    if (this.#wake !== undefined && this.#wake.at <= at) return;
    this.#wake?.cancel();
    const cancel = this.#clock.after(Math.max(0, at - this.#clock.monotonicMs()), () => {
      this.#wake = undefined;
      this.#startCalls();
    });
    this.#wake = { at, cancel };
  }
}

function nextCall(
  chat: Chat,
  final: Final | undefined,
  entry: [LiveEdit, number] | undefined,
): Choice | undefined {
  if (final !== undefined) return { chat, final, edit: undefined, order: final.order };
  return entry && { chat, final: undefined, edit: entry[0], order: entry[1] };
}

function isBefore(a: Choice, b: Choice): boolean {
  if ((a.final === undefined) !== (b.final === undefined)) return a.final !== undefined;
  return a.order < b.order;
}

function isRefusal(error: unknown): error is ChannelError {
  return error instanceof ChannelError && error.code === 'rate_limited';
}
