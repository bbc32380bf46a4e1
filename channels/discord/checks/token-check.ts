/** Whether Discord really refuses the bot token: one 401 alone says nothing, and a storm of them would have the address banned. */
import { ChannelError } from '../../../src/contracts/errors.ts';
import type { ChannelHealth } from '../../../src/contracts/gateway-api.ts';
import { tokenHealth, tokenRefusals, tokenRefused } from '../../../src/contracts/platform/refused-tokens.ts';
import type { Refusals } from '../../../src/lib/async/call-gate.ts';
import { BAD_TOKEN } from '../errors.ts';

export class TokenCheck {
  readonly #refusals: Refusals;
  readonly #ask: () => Promise<void>;
  #asking: Promise<void> | undefined;

  /** `ask` makes one call with the token that needs no permission, and throws `ChannelError` when it fails. */
  constructor(monotonicMs: () => number, ask: () => Promise<void>) {
    this.#refusals = tokenRefusals(monotonicMs);
    this.#ask = ask;
  }

  /** Lets a call pass while the token is good, and asks Discord again when that is due. Throws `ChannelError('unauthorized')`. */
  async admit(): Promise<void> {
    if (this.#refusals.state === undefined) return;
    if (this.#refusals.leftMs === 0) await this.#verify();
    if (this.#refusals.state !== undefined) throw tokenRefused(this.#refusals, BAD_TOKEN);
  }

  /** Says what a 401 means: `unavailable` when the token is good all the same, else `unauthorized`. */
  async explain(refusal: ChannelError): Promise<ChannelError> {
    await this.#verify();
    if (this.#refusals.state !== undefined) return tokenRefused(this.#refusals, BAD_TOKEN, refusal);
    const message = 'Discord refused one call, but not the bot token; the call is tried again.';
    return new ChannelError('unavailable', message, { retryable: true, cause: refusal });
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
      // What is away says nothing of the token: neither that it is bad nor that nobody need ask for an hour.
      const isRefused = error.code === 'unauthorized';
      if (isRefused || this.#refusals.state !== undefined) this.#refusals.note(isRefused);
    }
  }
}
