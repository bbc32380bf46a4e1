/** What one token without `admin` may have at once: messages a minute, sessions, running turns. */
import { type Caller, hasScope } from '../../../src/protocol/access.ts';
import type { GatewayApi } from '../../../src/protocol/gateway-api.ts';
import type { SessionKey } from '../../../src/protocol/message.ts';
import { MAX_SEARCHES_AT_ONCE } from '../../../src/protocol/sessions/session-list.ts';
import type { Receive } from '../../../src/protocol/receive.ts';
import { TtlCache } from '../../../src/lib/ttl-cache.ts';
import { type HttpLimits, MAX_UPLOADS, MAX_UPLOADS_PER_TOKEN, RESERVED_TURNS } from '../config.ts';
import { HttpError } from '../errors.ts';

const MINUTE_MS = 60_000;
/** Tokens, and sessions of tokens, that are remembered. */
const MAX_REMEMBERED = 10_000;
/** How long a session is known to exist without asking the store. */
const KNOWN_MS = 10 * MINUTE_MS;

/** Stands for the turn of a message that is being accepted. */
const NO_TURN_YET = '';

/** How many of something are left, and when that was, by a steady clock. */
export interface Bucket {
  left: number;
  at: number;
}

/** Takes one of the `perMinute` that a bucket gets and holds; if none is left, returns the milliseconds until one is. */
export function takeOne(bucket: Bucket, perMinute: number, now: number): number | undefined {
  bucket.left = Math.min(perMinute, bucket.left + ((now - bucket.at) * perMinute) / MINUTE_MS);
  bucket.at = now;
  if (bucket.left < 1) return Math.ceil(((1 - bucket.left) * MINUTE_MS) / perMinute);
  bucket.left -= 1;
  return undefined;
}

interface TokenUse {
  messages: Bucket;
  /** Sessions that may have a running turn, with the newest turn of each. */
  turns: Map<SessionKey, string>;
  calls: number;
  making: Set<SessionKey>;
}

/** The limits of tokens; the store is asked only when a token seems to be at its limit. */
export class TokenLimits {
  readonly #limits: HttpLimits;
  readonly #gateway: GatewayApi;
  readonly #monotonicNow: () => number;
  readonly #tokens = new Map<string, TokenUse>();
  readonly #known: TtlCache<true>;
  /** Files that arrive now, by token. */
  readonly #uploads = new Map<string, number>();
  /** Searches that run now, by token. */
  readonly #searches = new Map<string, number>();
  /** The newest query to the store about turns, and the one queued behind it. */
  #asked: Promise<void> = Promise.resolve();
  #waiting: Promise<void> | undefined;

  /** `monotonicNow` gives the milliseconds of a steady clock. */
  constructor(limits: HttpLimits, gateway: GatewayApi, monotonicNow: () => number) {
    this.#limits = limits;
    this.#gateway = gateway;
    this.#monotonicNow = monotonicNow;
    this.#known = new TtlCache(KNOWN_MS, MAX_REMEMBERED, monotonicNow);
  }

  /** `receive` within the limits: throws `HttpError` 429 for one message too many. `/stop` always passes. */
  limited(receive: Receive): Receive {
    return async (message, options = {}) => {
      const { caller } = options;
      if (
        caller === undefined ||
        hasScope(caller, 'admin') ||
        /^\s*\/stop\s*$/i.test(message.content.slice(0, 40))
      ) {
        return await receive(message, options);
      }
      const key: SessionKey = `${message.channel}:${message.chatId}`;
      const usage = this.#useOf(caller);
      this.#countMessage(usage);
      await this.#reserveTurn(usage, key);
      try {
        await this.#checkSessions(caller, usage, key);
        const receipt = await receive(message, options);
        if (receipt.kind === 'accepted') {
          usage.turns.set(key, receipt.turnId);
          this.#known.set(knownKey(caller, key), true);
        }
        return receipt;
      } finally {
        usage.making.delete(key);
        if (usage.turns.get(key) === NO_TURN_YET) usage.turns.delete(key);
      }
    };
  }

  /** Counts a completion without a session; returns the function that ends it. Throws `HttpError` 429. */
  async beginCall(caller: Caller): Promise<() => void> {
    if (hasScope(caller, 'admin')) return () => undefined;
    const usage = this.#useOf(caller);
    this.#countMessage(usage);
    await this.#reserveTurn(usage, undefined);
    let isEnded = false;
    return () => {
      if (!isEnded) usage.calls -= 1;
      isEnded = true;
    };
  }

