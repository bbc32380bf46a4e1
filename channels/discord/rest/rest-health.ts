/** What the calls to Discord's REST API say about the channel's health. */
import { type ChannelError, messageOf } from '../../../src/contracts/errors.ts';
import { textRef, type TextRef } from '../../../src/contracts/texts/say.ts';
import type { ChannelHealth } from '../../../src/contracts/gateway-api.ts';
import { Recent } from '../../../src/lib/recent.ts';
import { lacksPermission } from '../errors.ts';

/** Failed calls in a row after which the REST API counts as unreachable. */
const MAX_FAILURES = 3;

/** How long a channel that refuses the bot is reported after the last refusal, in milliseconds; and how many at once. */
export const REFUSAL_KEPT_MS = 3_600_000;
const MAX_REFUSING = 100;

export class RestHealth {
  readonly #refusing: Recent<TextRef | string>;
  #failures = 0;

  constructor(monotonicNow: () => number) {
    this.#refusing = new Recent(REFUSAL_KEPT_MS, MAX_REFUSING, monotonicNow);
  }

  /** Records how a call ended: undefined for success. */
  noteCall(failure: ChannelError | undefined): void {
    this.#failures = failure?.code === 'unavailable' ? this.#failures + 1 : 0;
  }

  /** Records how a message to a channel ended; true for the first refusal there for lack of a permission. */
  noteMessage(channelId: string, failure: ChannelError | undefined): boolean {
    if (failure === undefined) this.#refusing.delete(channelId);
    if (failure === undefined || !lacksPermission(failure)) return false;
    const isFirst = this.#refusing.get(channelId) === undefined;
    this.#refusing.set(channelId, messageOf(failure));
    return isFirst;
  }

  /** Undefined while all is well. */
  get health(): ChannelHealth | undefined {
    if (this.#failures >= MAX_FAILURES)
      return { state: 'degraded', detail: textRef('health.calls', { network: 'Discord', api: 'REST API' }) };
    const refusals = this.#refusing.values();
    const [first] = refusals;
    if (first === undefined) return undefined;
    const detail = textRef('health.unwritable', { count: refusals.length, why: first });
    return { state: 'degraded', detail };
  }
}
