/** TLS to Postgres: what each `sslmode` checks, against a real server with a certificate from its own CA. */
import { copyFile, chmod } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tlsOf } from '../../../src/store/database/tls.ts';
import { openDatabase } from '../../../src/store/database/database.ts';
import { type Certificates, makeCertificates } from '../../fakes/network/certificates.ts';
import { type Cluster, startCluster } from '../../crash/cluster.ts';
import { freePort } from '../../fakes/network/free-port.ts';
import { needs } from '../../runs/needs.ts';

describe('a Postgres with TLS', needs('openssl'), () => {
  let cluster: Cluster;
  let own: Certificates;
  let foreign: Certificates;
  let port = 0;

  beforeAll(async () => {
    own = await makeCertificates('DNS:localhost');
    foreign = await makeCertificates('DNS:localhost');
    port = await freePort();
    const prepare = async (folder: string): Promise<string[]> => {
      await copyFile(own.certificate, path.join(folder, 'server.pem'));
      await copyFile(own.key, path.join(folder, 'server.key'));
      await chmod(path.join(folder, 'server.key'), 0o600);
      return [
        'listen_addresses=localhost,127.0.0.1',
        'ssl=on',
        `ssl_cert_file=${folder}/server.pem`,
        `ssl_key_file=${folder}/server.key`,
      ];
    };
    cluster = await startCluster({ port, prepare });
  });
  afterAll(async () => {
    await cluster.close();
    await own.remove();
    await foreign.remove();
  });

  /** The state of the connection: its TLS version, `plain`, or the error. */
  async function connected(host: string, query: string): Promise<string> {
    const url = `postgres://postgres@${host}:${port}/postgres${query}`;
    const database = openDatabase({ url, schema: 'public', retryForMs: 5_000 });
    try {
      const rows = await database.run(
        (sql) => sql`select coalesce(version, 'plain') as tls from pg_stat_ssl where pid = pg_backend_pid()`,
      );
      return String(rows[0]?.['tls']);
    } catch (error) {
      return String(error);
    } finally {
      await database.close();
    }
  }

  it('is used without checking its certificate for require, and in plain text without sslmode', async () => {
    expect(await connected('localhost', '')).toBe('plain');
    expect(await connected('localhost', '?sslmode=disable')).toBe('plain');
    expect(await connected('127.0.0.1', '?sslmode=require')).toBe('TLSv1.3');
  });

  it('is used with verify-full when its CA and its name match', async () => {
    expect(await connected('localhost', `?sslmode=verify-full&sslrootcert=${own.authority}`)).toBe('TLSv1.3');
  });

  it('is refused with verify-full when no known CA signed its certificate', async () => {
    const told = await connected('localhost', '?sslmode=verify-full');
    expect(told).toMatch(/TLS is not what DATABASE_URL asks for .*certificate.*sslrootcert/);
    const other = await connected('localhost', `?sslmode=verify-full&sslrootcert=${foreign.authority}`);
    expect(other).toContain('TLS is not what DATABASE_URL asks for');
  });

  it('is refused with verify-full under a name or address that its certificate does not include', async () => {
    const told = await connected('127.0.0.1', `?sslmode=verify-full&sslrootcert=${own.authority}`);
    expect(told).toMatch(/TLS is not what DATABASE_URL asks for .*127\.0\.0\.1/);
  });

  it('is used with verify-ca, or require with a CA, under any name, but only with that CA', async () => {
    for (const mode of ['sslmode=verify-ca&', 'sslmode=require&', '']) {
      const query = (authority: string): string => `?${mode}sslrootcert=${authority}`;
      expect(await connected('127.0.0.1', query(own.authority))).toBe('TLSv1.3');
      expect(await connected('127.0.0.1', query(foreign.authority))).toContain('TLS is not what');
    }
  });
});

describe('the URL of a database', () => {
  it('keeps its other parameters, and several hosts', () => {
    const url = 'postgres://u:p@one:1,two:2/db';
    expect(tlsOf(`${url}?sslmode=require&application_name=a`)).toEqual({
      url: `${url}?application_name=a`,
      ssl: 'require',
    });
    expect(tlsOf(`${url}?sslmode=verify-full`)).toEqual({ url, ssl: { rejectUnauthorized: true } });
    expect(tlsOf(url)).toEqual({ url });
    expect(tlsOf('postgres://[::1]/db?sslrootcert=system').ssl).toEqual({
      rejectUnauthorized: true,
      host: '::1',
    });
  });

  it('is refused with a misspelled sslmode or an unreadable CA', () => {
    expect(() => tlsOf('postgres://h/db?sslmode=verify-ful')).toThrow(/DATABASE_URL: sslmode must be one of/);
    expect(() => tlsOf('postgres://h/db?sslmode=verify-ca&sslrootcert=/no/such.pem')).toThrow(
      /sslrootcert \/no\/such\.pem cannot be read/,
    );
  });
});