  /** Counts a file sent to a session, as a message and while it arrives; returns what ends that. Throws `HttpError` 429. */
  async beginUpload(caller: Caller, key: SessionKey): Promise<() => void> {
    const { tokenId } = caller;
    const tokenUploads = this.#uploads.get(tokenId) ?? 0;
    const all = [...this.#uploads.values()].reduce((sum, count) => sum + count, 0);
    if (tokenUploads >= MAX_UPLOADS_PER_TOKEN || all >= MAX_UPLOADS) {
      const text =
        tokenUploads >= MAX_UPLOADS_PER_TOKEN
          ? `This token sends ${tokenUploads} files now, the maximum at a time; try again when one has arrived.`
          : 'Too many files are arriving; try again when one has arrived.';
      throw new HttpError(429, 'too_many_uploads', text, { retryAfterMs: 1_000 });
    }
    this.#uploads.set(tokenId, tokenUploads + 1);
    const usage = this.#useOf(caller);
    const end = (): void => {
      usage.making.delete(key);
      const remaining = (this.#uploads.get(tokenId) ?? 1) - 1;
      if (remaining === 0) this.#uploads.delete(tokenId);
      else this.#uploads.set(tokenId, remaining);
    };
    try {
      if (!hasScope(caller, 'admin')) {
        this.#countMessage(usage);
        await this.#checkSessions(caller, usage, key);
      }
      return end;
    } catch (error) {
      end();
      throw error;
    }
  }

  /** Runs a search, of which a token with any rights has only a few at once. Throws `HttpError` 429. */
  async search<T>({ tokenId }: Caller, run: () => Promise<T>): Promise<T> {
    const running = this.#searches.get(tokenId) ?? 0;
    if (running >= MAX_SEARCHES_AT_ONCE) {
      const text = `This token has ${running} searches running, the maximum at a time; try again when one has ended.`;
      throw new HttpError(429, 'too_many_searches', text, { retryAfterMs: 1_000 });
    }
    this.#searches.set(tokenId, running + 1);
    try {
      return await run();
    } finally {
      const left = (this.#searches.get(tokenId) ?? 1) - 1;
      if (left === 0) this.#searches.delete(tokenId);
      else this.#searches.set(tokenId, left);
    }
  }

  /** Counts a session made without a message as a message and a session. Returns the function that ends it. */
  async beginSession(caller: Caller, key: SessionKey): Promise<() => void> {
    if (hasScope(caller, 'admin')) return () => undefined;
    const usage = this.#useOf(caller);
    this.#countMessage(usage);
    try {
      await this.#checkSessions(caller, usage, key);
    } catch (error) {
      usage.making.delete(key);
      throw error;
    }
    return () => void usage.making.delete(key);
  }

  #useOf({ tokenId }: Caller): TokenUse {
    const { messagesPerMinute } = this.#limits;
    const existing = this.#tokens.get(tokenId);
    if (existing !== undefined) return existing;
    const usage: TokenUse = {
      messages: { left: messagesPerMinute, at: this.#monotonicNow() },
      turns: new Map(),
      calls: 0,
      making: new Set(),
    };
    this.#tokens.set(tokenId, usage);
    if (this.#tokens.size > MAX_REMEMBERED) {
      const idle = [...this.#tokens].find(
        ([id, { calls, turns }]) => id !== tokenId && calls + turns.size === 0,
      );
      if (idle !== undefined) this.#tokens.delete(idle[0]);
    }
    return usage;
  }

  #countMessage(usage: TokenUse): void {
    const { messagesPerMinute } = this.#limits;
    const retryAfterMs = takeOne(usage.messages, messagesPerMinute, this.#monotonicNow());
    if (retryAfterMs === undefined) return;
    const text = `This token may send ${messagesPerMinute} messages a minute, and has sent them; try again later.`;
    throw new HttpError(429, 'rate_limited', text, { retryAfterMs });
  }

  /** Reserves a place for a turn or a completion. In a session with a running turn, messages wait behind it. */
  async #reserveTurn(usage: TokenUse, key: SessionKey | undefined): Promise<void> {
    const { turnsPerToken } = this.#limits;
    const all = Math.max(1, Math.floor(this.#gateway.turnConcurrency * (1 - RESERVED_TURNS)));
    if (key !== undefined && usage.turns.has(key)) return;
    const isFull = (): boolean => running(usage) >= turnsPerToken || this.#running() >= all;
    if (isFull()) await this.#forgetEnded();
    if (isFull()) {
      const text =
        running(usage) >= turnsPerToken
          ? `This token has ${running(usage)} turns running, the maximum at a time; try again when one has ended.`
          : 'All turns that tokens without admin may take are running; try again when one has ended.';
      throw new HttpError(429, 'too_many_turns', text, { retryAfterMs: 1_000 });
    }
    if (key === undefined) usage.calls += 1;
    else usage.turns.set(key, NO_TURN_YET);
  }

  #running(): number {
    return [...this.#tokens.values()].reduce((sum, usage) => sum + running(usage), 0);
  }

  /** Asks the store which turns still run: one query at a time, shared by everyone who waits for it. */
  #forgetEnded(): Promise<void> {
    const ask = (): Promise<void> => {
      this.#waiting = undefined;
      return (this.#asked = this.#ask());
    };
    return (this.#waiting ??= this.#asked.then(ask, ask));
  }

  async #ask(): Promise<void> {
    const tokens = [...this.#tokens.values()];
    const turns = tokens.flatMap((usage) =>
      [...usage.turns].map(([key, turnId]) => ({ taken: usage, key, turnId })),
    );
    const startedTurns = turns.filter(({ turnId }) => turnId !== NO_TURN_YET);
    const unfinished = await this.#gateway.unfinishedTurns(startedTurns.map(({ turnId }) => turnId));
    for (const { taken: usage, key, turnId } of startedTurns) {
      if (!unfinished.has(turnId) && usage.turns.get(key) === turnId) usage.turns.delete(key);
    }
  }

  /** Checks the number of sessions if the message would create one. */
  async #checkSessions(caller: Caller, usage: TokenUse, key: SessionKey): Promise<void> {
    const { sessionsPerToken } = this.#limits;
    if (this.#known.get(knownKey(caller, key)) !== undefined || usage.making.has(key)) return;
    if ((await this.#gateway.session(caller, key)) !== undefined) {
      this.#known.set(knownKey(caller, key), true);
      return;
    }
    usage.making.add(key);
    const others = await this.#gateway.sessionCount(caller, sessionsPerToken);
    if (others + usage.making.size <= sessionsPerToken) return;
    const text = `This token owns ${sessionsPerToken} sessions, the maximum; delete one first.`;
    throw new HttpError(429, 'too_many_sessions', text, { retryAfterMs: MINUTE_MS });
  }
}

function running({ turns, calls }: TokenUse): number {
  return turns.size + calls;
}

function knownKey({ tokenId }: Caller, key: SessionKey): string {
  return `${tokenId} ${key}`;
}
