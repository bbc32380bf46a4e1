/** Whether Discord really refuses the bot token: one 401 alone says nothing, and a storm of them would have the address banned. */
import { ChannelError } from '../../src/contracts/errors.ts';
import type { ChannelHealth } from '../../src/contracts/gateway-api.ts';
import { DEAD_AFTER_MS, DEAD_INTERVAL_MS } from '../../src/contracts/channel.ts';
import { BAD_TOKEN, tokenRefused } from './errors.ts';

/** Wait before Discord is asked again while it refuses the token, in milliseconds: twice as long each time, up to the cap. */
const FIRST_WAIT_MS = 5_000;
const WAIT_CAP_MS = 60_000;

export class TokenCheck {
  readonly #monotonicMs: () => number;
  readonly #ask: () => Promise<void>;
  /** Since when the token is refused; undefined while it is good. */
  #since: number | undefined;
  #tries = 0;
  #nextAt = 0;
  #asking: Promise<void> | undefined;

  /** `ask` makes one call with the token that needs no permission, and throws `ChannelError` when it fails. */
  constructor(monotonicMs: () => number, ask: () => Promise<void>) {
    this.#monotonicMs = monotonicMs;
    this.#ask = ask;
  }

  /** Lets a call pass while the token is good, and asks Discord again when that is due. Throws `ChannelError('unauthorized')`. */
  async admit(): Promise<void> {
    if (this.#since === undefined) return;
    if (this.#monotonicMs() >= this.#nextAt) await this.#verify();
    this.#throwIfRefused();
  }

  /** Says what a 401 means: `unavailable` when the token is good all the same, else `unauthorized`. */
  async explain(refusal: ChannelError): Promise<ChannelError> {
    await this.#verify();
    if (this.#since !== undefined) return tokenRefused(this.#nextAt - this.#monotonicMs(), refusal);
    const message = 'Discord refused one call, but not the bot token; the call is tried again.';
    return new ChannelError('unavailable', message, { retryable: true, cause: refusal });
  }

  /** Undefined while the token is good. */
  get health(): ChannelHealth | undefined {
    if (this.#since === undefined) return undefined;
    const isDead = this.#monotonicMs() - this.#since >= DEAD_AFTER_MS;
    return { state: isDead ? 'dead' : 'degraded', detail: BAD_TOKEN };
  }

  #throwIfRefused(): void {
    if (this.#since !== undefined) throw tokenRefused(Math.max(1, this.#nextAt - this.#monotonicMs()));
  }

  async #verify(): Promise<void> {
    this.#asking ??= this.#askNow().finally(() => {
      this.#asking = undefined;
    });
    await this.#asking;
  }

  async #askNow(): Promise<void> {
    try {
      await this.#ask();
      this.#since = undefined;
      this.#tries = 0;
    } catch (error) {
      if (!(error instanceof ChannelError)) throw error;
      // What is away says nothing of the token: neither that it is bad nor that nobody need ask for an hour.
      const isRefused = error.code === 'unauthorized';
      if (!isRefused && this.#since === undefined) return;
      const now = this.#monotonicMs();
      this.#since ??= now;
      const isDead = isRefused && now - this.#since >= DEAD_AFTER_MS;
      const soon = Math.min(WAIT_CAP_MS, FIRST_WAIT_MS * 2 ** this.#tries);
      this.#tries += 1;
      this.#nextAt = now + (isDead ? DEAD_INTERVAL_MS : soon);
    }
  }
}
