/** Calls to Slack's Web API: throws every limit and failure at once as `ChannelError`; no call waits or is repeated here. */
import { textRef } from '../../src/protocol/texts/say.ts';
import { type ChannelError, channelUnavailable } from '../../src/protocol/errors.ts';
import { type FetchFunction, type Logger, LogLevel, WebClient } from '@slack/web-api';
import type { ChannelTiming } from '../../src/protocol/channel-settings.ts';
import type { ChannelHealth } from '../../src/protocol/gateway-api.ts';
import { tokenHealth, tokenRefusals, tokenRefused } from '../../src/protocol/channel-parts.ts';
import { openResponse, wholeAnswer } from '../../src/lib/async/http-stream.ts';
import { type Refusals, RetryAfterPauses } from '../../src/lib/async/call-gate.ts';
import { BAD_TOKEN, isTokenError, rateLimited, toChannelError } from './errors.ts';

const OFFICIAL_ROOT = 'https://slack.com/api';
/** Longest wait for an answer, in milliseconds. */
const ANSWER_MS = 10_000;
/** Failed calls in a row after which the API counts as unreachable. */
const MAX_FAILURES = 3;
/** Maximum number of limits remembered; the one reported longest ago is dropped first. */
const MAX_PAUSES = 1_000;

/** The channel's clock and waits, in milliseconds. */
export interface SlackTiming extends ChannelTiming {
  /** Between two writes of how far everything is stored. */
  saveEveryMs: number;
  /** Between two calls that read missed messages: `conversations.history` is in Tier 3, 50 calls a minute. */
  historySpacingMs: number;
  /** Longest wait for the connection to close during `stop`. */
  closeMs: number;
  /** How long a commit may delay the acknowledgement of a slash command; Slack waits 3 seconds. */
  deferAfterMs: number;
}

export class SlackApi {
  readonly #client: WebClient;
  readonly #pauses: RetryAfterPauses;
  readonly #refusals: Refusals;
  #failures = 0;

  /** `token` is secret; `apiRoot` is another server with Slack's API, if any; `monotonicMs` measures waits. */
  constructor(token: string, apiRoot: string | undefined, monotonicMs: () => number) {
    this.#pauses = new RetryAfterPauses(MAX_PAUSES, monotonicMs);
    this.#refusals = tokenRefusals(monotonicMs);
    this.#client = new WebClient(token, {
      slackApiUrl: apiRoot ?? OFFICIAL_ROOT,
      allowAbsoluteUrls: false,
      // The library's retries would double messages and hide outages; delivery decides what to retry.
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      timeout: ANSWER_MS,
      fetch: request,
      logger: SILENT,
    });
  }

  /** Makes one call; returns its JSON. Calls of one `limit` share a pause that Slack requests. Throws `ChannelError`. */
  async call(method: string, args: Record<string, unknown>, limit = method): Promise<unknown> {
    const pauseMs = this.#pauses.left(limit);
    if (pauseMs > 0) throw rateLimited(pauseMs, undefined, true);
    if (this.#refusals.leftMs > 0) throw tokenRefused(this.#refusals, BAD_TOKEN);
    try {
      const answer = await this.#client.apiCall(method, args);
      this.#failures = 0;
      this.#refusals.clear();
      return answer;
    } catch (error) {
      if (isTokenError(error)) throw await this.#judgeToken(method, error);
      const failure = toChannelError(error);
      this.#failures = failure.code === 'unavailable' ? this.#failures + 1 : 0;
      if (failure.code === 'rate_limited') this.#pauses.note(limit, failure.retryAfterMs ?? 0);
      throw failure;
    }
  }

  /** Health according to the calls so far: undefined while all is well. */
  get health(): ChannelHealth | undefined {
    const refusal = tokenHealth(this.#refusals, BAD_TOKEN);
    if (refusal !== undefined || this.#failures < MAX_FAILURES) return refusal;
    return { state: 'degraded', detail: textRef('health.calls', { network: 'Slack', api: 'Web API' }) };
  }

  /** A single refusal proves nothing: `auth.test` shows whether the token is good. */
  async #judgeToken(method: string, refusal: unknown): Promise<ChannelError> {
    if (method !== 'auth.test') {
      try {
        await this.#client.apiCall('auth.test');
        return channelUnavailable(textRef('health.refused_once', { network: 'Slack' }), refusal);
      } catch (error) {
        if (!isTokenError(error)) return toChannelError(error);
      }
    }
    this.#refusals.note();
    return tokenRefused(this.#refusals, BAD_TOKEN, refusal);
  }
}

/** The library's request, a form, whose answer arrives whole within the limit of time. Throws errors of the connection. */
const request: FetchFunction = async (url, { method, headers, body, signal } = {}) => {
  const options = { method, headers: Object.fromEntries(new Headers(headers)), signal: signal ?? undefined };
  const form = typeof body === 'string' ? Buffer.from(body) : undefined;
  const response = await openResponse(new URL(url), options, form, (error) => error);
  const { statusCode: status = 0, statusMessage: statusText = '' } = response;
  const answer = await wholeAnswer({
    body: response,
    status,
    statusText,
    headers: Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
  });
  // A body that ends with its connection looks whole.
  signal?.throwIfAborted();
  return answer;
};

/** The library logs what it sends; the gateway's own log contains what matters. */
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
