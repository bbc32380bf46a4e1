/** Finds tokens by their digest: cached briefly, and one query at a time no matter how many are requested. */
import type { Caller, TokenStore } from '../protocol/access.ts';
import { type InboundMessage, parseAddress } from '../protocol/message.ts';
import { TtlCache } from '../lib/ttl-cache.ts';
import { createHash, randomBytes, randomInt } from 'node:crypto';
import { z } from 'zod';

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
  /** The callers behind these values now, without the cache; invalid ones are missing. Throws only `StoreError`. */
  recheck: (authorizations: readonly string[]) => Promise<ReadonlyMap<string, Caller>>;
}

/** Whether a browser that others have signed in may stay so: a session ends with the rights of its user. Throws `StoreError`. */
type MayStay = (session: { proxyUser: string; name: string }) => boolean | Promise<boolean>;

/**
 * Makes the lookup. While one query runs, requests are collected for the next, so that a flood of wrong tokens costs few queries.
 */
export function createTokenLookup(
  store: TokenStore,
  monotonicNow: () => number,
  mayStay: MayStay = () => false,
): TokenLookup {
  const cache = new TtlCache<Caller | 'unknown'>(TOKEN_CACHE_MS, MAX_CACHED_TOKENS, monotonicNow);
  const recentUses = new TtlCache<true>(USE_NOTED_EVERY_MS, MAX_CACHED_TOKENS, monotonicNow);
  const find = collected((hashes) => findCallers(store, hashes, mayStay));

  return {
    async authenticate(authorization) {
      const hash = hashOf(authorization);
      if (hash === undefined) return undefined;
      const cached = cache.get(hash);
      if (cached !== undefined) return cached === 'unknown' ? undefined : cached;
      const caller = await find(hash);
      cache.set(hash, caller ?? 'unknown');
      if (caller !== undefined && recentUses.get(hash) === undefined) {
        recentUses.set(hash, true);
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
      const callers = await findCallers(store, [...hashes.values()], mayStay);
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
  store: TokenStore,
  hashes: readonly string[],
  mayStay: MayStay,
): Promise<Map<string, Caller>> {
  const candidates = await store.tokensByHash(hashes);
  const stays = await Promise.all(
    candidates.map(
      async ({ name, proxyUser }) => proxyUser === undefined || (await mayStay({ proxyUser, name })),
    ),
  );
  const rows = candidates.filter((_, index) => stays[index]);
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
  const requests = new Map<string, PromiseWithResolvers<Caller | undefined>>();
  const next = async (): Promise<void> => {
    running = true;
    while (requests.size > 0) {
      const batch = [...requests].slice(0, MAX_LOOKED_UP);
      for (const [hash] of batch) requests.delete(hash);
      try {
        const callers = await query(batch.map(([hash]) => hash));
        for (const [hash, answer] of batch) answer.resolve(callers.get(hash));
      } catch (error) {
        for (const [, answer] of batch) answer.reject(error);
      }
    }
    running = false;
  };
  return async (hash) => {
    const answer = requests.get(hash) ?? Promise.withResolvers<Caller | undefined>();
    requests.set(hash, answer);
    if (!running) void next();
    return await answer.promise;
  };
}

/** A message that a person (`telegram:42`) could write to the bot in private, to check their rights. */
export function privateMessageOf(userId: string): InboundMessage {
  const { channel, chatId: senderId } = parseAddress(userId);
  const base = { id: '', content: '', timestamp: 0, media: [], mentioned: true };
  return { channel, chatId: senderId, senderId, place: 'private', ...base };
}

/** `Session <secret>` is that of a browser's cookie. */
function hashOf(authorization: string | undefined): string | undefined {
  if (authorization === undefined || authorization.length > MAX_HEADER) return undefined;
  // The scheme is case-insensitive (RFC 9110, 11.1).
  const [, scheme = '', secret] = /^(Bearer|Session) ([A-Za-z0-9._~+/=-]+)$/i.exec(authorization) ?? [];
  if (secret === undefined) return undefined;
  return scheme.toLowerCase() === 'session' ? hashSession(secret) : hashSecret(secret);
}

/** Letters and digits that are not easily confused. */
const CODE_ALPHABET = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789';

/** Minimum length of a self-chosen token, and how many of its characters must differ: 128 bits if they are random. */
const MIN_TOKEN_CHARS = 32;

const MIN_TOKEN_VARIETY = 10;

const WEAK_TOKEN = `must be random: at least ${MIN_TOKEN_CHARS} characters, ${MIN_TOKEN_VARIETY} of them different; openssl rand -hex 32 makes one`;

/** A self-chosen token (`GATEWAY_TOKEN`): hard to guess, because wrong tokens lock no one out. */
export const ownToken = z
  .string()
  .max(400)
  .refine((token) => token.length >= MIN_TOKEN_CHARS && new Set(token).size >= MIN_TOKEN_VARIETY, WEAK_TOKEN)
  .regex(/^[A-Za-z0-9._~+/=-]+$/, 'may hold only letters, digits and . _ ~ + / = -');

/** Random bytes of a stored secret: of a cookie, a ticket or a stream. */
export const SECRET_BYTES = 32;

/** A pairing code of 8 characters, about 39 bits, from the system's random source. */
export function newPairingCode(): string {
  return Array.from({ length: 8 }, () => CODE_ALPHABET[randomInt(CODE_ALPHABET.length)]).join('');
}

/** A bearer token of 256 random bits, marked so that people and scanners recognize it. */
export function newToken(): string {
  return `parley_${randomBytes(32).toString('base64url')}`;
}

/**
 * SHA-256 in hex: high-entropy secrets need no slow hash. Looking one up by its digest leaks nothing by timing, because
 * an attacker cannot steer digests.
 */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret, 'utf8').digest('hex');
}

/** The digest of a session's secret. The prefix distinguishes it from tokens: no token may contain a colon. */
export function hashSession(secret: string): string {
  return hashSecret(`session:${secret}`);
}
