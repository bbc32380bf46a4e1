/**
 * What one token without `admin` may have at once: messages a minute, sessions, running turns. Admins are not limited
 * here.
 */
import { type Caller, hasScope } from '../../../src/protocol/access.ts';
import type { GatewayApi } from '../../../src/protocol/gateway-api.ts';
import type { SessionKey } from '../../../src/protocol/message.ts';
import type { Receive } from '../../../src/protocol/receive.ts';
import { Recent } from '../../../src/lib/recent.ts';
import { type HttpLimits, MAX_UPLOADS, MAX_UPLOADS_PER_TOKEN, RESERVED_TURNS } from '../config.ts';
import { HttpError } from '../errors.ts';

const MINUTE_MS = 60_000;
/** Tokens, and sessions of tokens, that are remembered. */
const MAX_REMEMBERED = 10_000;
/** How long a session is known to exist without asking the store. */
const KNOWN_MS = 10 * MINUTE_MS;

export interface TokenLimitsDeps {
  limits: HttpLimits;
  gateway: Pick<GatewayApi, 'session' | 'sessionCount' | 'unfinishedTurns' | 'turnConcurrency'>;
  /** Milliseconds of a steady clock. */
  monotonicNow: () => number;
}

/** Stands for the turn of a message that is being accepted. */
const NO_TURN_YET = '';

interface Taken {
  /** Messages left of the minute, as of `at`. */
  messages: number;
  at: number;
  /** Sessions that may have a running turn, with the newest turn of each. */
  turns: Map<SessionKey, string>;
  /** Completions without a session that run. */
  calls: number;
  /** Sessions that are being made. */
  making: Set<SessionKey>;
}

/**
 * The limits of tokens. What runs is counted here without a query; the store is asked only when a token seems to be at
 * its limit.
 */
export class TokenLimits {
  readonly #limits: HttpLimits;
  readonly #gateway: TokenLimitsDeps['gateway'];
  readonly #monotonicNow: () => number;
  readonly #tokens = new Map<string, Taken>();
  readonly #known: Recent<true>;
  /** Files that arrive now, by token. */
  readonly #uploads = new Map<string, number>();
  /** The newest query to the store about turns, and the one queued behind it. */
  #asked: Promise<void> = Promise.resolve();
  #waiting: Promise<void> | undefined;

