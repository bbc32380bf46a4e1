/** Receives updates from their source, finishes them once they are committed, and continues after any failure. */
import { type ChannelIdentity, DEAD_AFTER_MS, DEAD_INTERVAL_MS } from '../../../src/protocol/channel.ts';
import { ChannelError, type GatewayError, messageOf, toGatewayError } from '../../../src/protocol/errors.ts';
import type { ChannelHealth } from '../../../src/protocol/gateway-api.ts';
import { backoffMs } from '../../../src/lib/async/backoff.ts';
import { sleep } from '../../../src/lib/async/sleep.ts';
import { SplitMessages } from './split-messages.ts';
import type { BotApi } from '../api/bot-api.ts';
import type { Reader } from './inbound-kinds.ts';
import type { Introduction } from '../introduction.ts';
import { Publisher } from './publishing.ts';
import type { UpdateSource } from './update-source.ts';
import { toInbound } from './inbound.ts';
import { messagesOf, updateIdOf, Updates, type UpdatesParts } from './updates.ts';
import type { CommandListing } from '../../../src/protocol/command.ts';
import type { Receive } from '../../../src/protocol/receive.ts';
import type { ChannelLanguages } from '../../../src/protocol/texts/languages.ts';

/** Waits of the poller, in milliseconds. */
export interface PollTiming {
  /** How long Telegram may hold a poll open; Telegram allows up to 50 s. */
  longPollMs: number;
  /** A poll that takes longer is aborted and repeated. */
  stallMs: number;
  /**
   * First and longest wait after a failure. With this cap, polling resumes within 35 s after a competing poller (409)
   * has stopped.
   */
  backoffMs: number;
  backoffCapMs: number;
  /**
   * How long a refused token is retried like that before the channel is dead, and the wait between retries from then
   * on.
   */
  deadAfterMs: number;
  deadIntervalMs: number;
  /** Minimum time between two checks whether the owners have changed. */
  ownersMs: number;
  /** How long `stop` waits at most for messages that are being published. */
  lastPublishMs: number;
  /**
   * A message in several parts is complete if no part has arrived for this long. Within 500 ms of a poll Telegram
   * answers the same one with a single update.
   */
  partsMs: number;
}

export const POLL_TIMING: PollTiming = {
  longPollMs: 30_000,
  stallMs: 90_000,
  backoffMs: 1_000,
  backoffCapMs: 30_000,
  deadAfterMs: DEAD_AFTER_MS,
  deadIntervalMs: DEAD_INTERVAL_MS,
  ownersMs: 60_000,
  lastPublishMs: 5_000,
  partsMs: 600,
};

/** Dependencies of the poller. */
export interface PollerParts extends Omit<UpdatesParts, 'answerPress'> {
  bot: BotApi;
  source: UpdateSource;
  introduction: Pick<Introduction, 'update'>;
  languages: ChannelLanguages;
  receive: Receive;
  /** Called with the bot's identity each time Telegram has reported it. */
  identified: (bot: ChannelIdentity) => void;
  /** Commands that people can write with a `/`. */
  commands: readonly CommandListing[];
  timing: PollTiming;
  setHealth: (health: ChannelHealth) => void;
}

/** Receives until stopped, and resumes when Telegram accepts a token that it had refused. */
export class Poller {
  readonly #parts: PollerParts;
  readonly #stop = new AbortController();
  #done: Promise<void> = Promise.resolve();
  /** Polls since the last failure. */
  #polls = 0;
  #failures = 0;
  /** Monotonic time since which Telegram has refused the token. */
  #refusedSince: number | undefined;
  /** Monotonic time of the last check of the bot's descriptions. */
  #introducedAt = Number.NEGATIVE_INFINITY;
  readonly #split = new SplitMessages();
  readonly #publisher: Publisher;
  readonly #updates: Updates;

  constructor(parts: PollerParts) {
    this.#parts = parts;
    const answerPress = (callbackId: string, text: string | undefined) => this.#answerPress(callbackId, text);
    this.#publisher = new Publisher({ ...parts, answerPress });
    this.#updates = new Updates({ ...parts, answerPress });
  }

