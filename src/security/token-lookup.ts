/** Finds tokens by their digest: cached briefly, and one query at a time no matter how many are requested. */
import type { Caller, TokenStore } from '../protocol/access.ts';
import { Recent } from '../lib/recent.ts';
import { hashSecret, hashSession } from './secrets.ts';

/** How long an answer is cached: a revoked token stops working, and a new one starts, within this time. */
export const TOKEN_CACHE_MS = 400;
const MAX_CACHED_TOKENS = 10_000;
/** Digests of one query. */
export const MAX_LOOKED_UP = 500;
/** The last use of a token is written at most this often. */
export const USE_NOTED_EVERY_MS = 5 * 60_000;
/** Longest `Authorization` value that is read, in UTF-16 units. */
const MAX_HEADER = 512;

export interface TokenLookup {
  /** The caller behind an `Authorization` value; only `Bearer <token>` and `Session <secret>` count. Throws only `StoreError`. */
  authenticate: (authorization: string | undefined) => Promise<Caller | undefined>;
  /**
   * The callers behind these values as they are now, bypassing the cache; invalid ones are missing. Throws only
   * `StoreError`.
   */
  recheck: (authorizations: readonly string[]) => Promise<ReadonlyMap<string, Caller>>;
}

/**
 * Makes the lookup; `monotonicNow` is a monotonic clock in milliseconds, `proxyTokenOf` returns the name of the token that a
 * user of a proxy has now: a session that the proxy started ends when that changes. While one query runs, further
 * requests are collected for the next: a flood of wrong tokens costs few queries, and a valid one in the middle of it
 * is found like any other.
 */
export function createTokenLookup(
  store: Pick<TokenStore, 'tokensByHash' | 'noteTokenUse'>,
  monotonicNow: () => number,
  proxyTokenOf: (user: string) => string | undefined = () => undefined,
): TokenLookup {
  const known = new Recent<Caller | 'unknown'>(TOKEN_CACHE_MS, MAX_CACHED_TOKENS, monotonicNow);
  const noted = new Recent<true>(USE_NOTED_EVERY_MS, MAX_CACHED_TOKENS, monotonicNow);
  const find = collected((hashes) => findCallers(store, hashes, proxyTokenOf));

  return {
    async authenticate(authorization) {
      const hash = hashOf(authorization);
      if (hash === undefined) return undefined;
      const before = known.get(hash);
      if (before !== undefined) return before === 'unknown' ? undefined : before;
      const caller = await find(hash);
      known.set(hash, caller ?? 'unknown');
      if (caller !== undefined && noted.get(hash) === undefined) {
        noted.set(hash, true);
        await store.noteTokenUse(caller.tokenId, USE_NOTED_EVERY_MS, hash);
      }
      return caller;
    },
    async recheck(authorizations) {
      const hashes = new Map(
        authorizations.flatMap((authorization) => {
          const hash = hashOf(authorization);
          return hash === undefined ? [] : [[authorization, hash] as const];
        }),
      );
      const callers = await findCallers(store, [...hashes.values()], proxyTokenOf);
      return new Map(
        [...hashes].flatMap(([authorization, hash]) => {
          const caller = callers.get(hash);
          return caller === undefined ? [] : [[authorization, caller] as const];
        }),
      );
    },
  };
}

async function findCallers(
  store: Pick<TokenStore, 'tokensByHash'>,
  hashes: readonly string[],
  proxyTokenOf: (user: string) => string | undefined,
): Promise<Map<string, Caller>> {
  const found = await store.tokensByHash(hashes);
  const rows = found.filter(
    ({ name, proxyUser }) => proxyUser === undefined || proxyTokenOf(proxyUser) === name,
  );
  return new Map(
    rows.map(({ hash, tokenId, name, scopes, proxyUser }) => [
      hash,
      { tokenId, name, scopes, ...(proxyUser !== undefined && { proxyUser }) },
    ]),
  );
}

/** One query at a time; requests made while it runs go into the next one. */
function collected(
  query: (hashes: readonly string[]) => Promise<Map<string, Caller>>,
): (hash: string) => Promise<Caller | undefined> {
  let running = false;
  const asked = new Map<string, PromiseWithResolvers<Caller | undefined>>();
  const next = async (): Promise<void> => {
    running = true;
    while (asked.size > 0) {
      const batch = [...asked].slice(0, MAX_LOOKED_UP);
      for (const [hash] of batch) asked.delete(hash);
      try {
        const found = await query(batch.map(([hash]) => hash));
        for (const [hash, answer] of batch) answer.resolve(found.get(hash));
      } catch (error) {
        for (const [, answer] of batch) answer.reject(error);
      }
    }
    running = false;
  };
  return async (hash) => {
    const answer = asked.get(hash) ?? Promise.withResolvers<Caller | undefined>();
    asked.set(hash, answer);
    if (!running) void next();
    return await answer.promise;
  };
}

/** `Session <secret>` is that of a browser's cookie. */
function hashOf(authorization: string | undefined): string | undefined {
  if (authorization === undefined || authorization.length > MAX_HEADER) return undefined;
  // The scheme is case-insensitive (RFC 9110, 11.1).
  const [, scheme = '', secret] = /^(Bearer|Session) ([A-Za-z0-9._~+/=-]+)$/i.exec(authorization) ?? [];
  if (secret === undefined) return undefined;
  return scheme.toLowerCase() === 'session' ? hashSession(secret) : hashSecret(secret);
}
