/** Receives updates from their source, finishes them once they are committed, and continues after any failure. */
import type { ChannelAccess } from '../../../src/protocol/access.ts';
import { DEAD_AFTER_MS, DEAD_INTERVAL_MS } from '../../../src/protocol/channel.ts';
import { ChannelError, type GatewayError, messageOf, toGatewayError } from '../../../src/protocol/errors.ts';
import type { ChannelHealth } from '../../../src/protocol/gateway-api.ts';
import { textRef } from '../../../src/protocol/texts/say.ts';
import { backoffMs } from '../../../src/lib/async/backoff.ts';
import { sleep, waitAtMost } from '../../../src/lib/async/sleep.ts';
import type { Introduction } from '../introduction.ts';
import type { TelegramLostSends } from '../sending.ts';
import { type Reader, toInbound } from './inbound.ts';
import { messagesOf, Publisher, type PublisherParts } from './publishing.ts';
import { SplitMessages } from './split-messages.ts';
import { updateIdOf, type UpdateSource } from './update-sources.ts';

/** Waits of the poller, in milliseconds. */
export interface PollTiming {
  /** How long Telegram may hold a poll open; Telegram allows up to 50 s. */
  longPollMs: number;
  /** A poll that takes longer is aborted and repeated. */
  stallMs: number;
  /** First and longest wait after a failure: polling resumes within 35 s after a competing poller (409) has stopped. */
  backoffMs: number;
  backoffCapMs: number;
  /** How long a refused token is retried like that before the channel is dead, and the wait between later retries. */
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

/** What receiving needs, from one `start` of the channel to its `stop`. */
export interface ReceivingParts extends PublisherParts {
  source: UpdateSource;
  introduction: Introduction;
  lostSends: TelegramLostSends;
  timing: PollTiming;
}

/** Receives until stopped, and resumes when Telegram accepts a token that it had refused. */
export class Receiving {
  readonly #parts: ReceivingParts;
  readonly #stop = new AbortController();
  readonly #split = new SplitMessages();
  readonly #publisher: Publisher;
  #health: ChannelHealth = { state: 'starting' };
  #done: Promise<void> = Promise.resolve();
  #unsubscribe = (): void => undefined;
  /** Privacy mode is off. */
  #readsAll = true;
  #polls = 0;
  #failures = 0;
  /** Monotonic time since which Telegram has refused the token. */
  #refusedSince: number | undefined;
  /** Monotonic time of the last check of the bot's descriptions. */
  #introducedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: ReceivingParts) {
    this.#parts = parts;
    this.#publisher = new Publisher(parts);
  }

  get health(): ChannelHealth {
    const count = this.#readsAll ? 0 : groupsThatNeedAll(this.#parts.access()).length;
    if (count === 0) return this.#health;
    return { ...this.#health, notice: textRef('privacy.on', { network: 'Telegram', count }) };
  }

  /** Starts receiving. Never throws: failures from here on are reported as health. */
  start(): void {
    const { gateway, topics } = this.#parts;
    this.#unsubscribe = gateway.subscribe({}, (event) => {
      if (event.type === 'session_titled' && event.title !== null)
        void topics.title(event.sessionKey, event.title);
    });
    this.#done = this.#receive();
  }

  /** Aborts the long poll at once; messages that are being published may finish. Never throws; calling it twice is fine. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#unsubscribe();
    await waitAtMost(this.#parts.timing.lastPublishMs, this.#done);
    this.#health = { state: 'off' };
  }

  async #receive(): Promise<void> {
    const { signal } = this.#stop;
    let me: Reader | undefined;
    while (!signal.aborted) {
      try {
        me ??= await this.#identify(signal);
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

  async #identify(signal: AbortSignal): Promise<Reader> {
    const { bot, gateway, topics } = this.#parts;
    const identity = await bot.identify(signal);
    this.#readsAll = identity.readsAll === true;
    topics.areOn = identity.privateThreads === true;
    return { ...identity, commands: new Set(gateway.commands.map(({ name }) => name)) };
  }

  /** Fetches one batch and publishes it; updates are finished only when they are committed or skipped. */
  async #poll(me: Reader, signal: AbortSignal): Promise<void> {
    const { source, timing, lostSends } = this.#parts;
    // The first poll, and the first after a failure, must return at once: health must not wait for a message.
    const waitMs = this.#polls === 0 ? 0 : timing.longPollMs;
    const updates = await source.next(waitMs, timing.stallMs, signal);
    const batch = updates.map((update) => ({ id: updateIdOf(update), inbound: toInbound(update, me) }));
    await this.#publisher.act(batch);
    const messages = messagesOf(await this.#publisher.inOwnersName(batch));
    for (const { message } of messages)
      if (message.messageId !== undefined) lostSends.note(message.chatId, message.messageId);
    const { whole, open } = this.#split.collect(messages);
    await this.#publisher.publish(whole, signal);
    const ids = batch.map(({ id }) => id);
    await source.finish(ids, new Set(open.map(({ id }) => id)));
    this.#polls += 1;
    this.#failures = 0;
    this.#refusedSince = undefined;
    if (!signal.aborted) this.#health = source.health();
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
    this.#health = { state: this.#isDead ? 'dead' : 'degraded', detail: messageOf(failure) };
    this.#parts.log.warn({ err: failure, failures: this.#failures }, 'telegram_receiving_failed');
  }

  #introduce({ id }: Reader): void {
    const { introduction, timing } = this.#parts;
    if (performance.now() - this.#introducedAt < timing.ownersMs) return;
    this.#introducedAt = performance.now();
    void introduction.update(id);
  }
}

/** True if Telegram refuses the token, or refuses the one call with the same error. */
function isRefused(failure: GatewayError): boolean {
  return failure instanceof ChannelError && failure.code === 'unauthorized';
}

/** Ids of the groups whose settings require messages that do not name the bot: privacy mode hides those. */
export function groupsThatNeedAll(access: ChannelAccess | undefined): string[] {
  return Object.entries(access?.groups ?? {})
    .filter(([, { mention, observe }]) => !mention || observe === true)
    .map(([id]) => id);
}
