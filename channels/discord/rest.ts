/** Calls to Discord's REST API: every limit and failure surfaces at once as a `ChannelError`, nothing waits or repeats in hiding. */
import { REST } from 'discord.js';
import { BucketPauses } from './bucket-pauses.ts';
import { rateLimited, toChannelError } from './errors.ts';

/** How long Discord may take to begin its answer, and to end it, in milliseconds. */
const ANSWER_MS = 10_000;
const CALL_MS = 15_000;

export interface RestCall {
  method: 'get' | 'post' | 'patch' | 'put';
  path: `/${string}`;
  /** What shares a rate limit with this call, e.g. `send 42`. */
  bucket: string;
  body?: object;
  query?: URLSearchParams;
  /** False for interaction tokens, which stand in the path: a 401 there says nothing about the bot token. */
  auth?: false;
  signal?: AbortSignal;
}

export class DiscordRest {
  readonly #rest: REST;
  /** The library forgets this when a 429 is the first it hears of a bucket. */
  readonly #pauses: BucketPauses;

  constructor(config: { token: string; apiRoot: string; now: () => number }) {
    this.#pauses = new BucketPauses(config.now);
    this.#rest = new REST({
      api: config.apiRoot,
      // Its three silent repeats would double messages and hide outages; delivery decides what is tried again.
      retries: 0,
      rejectOnRateLimit: () => true,
      timeout: ANSWER_MS,
    }).setToken(config.token);
  }

  /** Makes one call; gives the JSON that came. Throws `ChannelError`. */
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
