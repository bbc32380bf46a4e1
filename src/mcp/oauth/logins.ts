/** The results of signing in to MCP servers: one file per server, readable only by the gateway's user. */
import { mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import type { StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { hostsOf, isLoopback } from '../../lib/connection-url.ts';

/** A sign-in. It is valid only for the server at this address. */
export interface Login {
  url: string;
  client: StoredOAuthClientInformation;
  tokens: StoredOAuthTokens;
  /** Where the sign-in took place: its metadata is read there only; absent = stored by an older version. */
  origins?: string[] | undefined;
  /** Where tokens were issued, and are renewed. */
  tokenUrl?: string | undefined;
}

/** In the protocol client's form; `issuer` names the authorization server. */
const shape = z.object({
  url: z.string(),
  client: z.object({
    client_id: z.string(),
    client_secret: z.string().optional(),
    client_id_issued_at: z.number().optional(),
    client_secret_expires_at: z.number().optional(),
    issuer: z.string().optional(),
  }),
  tokens: z.object({
    access_token: z.string(),
    id_token: z.string().optional(),
    token_type: z.string(),
    expires_in: z.number().optional(),
    scope: z.string().optional(),
    refresh_token: z.string().optional(),
    issuer: z.string().optional(),
  }),
  origins: z.array(z.string()).max(100).optional(),
  tokenUrl: z.string().optional(),
});

/** True for an address to which codes and tokens would travel without encryption, through a network. */
export function isPlain(url: string): boolean {
  return URL.parse(url)?.protocol === 'http:' && !hostsOf(url).every(isLoopback);
}

/** The sign-ins of one home. Server names are safe as file names. */
export interface Logins {
  readonly folder: string;
  /** The sign-in for this address; undefined if there is none, or if `isPlain`. Never throws. */
  read(name: string, url: string): Login | undefined;
  /** Throws `GatewayError('unwritable')`. */
  save(name: string, login: Login): void;
  /** True if there was one. */
  remove(name: string): boolean;
  /** Changes whenever the file does. Never throws. */
  stamp(name: string): string;
  /** Tokens that were read or saved since the start, so that texts omit them. */
  secrets(): readonly string[];
}

/**
 * The store of sign-ins in `folder`. `write` replaces a whole file and throws `GatewayError`; `learnSecrets` receives
 * every token, so that the log omits them.
 */
export function createLogins(
  folder: string,
  write: (file: string, text: string) => void,
  learnSecrets?: (secrets: readonly string[]) => void,
): Logins {
  const fileOf = (name: string): string => path.join(folder, `${name}.json`);
  const secrets = new Set<string>();
  const learn = ({ client, tokens }: Login): void => {
    const all = [tokens.access_token, tokens.refresh_token, tokens.id_token, client.client_secret];
    const fresh = all.flatMap((secret) => (secret === undefined || secrets.has(secret) ? [] : [secret]));
    for (const secret of fresh) secrets.add(secret);
    if (fresh.length > 0) learnSecrets?.(fresh);
  };
  return {
    folder,
    read(name, url) {
      const login = readLogin(fileOf(name));
      // An older version also signed in where anyone on the way could read the tokens.
      if (login?.url !== url || isPlain(url)) return undefined;
      learn(login);
      return login;
    },
    save(name, login) {
      learn(login);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      write(fileOf(name), `${JSON.stringify(login, null, 2)}\n`);
    },
    remove(name) {
      const had = readLogin(fileOf(name)) !== undefined;
      rmSync(fileOf(name), { force: true });
      return had;
    },
    stamp(name) {
      const stats = statSync(fileOf(name), { throwIfNoEntry: false });
      return stats === undefined ? '' : `${stats.mtimeMs} ${stats.ino}`;
    },
    secrets: () => [...secrets],
  };
}

/** Undefined for a file that does not exist or contains no sign-in: then people sign in again. */
function readLogin(file: string): Login | undefined {
  try {
    return shape.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    // No one has signed in, or the file was edited manually.
    return undefined;
  }
}
