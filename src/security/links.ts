/** What others on the network path of the gateway's own connections could do, and the secrets of these connections. */
import { withPassword, hostsOf, isLoopback } from '../lib/connection-url.ts';

/** The environment variables that name them. */
export interface Links {
  DATABASE_URL?: string | undefined;
  DATABASE_PASSWORD?: string | undefined;
  NATS_URL?: string | undefined;
}

/** One line for each connection that leaves this machine unprotected, with what to write instead. Never throws, repeats no secret. */
export function linkWarnings({ DATABASE_URL: database, NATS_URL: nats }: Links): string[] {
  const warnings: string[] = [];
  if (database !== undefined && leaves(database) && sslModeOf(database) !== 'verify-full') {
    warnings.push(
      'DATABASE_URL leads to another machine without verified TLS: anyone in between can read and change everything. ' +
        'Add ?sslmode=verify-full (and &sslrootcert=/path/ca.pem for a certificate authority of your own), unless the network is private.',
    );
  }
  for (const url of natsUrls(nats).filter(leaves)) {
    const [host = ''] = hostsOf(url);
    if (!url.startsWith('tls://')) {
      warnings.push(
        `NATS_URL leads to ${host} without TLS: its login can be read in transit. Use tls:// instead of nats://, unless the network is private.`,
      );
    }
    if (!/^[^/]*:\/\/[^/?#]*@/.test(url)) {
      warnings.push(
        `NATS_URL has no login for ${host}: anyone who reaches that server can hold live events back, though not read or change them.`,
      );
    }
  }
  return warnings;
}

/** The logins in `NATS_URL`, both as written there and decoded. */
export function natsSecrets(nats: string | undefined): string[] {
  return natsUrls(nats).flatMap((url) => {
    const { username = '', password = '' } = URL.parse(url) ?? {};
    // Without a password the name is a token.
    const secret = password === '' ? username : password;
    return secret === '' ? [] : [...new Set([secret, decoded(secret)])];
  });
}

const natsUrls = (nats: string | undefined): string[] =>
  (nats ?? '')
    .split(',')
    .map((url) => url.trim())
    .filter((url) => url !== '');

const leaves = (url: string): boolean => hostsOf(url).some((host) => !isLoopback(host));

function sslModeOf(url: string): string | null {
  const query = new URLSearchParams(url.split('?', 2)[1] ?? '');
  const isSystem = query.get('sslrootcert') === 'system';
  return query.get('sslmode') ?? query.get('ssl') ?? (isSystem ? 'verify-full' : null);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The address of the database with the password that was given separately, and any problem with that. Never throws. */
export function databaseUrlOf({ DATABASE_URL: url, DATABASE_PASSWORD: password }: Links = {}): {
  url: string | undefined;
  errors: string[];
} {
  if (password === undefined) return { url, errors: [] };
  const whole = url === undefined ? undefined : withPassword(url, password);
  const error =
    'DATABASE_PASSWORD: needs a DATABASE_URL with a user and no password, such as postgres://parley@127.0.0.1:5432/parley';
  return { url: whole, errors: whole === undefined ? [error] : [] };
}
