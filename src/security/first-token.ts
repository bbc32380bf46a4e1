/**
 * The tokens that a start ensures: the one from the environment, else the one in the home's file, else a newly
 * generated first one.
 */
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Scope, TokenStore } from '../protocol/access.ts';
import { hashSecret, newToken } from './secrets.ts';

const EVERYTHING: Scope[] = ['chat', 'approve', 'commands', 'admin'];

/** What a start found, for the log. */
export interface FirstToken {
  /** The file into which a new token was written. */
  file?: string;
  /** `GATEWAY_TOKEN` or that file, when its token was revoked: it stays revoked. */
  revoked?: string;
}

/**
 * Makes sure that an admin token exists: `GATEWAY_TOKEN` when given, else the one in `$GATEWAY_HOME/token`, else a new
 * one, which `showToken` shows (on a terminal) or which is written to that file, with mode 0600. It is never logged. The
 * environment has at most one token: another value, or none, revokes the previous one.
 */
export async function ensureFirstToken(options: {
  access: Pick<TokenStore, 'replaceToken' | 'removeTokens' | 'addFirstToken'>;
  home: string;
  fromEnvironment: string | undefined;
  showToken: ((token: string) => void) | undefined;
}): Promise<FirstToken> {
  const { access, home, fromEnvironment, showToken } = options;
  const file = tokenFile(home);
  let revoked: string | undefined;
  if (fromEnvironment !== undefined) {
    const token = { hash: hashSecret(fromEnvironment), name: 'GATEWAY_TOKEN', scopes: EVERYTHING };
    if ((await access.replaceToken('env', token)) !== undefined) return {};
    revoked = 'GATEWAY_TOKEN';
  } else if (existsSync(file)) {
    const hash = hashSecret((await readFile(file, 'utf8')).trim());
    // Before the environment's token is revoked: it may be the same one, and keeps what belongs to it.
    const kept = await access.replaceToken('file', { hash, name: 'first', scopes: EVERYTHING });
    await access.removeTokens('env');
    if (kept !== undefined) return {};
    revoked = file;
    await rm(file);
  } else await access.removeTokens('env');
  const token = newToken();
  const origin = showToken === undefined ? 'file' : 'cli';
  const isFirst = await access.addFirstToken(origin, {
    hash: hashSecret(token),
    name: 'first',
    scopes: EVERYTHING,
  });
  const found = revoked === undefined ? {} : { revoked };
  if (!isFirst) return found;
  if (showToken !== undefined) {
    showToken(token);
    return found;
  }
  await writeTokenFile(home, token);
  return { ...found, file };
}

/** Where a generated token is kept. */
export function tokenFile(home: string): string {
  return path.join(home, 'token');
}

/** Rewrites the file, readable by its owner only. */
export async function writeTokenFile(home: string, token: string): Promise<void> {
  await writeFile(tokenFile(home), `${token}\n`, { mode: 0o600 });
}
