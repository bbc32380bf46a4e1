/** TLS to Postgres in libpq's terms: postgres.js ignores `sslrootcert`, and checks no certificate for `require`. */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type postgres from 'postgres';
import { StoreError } from '../../protocol/errors.ts';
import { hostsOf } from '../../lib/connection-url.ts';

/** From no checks to all; like in libpq, `allow`, `prefer` and `require` check no certificate. */
const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
type SslMode = (typeof SSL_MODES)[number];

/** Codes of Node that mean that the server's certificate is not the expected one. */
const UNTRUSTED = /^(ERR_TLS_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|ERR_SSL_)/;

/** The connection settings for postgres.js. */
export interface TlsOfUrl {
  /** Without the TLS parameters, which the driver would send to the server as settings. */
  url: string;
  /** Undefined: the URL does not mention TLS. */
  ssl?: postgres.Options<{}>['ssl'];
}

/**
 * Reads `sslmode` (or `ssl`) and `sslrootcert`, a file or `system`. Like libpq, `sslrootcert` alone or with `require`
 * checks the certificate but not its name. Throws `StoreError('bad_database_url')`.
 */
export function tlsOf(text: string): TlsOfUrl {
  const at = text.indexOf('?');
  if (at < 0) return { url: text };
  const query = new URLSearchParams(text.slice(at + 1));
  const rootCert = query.get('sslrootcert');
  const mode = modeOf(query.get('sslmode') ?? query.get('ssl'), rootCert);
  for (const name of ['sslmode', 'ssl', 'sslrootcert']) query.delete(name);
  const url = query.size === 0 ? text.slice(0, at) : `${text.slice(0, at)}?${query.toString()}`;
  if (mode === undefined) return { url };
  if (mode === 'disable') return { url, ssl: false };
  if (mode === 'allow' || mode === 'prefer' || mode === 'require') return { url, ssl: mode };
  const ca = rootCert === null || rootCert === 'system' ? {} : { ca: readCertificates(rootCert) };
  const checked = { rejectUnauthorized: true, ...ca };
  if (mode === 'verify-ca') return { url, ssl: { ...checked, checkServerIdentity: () => undefined } };
  const hosts = hostsOf(text);
  const [host = ''] = hosts;
  // The driver names the host only if it is not an IP address; Node would then compare the certificate with
  // "localhost".
  return { url, ssl: hosts.length === 1 && isIP(host) > 0 ? { ...checked, host } : checked };
}

function modeOf(sslmode: string | null, rootCert: string | null): SslMode | undefined {
  if (sslmode === null)
    return rootCert === null ? undefined : rootCert === 'system' ? 'verify-full' : 'verify-ca';
  const mode = SSL_MODES.find((one) => one === sslmode);
  if (mode === undefined && (sslmode === 'true' || sslmode === 'false'))
    return sslmode === 'true' ? 'require' : 'disable';
  if (mode === undefined) {
    throw new StoreError('bad_database_url', `DATABASE_URL: sslmode must be one of ${SSL_MODES.join(', ')}.`);
  }
  return mode === 'require' && rootCert !== null ? 'verify-ca' : mode;
}

function readCertificates(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new StoreError('bad_database_url', `DATABASE_URL: sslrootcert ${file} cannot be read.`, { cause });
  }
}

/** How to fix a server whose certificate was refused; undefined for every other error. */
export function untrusted(error: unknown): StoreError | undefined {
  if (!(error instanceof Error) || !('code' in error) || !UNTRUSTED.test(String(error.code)))
    return undefined;
  return new StoreError(
    'database_untrusted',
    `The database's TLS is not what DATABASE_URL asks for (${error.message}): check sslmode, sslrootcert and the name of the host.`,
    { cause: error },
  );
}
