/** Calls to Slack's Web API: every limit and failure is thrown at once as `ChannelError`; no call waits or is repeated here. */
import { LogLevel, WebClient } from '@slack/web-api';
import type { Logger } from '@slack/web-api';
import { DEAD_AFTER_MS, DEAD_INTERVAL_MS } from '../../src/contracts/channel.ts';
import { ChannelError } from '../../src/contracts/errors.ts';
import type { ChannelHealth } from '../../src/contracts/gateway-api.ts';
import { BAD_TOKEN, isTokenError, rateLimited, toChannelError, unavailable } from './errors.ts';

/** Slack's own API. */
const OFFICIAL_ROOT = 'https://slack.com/api';
/** Longest wait for an answer, in milliseconds. */
const ANSWER_MS = 10_000;
/** Wait before Slack is asked again while it refuses the token: twice as long each time, up to the cap, in milliseconds. */
const FIRST_WAIT_MS = 5_000;
const WAIT_CAP_MS = 60_000;
/** Failed calls in a row after which the API counts as unreachable. */
const MAX_FAILURES = 3;
/** Limits that are remembered; the one that was told longest ago goes first. */
const MAX_PAUSES = 1_000;

export interface SlackApiConfig {
  /** Secret. */
  token: string;
  /** Another server that speaks Slack's API; Slack's own by default. */
  apiRoot?: string | undefined;
  /** What waits are measured by. */
  monotonicMs: () => number;
}

export class SlackApi {
  readonly #client: WebClient;
  readonly #monotonicMs: () => number;
  /** Until when Slack refuses calls of a kind, in monotonic milliseconds. */
  readonly #pauses = new Map<string, number>();
  #failures = 0;
  /** Since when the token is refused; undefined while it is good. */
  #refusedSince: number | undefined;
  #refusals = 0;
  #nextAt = 0;

  constructor({ token, apiRoot, monotonicMs }: SlackApiConfig) {
    this.#monotonicMs = monotonicMs;
    this.#client = new WebClient(token, {
      slackApiUrl: apiRoot ?? OFFICIAL_ROOT,
      allowAbsoluteUrls: false,
      // The library's retries would double messages and hide outages; delivery decides what is retried.
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      timeout: ANSWER_MS,
      logger: SILENT,
    });
  }

  /** Makes one call; gives the JSON of the answer. Calls of one `limit` share a pause that Slack asks for. Throws `ChannelError`. */
  async call(method: string, args: Record<string, unknown>, limit = method): Promise<unknown> {
    const left = (this.#pauses.get(limit) ?? 0) - this.#monotonicMs();
    if (left > 0) throw rateLimited(left, undefined, true);
    if (this.#refusedSince !== undefined && this.#monotonicMs() < this.#nextAt) throw this.#refused();
    try {
      const answer = await this.#client.apiCall(method, args);
      this.#failures = 0;
      this.#refusedSince = undefined;
      this.#refusals = 0;
      return answer;
    } catch (error) {
      if (isTokenError(error)) throw await this.#judgeToken(method, error);
      const failure = toChannelError(error);
      this.#failures = failure.code === 'unavailable' ? this.#failures + 1 : 0;
      if (failure.code === 'rate_limited') this.#pause(limit, failure.retryAfterMs ?? 0);
      throw failure;
    }
  }

  /** What the calls so far tell: undefined while all is well. */
  get health(): ChannelHealth | undefined {
    if (this.#refusedSince !== undefined) {
      const isDead = this.#monotonicMs() - this.#refusedSince >= DEAD_AFTER_MS;
      return { state: isDead ? 'dead' : 'degraded', detail: BAD_TOKEN };
    }
    if (this.#failures < MAX_FAILURES) return undefined;
    return { state: 'degraded', detail: 'Slack does not answer calls of its Web API; trying again.' };
  }

  /** One refusal alone says nothing: `auth.test` tells whether the token is good. */
  async #judgeToken(method: string, refusal: unknown): Promise<ChannelError> {
    if (method !== 'auth.test') {
      try {
        await this.#client.apiCall('auth.test');
        return unavailable(
          'Slack refused one call, but not the bot token; the call is tried again.',
          refusal,
        );
      } catch (error) {
        if (!isTokenError(error)) return toChannelError(error);
      }
    }
    this.#refusedSince ??= this.#monotonicMs();
    const isDead = this.#monotonicMs() - this.#refusedSince >= DEAD_AFTER_MS;
    this.#nextAt =
      this.#monotonicMs() +
      (isDead ? DEAD_INTERVAL_MS : Math.min(WAIT_CAP_MS, FIRST_WAIT_MS * 2 ** this.#refusals));
    this.#refusals = Math.min(this.#refusals + 1, 10);
    return this.#refused(refusal);
  }

  #refused(cause?: unknown): ChannelError {
    const retryAfterMs = Math.max(1, this.#nextAt - this.#monotonicMs());
    return new ChannelError('unauthorized', BAD_TOKEN, { retryable: true, retryAfterMs, cause });
  }

  #pause(limit: string, ms: number): void {
    this.#pauses.delete(limit);
    this.#pauses.set(limit, this.#monotonicMs() + ms);
    for (const [oldest] of this.#pauses) {
      if (this.#pauses.size <= MAX_PAUSES) break;
      this.#pauses.delete(oldest);
    }
  }
}

/** The library logs what it sends; the gateway's own log says what matters. */
const nothing = (): void => undefined;
const SILENT: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  setLevel: nothing,
  setName: nothing,
  getLevel: () => LogLevel.ERROR,
};
