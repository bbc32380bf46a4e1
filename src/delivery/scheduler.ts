/** When each call to one bot's platform may go out: finals first, edits newest-only, one at a time in a chat, never too fast. */
import { ChannelError, GatewayError, toGatewayError } from '../contracts/errors.ts';
import type { Clock } from '../lib/clock.ts';
import { RateLimit } from './rate-limit.ts';

/** Calls one bot makes per second at most: below Telegram's ~30 and Discord's 50; a platform that refuses lowers it. */
export const CALLS_PER_SECOND = 25;

/** Calls that may go out at once after a quiet moment: with the rate above never more than 29 in any second. */
const BOT_AHEAD = 4;

/** A final may follow an edit at once: the chat rests afterwards. Off for a while once the platform has refused. */
const FINAL_AHEAD = 1;
const CAUTION_MS = 600_000;

/** This many chats refused within this time mean that the bot as a whole is too fast. */
const REFUSED_CHATS = 3;
const REFUSED_WITHIN_MS = 5_000;

/** A final waits in place for pauses up to this long in all; a longer one is its lane's business. */
export const MAX_FINAL_WAIT_MS = 60_000;

/** What to assume when the platform refuses and does not say for how long. */
const UNTOLD_PAUSE_MS = 3_000;

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
  call(): Promise<void>;
  fail(error: GatewayError): void;
}

interface Chat {
  id: string;
  pace: RateLimit;
  busy: boolean;
  finals: Final[];
  /** Edits asked for, with the order they were asked in. */
  edits: Map<LiveEdit, number>;
}

interface Choice {
  chat: Chat;
  order: number;
  final: Final | undefined;
  edit: LiveEdit | undefined;
}

export class Scheduler {
  /** Answers with "too fast", and all calls: for the metrics. */
  readonly counts = { calls: 0, refused: 0 };
  readonly #clock: Clock;
  readonly #editIntervalMs: (chatId: string) => number;
  readonly #bot = new RateLimit(1_000 / CALLS_PER_SECOND);
  readonly #chats = new Map<string, Chat>();
  readonly #refusals = new Map<string, number>();
  #cautiousUntil = 0;
  #order = 0;
  #wake: { at: number; cancel: () => void } | undefined;

  constructor(clock: Clock, editIntervalMs: (chatId: string) => number) {
    this.#clock = clock;
    this.#editIntervalMs = editIntervalMs;
  }

  /** How many chats are remembered: those with work, and those with a pace to keep. */
  get chats(): number {
    return this.#chats.size;
  }