  constructor({ limits, gateway, monotonicNow }: TokenLimitsDeps) {
    this.#limits = limits;
    this.#gateway = gateway;
    this.#monotonicNow = monotonicNow;
    this.#known = new Recent(KNOWN_MS, MAX_REMEMBERED, monotonicNow);
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
      const taken = this.#taken(caller);
      this.#takeMessage(taken);
      await this.#takeTurn(taken, key);
      try {
        await this.#checkSessions(caller, taken, key);
        const receipt = await receive(message, options);
        if (receipt.kind === 'accepted') {
          taken.turns.set(key, receipt.turnId);
          this.#known.set(knownKey(caller, key), true);
        }
        return receipt;
      } finally {
        taken.making.delete(key);
        if (taken.turns.get(key) === NO_TURN_YET) taken.turns.delete(key);
      }
    };
  }

  /** Counts a completion without a session; returns the function that ends it. Throws `HttpError` 429. */
  async beginCall(caller: Caller): Promise<() => void> {
    if (hasScope(caller, 'admin')) return () => undefined;
    const taken = this.#taken(caller);
    this.#takeMessage(taken);
    await this.#takeTurn(taken, undefined);
    let ended = false;
    return () => {
      if (!ended) taken.calls -= 1;
      ended = true;
    };
  }

  /**
   * Counts a file that is sent to a session: like a message, and while it arrives. Returns the function that ends it.
   * Throws `HttpError` 429. Admins may have only as many at once as others, because each takes disk.
   */
  async beginUpload(caller: Caller, key: SessionKey): Promise<() => void> {
    const { tokenId } = caller;
    const own = this.#uploads.get(tokenId) ?? 0;
    const all = [...this.#uploads.values()].reduce((sum, count) => sum + count, 0);
    if (own >= MAX_UPLOADS_PER_TOKEN || all >= MAX_UPLOADS) {
      const text =
        own >= MAX_UPLOADS_PER_TOKEN
          ? `This token sends ${own} files now, the maximum at a time; try again when one has arrived.`
          : 'Too many files are arriving; try again when one has arrived.';
      throw new HttpError(429, 'too_many_uploads', text, { retryAfterMs: 1_000 });
    }
    this.#uploads.set(tokenId, own + 1);
    const taken = this.#taken(caller);
    const end = (): void => {
      taken.making.delete(key);
      const left = (this.#uploads.get(tokenId) ?? 1) - 1;
      if (left === 0) this.#uploads.delete(tokenId);
      else this.#uploads.set(tokenId, left);
    };
    try {
      if (!hasScope(caller, 'admin')) {
        this.#takeMessage(taken);
        await this.#checkSessions(caller, taken, key);
      }
      return end;
    } catch (error) {
      end();
      throw error;
    }
  }

  /**
   * Counts a session that is made without a message: like a message, and among the token's sessions. Returns the
   * function that ends it.
   */
  async beginSession(caller: Caller, key: SessionKey): Promise<() => void> {
    if (hasScope(caller, 'admin')) return () => undefined;
    const taken = this.#taken(caller);
    this.#takeMessage(taken);
    try {
      await this.#checkSessions(caller, taken, key);
    } catch (error) {
      taken.making.delete(key);
      throw error;
    }
    return () => void taken.making.delete(key);
  }

  #taken({ tokenId }: Caller): Taken {
    const { messagesPerMinute } = this.#limits;
    const known = this.#tokens.get(tokenId);
    if (known !== undefined) return known;
    const made: Taken = {
      messages: messagesPerMinute,
      at: this.#monotonicNow(),
      turns: new Map(),
      calls: 0,
      making: new Set(),
    };
    this.#tokens.set(tokenId, made);
    if (this.#tokens.size > MAX_REMEMBERED) {
      const idle = [...this.#tokens].find(
        ([id, { calls, turns }]) => id !== tokenId && calls + turns.size === 0,
      );
      if (idle !== undefined) this.#tokens.delete(idle[0]);
    }
    return made;
  }

  #takeMessage(taken: Taken): void {
    const { messagesPerMinute } = this.#limits;
    const now = this.#monotonicNow();
    const gained = ((now - taken.at) * messagesPerMinute) / MINUTE_MS;
    taken.messages = Math.min(messagesPerMinute, taken.messages + gained);
    taken.at = now;
    if (taken.messages < 1) {
      const retryAfterMs = Math.ceil(((1 - taken.messages) * MINUTE_MS) / messagesPerMinute);
      const text = `This token may send ${messagesPerMinute} messages a minute, and has sent them; try again later.`;
      throw new HttpError(429, 'rate_limited', text, { retryAfterMs });
    }
    taken.messages -= 1;
  }

  /**
   * Reserves a place for a turn in a session, or for a completion without one. A session with a running turn may take
   * further messages: they wait behind it.
   */
  async #takeTurn(taken: Taken, key: SessionKey | undefined): Promise<void> {
    const { turnsPerToken } = this.#limits;
    const all = Math.max(1, Math.floor(this.#gateway.turnConcurrency * (1 - RESERVED_TURNS)));
    if (key !== undefined && taken.turns.has(key)) return;
    const isFull = (): boolean => running(taken) >= turnsPerToken || this.#running() >= all;
    if (isFull()) await this.#forgetEnded();
    if (isFull()) {
      const text =
        running(taken) >= turnsPerToken
          ? `This token has ${running(taken)} turns running, the maximum at a time; try again when one has ended.`
          : 'All turns that tokens without admin may take are running; try again when one has ended.';
      throw new HttpError(429, 'too_many_turns', text, { retryAfterMs: 1_000 });
    }
    if (key === undefined) taken.calls += 1;
    else taken.turns.set(key, NO_TURN_YET);
  }

  #running(): number {
    return [...this.#tokens.values()].reduce((sum, taken) => sum + running(taken), 0);
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
    const asked = tokens.flatMap((taken) =>
      [...taken.turns].map(([key, turnId]) => ({ taken, key, turnId })),
    );
    const known = asked.filter(({ turnId }) => turnId !== NO_TURN_YET);
    const unfinished = await this.#gateway.unfinishedTurns(known.map(({ turnId }) => turnId));
    for (const { taken, key, turnId } of known) {
      if (!unfinished.has(turnId) && taken.turns.get(key) === turnId) taken.turns.delete(key);
    }
  }

  /** Checks the number of sessions if the message would create one. */
  async #checkSessions(caller: Caller, taken: Taken, key: SessionKey): Promise<void> {
    const { sessionsPerToken } = this.#limits;
    if (this.#known.get(knownKey(caller, key)) !== undefined || taken.making.has(key)) return;
    if ((await this.#gateway.session(caller, key)) !== undefined) {
      this.#known.set(knownKey(caller, key), true);
      return;
    }
    taken.making.add(key);
    const others = await this.#gateway.sessionCount(caller, sessionsPerToken);
    if (others + taken.making.size <= sessionsPerToken) return;
    const text = `This token owns ${sessionsPerToken} sessions, the maximum; delete one first.`;
    throw new HttpError(429, 'too_many_sessions', text, { retryAfterMs: MINUTE_MS });
  }
}

function running({ turns, calls }: Taken): number {
  return turns.size + calls;
}

function knownKey({ tokenId }: Caller, key: SessionKey): string {
  return `${tokenId} ${key}`;
}
