/** Calls to Discord's REST API: every limit and failure is thrown at once as `ChannelError`; no call waits or is repeated here. */
import { REST } from 'discord.js';
import { BucketPauses } from './bucket-pauses.ts';
import { rateLimited, toChannelError } from './errors.ts';

/** Longest wait for the start of an answer, and for its end, in milliseconds. */
const ANSWER_MS = 10_000;
const CALL_MS = 15_000;

export interface RestCall {
  method: 'get' | 'post' | 'patch' | 'put';
  path: `/${string}`;
  /** Name of the rate limit this call shares with others, e.g. `send 42`. */
  bucket: string;
  body?: object;
  query?: URLSearchParams;
  /** False for interaction tokens, which are part of the path: a 401 there is not about the bot token. */
  auth?: false;
  signal?: AbortSignal;
}

export class DiscordRest {
  readonly #rest: REST;
  /** Kept here because the library ignores a 429 that is the first answer of a bucket. */
  readonly #pauses: BucketPauses;

  constructor(config: { token: string; apiRoot: string; now: () => number }) {
    this.#pauses = new BucketPauses(config.now);
    this.#rest = new REST({
      api: config.apiRoot,
      // The library's three silent retries would double messages and hide outages; delivery decides what is retried.
      retries: 0,
      rejectOnRateLimit: () => true,
      timeout: ANSWER_MS,
    }).setToken(config.token);
  }

  /** Makes one call; gives the JSON of the answer. Throws `ChannelError`. */
  async call({ method, path, bucket, body, query, auth, signal }: RestCall): Promise<unknown> {
    const left = this.#pauses.left(bucket);
    if (left > 0) throw rateLimited(left);
    const limit = AbortSignal.timeout(CALL_MS);
    try {
      return await this.#rest[method](path, {
        ...(body === undefined ? {} : { body }),
        ...(query === undefined ? {} : { query }),
        ...(auth === false ? { auth } : {}),
        signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
      });
    } catch (error) {
      const failure = toChannelError(error);
      if (failure.retryAfterMs !== undefined) this.#pauses.pause(bucket, failure.retryAfterMs);
      throw failure;
    }
  }
}
