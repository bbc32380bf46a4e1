/** Whether Discord really refuses the bot token: a single 401 proves nothing, and a storm of them would get the address banned. */
import { ChannelError, channelUnavailable } from '../../../src/protocol/errors.ts';
import { textRef } from '../../../src/protocol/texts/say.ts';
import type { ChannelHealth } from '../../../src/protocol/gateway-api.ts';
import { tokenHealth, tokenRefusals, tokenRefused } from '../../../src/protocol/channel-parts.ts';
import type { Refusals } from '../../../src/lib/async/call-gate.ts';
import { BAD_TOKEN } from '../errors.ts';

export class TokenCheck {
  readonly #refusals: Refusals;
  readonly #ask: () => Promise<void>;
  #asking: Promise<void> | undefined;

  /** `ask` makes one call with the token that needs no permission, and throws `ChannelError` if it fails. */
  constructor(monotonicMs: () => number, ask: () => Promise<void>) {
    this.#refusals = tokenRefusals(monotonicMs);
    this.#ask = ask;
  }

  /**
   * Lets a call pass while the token is good, and asks Discord again when it is time to. Throws
   * `ChannelError('unauthorized')`.
   */
  async admit(): Promise<void> {
    if (this.#refusals.state === undefined) return;
    if (this.#refusals.leftMs === 0) await this.#verify();
    if (this.#refusals.state !== undefined) throw tokenRefused(this.#refusals, BAD_TOKEN);
  }

  /** Explains a 401: `unavailable` if the token is good nevertheless, otherwise `unauthorized`. */
  async explain(refusal: ChannelError): Promise<ChannelError> {
    await this.#verify();
    if (this.#refusals.state !== undefined) return tokenRefused(this.#refusals, BAD_TOKEN, refusal);
    return channelUnavailable(textRef('health.refused_once', { network: 'Discord' }), refusal);
  }

  /** Undefined while the token is good. */
  get health(): ChannelHealth | undefined {
    return tokenHealth(this.#refusals, BAD_TOKEN);
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
      this.#refusals.clear();
    } catch (error) {
      if (!(error instanceof ChannelError)) throw error;
      // An outage says nothing about the token: neither that it is bad nor that the next check can wait an
      // hour.
      const isRefused = error.code === 'unauthorized';
      if (isRefused || this.#refusals.state !== undefined) this.#refusals.note(isRefused);
    }
  }
}