  /** Starts receiving. Never throws: failures from here on are reported as health. */
  start(): void {
    this.#done = this.#receive();
  }

  /** Aborts the long poll at once; messages that are being published may finish. Never throws. */
  async stop(): Promise<void> {
    this.#stop.abort();
    const { promise: timeout, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, this.#parts.timing.lastPublishMs);
    await Promise.race([this.#done, timeout]);
    clearTimeout(timer);
  }

  async #receive(): Promise<void> {
    const { signal } = this.#stop;
    let me: Reader | undefined;
    while (!signal.aborted) {
      try {
        if (!me) {
          const commands = new Set(this.#parts.commands.map(({ name }) => name));
          const identity = await this.#parts.bot.identify(signal);
          this.#parts.identified(identity);
          me = { ...identity, commands };
        }
        this.#introduce(me);
        await this.#poll(me, signal);
      } catch (error) {
        if (signal.aborted) break;
        const failure = toGatewayError(error);
        if (isRefused(failure)) {
          this.#refusedSince ??= performance.now();
          // Polls again only once `getMe` works: that tells a refused token from a single failed call.
          me = undefined;
        }
        this.#report(failure);
        await this.#backOff(failure, signal);
      }
    }
  }

  /** Fetches one batch and publishes it; updates are finished only when they are committed or skipped. */
  async #poll(me: Reader, signal: AbortSignal): Promise<void> {
    const { source, timing, setHealth } = this.#parts;
    // The first poll, and the first after a failure, must return at once: health must not wait for a message.
    const waitMs = this.#polls === 0 ? 0 : timing.longPollMs;
    const updates = await source.next({ waitMs, stallMs: timing.stallMs }, signal);
    const batch = updates.map((update) => ({ id: updateIdOf(update), inbound: toInbound(update, me) }));
    await this.#updates.act(batch);
    const { whole, open } = this.#split.collect(messagesOf(batch));
    await this.#publisher.publish(whole, signal);
    const ids = batch.map(({ id }) => id);
    await source.finish(ids, new Set(open.map(({ id }) => id)));
    this.#polls += 1;
    this.#failures = 0;
    this.#refusedSince = undefined;
    setHealth(source.health());
    if (open.length > 0) await sleep(timing.partsMs, signal);
  }

  async #backOff(failure: GatewayError, signal: AbortSignal): Promise<void> {
    const { timing, log } = this.#parts;
    const shortMs = failure.retryAfterMs ?? backoffMs(this.#failures, timing.backoffMs, timing.backoffCapMs);
    const waitMs = this.#isDead ? timing.deadIntervalMs : shortMs;
    this.#failures += 1;
    this.#polls = 0;
    await sleep(waitMs, signal).catch(() => log.debug('telegram_backoff_aborted'));
  }

  /** Telegram has refused the token for so long that someone has to look at it. */
  get #isDead(): boolean {
    if (this.#refusedSince === undefined) return false;
    return performance.now() - this.#refusedSince >= this.#parts.timing.deadAfterMs;
  }

  #report(failure: GatewayError): void {
    const { log, setHealth } = this.#parts;
    setHealth({ state: this.#isDead ? 'dead' : 'degraded', detail: messageOf(failure) });
    log.warn({ err: failure, failures: this.#failures }, 'telegram_receiving_failed');
  }

  #introduce({ id }: Reader): void {
    const { introduction, timing } = this.#parts;
    if (performance.now() - this.#introducedAt < timing.ownersMs) return;
    this.#introducedAt = performance.now();
    void introduction.update(id);
  }

  async #answerPress(callbackId: string, text: string | undefined): Promise<void> {
    await this.#try('telegram_press_unanswered', this.#parts.bot.answerPress(callbackId, text));
  }

  /** Waits for a call whose failure is only logged. */
  async #try(event: string, call: Promise<void>): Promise<void> {
    await call.catch((error: ChannelError) => this.#parts.log.warn({ err: error }, event));
  }
}

/** True if Telegram refuses the token, or refuses the one call with the same error. */
function isRefused(failure: GatewayError): boolean {
  return failure instanceof ChannelError && failure.code === 'unauthorized';
}
