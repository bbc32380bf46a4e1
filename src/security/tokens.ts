/** HTTP callers: the token in the header, its row in the store, and the very first token. */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { AccessStore, Caller } from '../contracts/access.ts';
import { Recent } from '../lib/recent.ts';
import { hashSecret, newToken } from './secrets.ts';

/** How long a found token is cached without asking the store: a revoked token dies within this time. */
export const TOKEN_CACHE_MS = 1_000;
const MAX_CACHED = 10_000;
/** Longest `Authorization` value that is looked at. */
const MAX_HEADER = 512;

/** Makes the look-up behind `Authorization`; only `Bearer <token>` counts. The result throws only `StoreError`. */
export function createAuthenticator(
  access: Pick<AccessStore, 'tokenByHash'>,
  now: () => number,
): (authorization: string | undefined) => Promise<Caller | undefined> {
  const callers = new Recent<Caller>(TOKEN_CACHE_MS, MAX_CACHED, now);
  return async (authorization) => {
    const token = bearerToken(authorization);
    if (token === undefined) return undefined;
    const hash = hashSecret(token);
    const known = callers.get(hash);
    if (known !== undefined) return known;
    const record = await access.tokenByHash(hash);
    if (record === undefined) return undefined;
    const caller: Caller = { tokenId: record.tokenId, scopes: record.scopes };
    callers.set(hash, caller);
    return caller;
  };
}

function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined || authorization.length > MAX_HEADER) return undefined;
  return /^Bearer ([A-Za-z0-9._~+/=-]+)$/.exec(authorization)?.[1];
}

/**
 * Sees to it that one admin token exists: `GATEWAY_TOKEN` when given, else the one in `$GATEWAY_HOME/token`, else a new
 * one, which is told through `announce` (a terminal) or written to that file with mode 0600. Never through the log.
 */
export async function ensureFirstToken(options: {
  access: Pick<AccessStore, 'putToken' | 'tokens'>;
  home: string;
  fromEnvironment: string | undefined;
  announce: ((token: string) => void) | undefined;
}): Promise<{ file?: string }> {
  const { access, home, fromEnvironment, announce } = options;
  const file = path.join(home, 'token');
  if (fromEnvironment !== undefined) {
    await access.putToken({
      hash: hashSecret(fromEnvironment),
      name: 'GATEWAY_TOKEN',
      scopes: ['chat', 'admin'],
    });
    return {};
  }
  if (existsSync(file)) {
    const kept = (await readFile(file, 'utf8')).trim();
    await access.putToken({ hash: hashSecret(kept), name: 'first', scopes: ['chat', 'admin'] });
    return { file };
  }
  if ((await access.tokens()).length > 0) return {};
  const token = newToken();
  await access.putToken({ hash: hashSecret(token), name: 'first', scopes: ['chat', 'admin'] });
  if (announce !== undefined) {
    announce(token);
    return {};
  }
  await writeFile(file, `${token}\n`, { mode: 0o600 });
  return { file };
}