  /** Asks for one more look at `edit` when its chat may be called next. Cheap to repeat. Never throws. */
  want(chatId: string, edit: LiveEdit): void {
    const chat = this.#chat(chatId);
    if (chat.edits.has(edit)) return;
    chat.edits.set(edit, this.#order++);
    this.#run();
  }

  /** Takes the wish back; a call in flight goes on. */
  forget(chatId: string, edit: LiveEdit): void {
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
      call: async () => resolve(await call()),
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
    else this.#run();
    return promise.finally(() => signal.removeEventListener('abort', leave));
  }

  /** Makes a call nobody misses (typing) if there is room to spare; true unless it failed for good. Never throws. */
  async aside(chatId: string, call: () => Promise<void>): Promise<boolean> {
    const now = this.#clock.monotonicMs();
    const paused = (this.#chats.get(chatId)?.pace.pausedUntil ?? 0) > now;
    if (paused || this.#bot.readyAt(0) > now) return true;
    this.#bot.take(now);
    this.counts.calls++;
    try {
      await call();
      return true;
    } catch (error) {
      if (!isRefusal(error)) return false;
      this.#refused(this.#chat(chatId), error);
      return true;
    }
  }

  /** Stops the timer; finals that wait are refused, to be tried again by whoever has them next. */
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
      chat = { id, pace: new RateLimit(this.#editIntervalMs(id)), busy: false, finals: [], edits: new Map() };
      this.#chats.set(id, chat);
    }
    return chat;
  }

  /** Starts every call whose time has come, and sets the timer for the next one. */
  #run(): void {
    for (;;) {
      const now = this.#clock.monotonicMs();
      const botReady = this.#bot.readyAt(BOT_AHEAD);
      if (botReady > now) {
        this.#wakeAt(botReady);
        return;
      }
      const { choice, next } = this.#choose(now);
      if (choice === undefined) {
        if (next !== undefined) this.#wakeAt(next);
        return;
      }
      this.#bot.take(now);
      choice.chat.pace.take(now);
      void this.#call(choice);
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
        if (chat.pace.isFresh(now)) this.#chats.delete(chat.id);
        continue;
      }
      const readyAt = chat.pace.readyAt(final !== undefined && now >= this.#cautiousUntil ? FINAL_AHEAD : 0);
      if (readyAt > now) {
        next = Math.min(next ?? readyAt, readyAt);
        continue;
      }
      const offer = { chat, final, edit: entry?.[0], order: final?.order ?? entry?.[1] ?? 0 };
      if (choice === undefined || isBefore(offer, choice)) choice = offer;
    }
    return { choice, next };
  }

  async #call({ chat, final, edit }: Choice): Promise<void> {
    chat.busy = true;
    this.counts.calls++;
    if (final !== undefined) chat.finals.shift();
    else if (edit !== undefined) chat.edits.delete(edit);
    try {
      if (final !== undefined) await final.call();
      else if (edit !== undefined && (await edit.show())) chat.edits.set(edit, this.#order++);
    } catch (error) {
      this.#failed(chat, final, edit, error);
    }
    chat.busy = false;
    this.#run();
  }

  #failed(chat: Chat, final: Final | undefined, edit: LiveEdit | undefined, error: unknown): void {
    const refusal = isRefusal(error) ? error : undefined;
    if (refusal !== undefined) this.#refused(chat, refusal);
    if (final === undefined) {
      if (refusal !== undefined && edit !== undefined) chat.edits.set(edit, this.#order++);
      return;
    }
    final.waitedMs += refusal?.retryAfterMs ?? UNTOLD_PAUSE_MS;
    if (final.signal.aborted) final.fail(toGatewayError(final.signal.reason));
    else if (refusal !== undefined && final.waitedMs <= MAX_FINAL_WAIT_MS) chat.finals.unshift(final);
    else final.fail(refusal ?? toGatewayError(error));
  }

  /** BucketPauses the chat, and the whole bot when the platform says so or several chats are refused at once. */
  #refused(chat: Chat, error: ChannelError): void {
    const now = this.#clock.monotonicMs();
    const pauseMs = error.retryAfterMs ?? UNTOLD_PAUSE_MS;
    this.counts.refused++;
    this.#cautiousUntil = now + CAUTION_MS;
    this.#refusals.set(chat.id, now);
    for (const [id, at] of this.#refusals) if (now - at > REFUSED_WITHIN_MS) this.#refusals.delete(id);
    if (error.global || this.#refusals.size >= REFUSED_CHATS) {
      this.#refusals.clear();
      this.#bot.refused(now, pauseMs);
    }
    if (!error.global) chat.pace.refused(now, pauseMs);
  }

  #wakeAt(at: number): void {
    if (this.#wake !== undefined && this.#wake.at <= at) return;
    this.#wake?.cancel();
    const cancel = this.#clock.after(Math.max(0, at - this.#clock.monotonicMs()), () => {
      this.#wake = undefined;
      this.#run();
    });
    this.#wake = { at, cancel };
  }
}

function isBefore(a: Choice, b: Choice): boolean {
  if ((a.final === undefined) !== (b.final === undefined)) return a.final !== undefined;
  return a.order < b.order;
}

function isRefusal(error: unknown): error is ChannelError {
  return error instanceof ChannelError && error.code === 'rate_limited';
}
