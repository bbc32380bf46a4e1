/** Certificates for servers of tests, created with openssl: the test's own authority and what it signs. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Paths of PEM files. */
export interface Certificates {
  authority: string;
  certificate: string;
  key: string;
  remove(): Promise<void>;
}

/** Creates an authority and a certificate for `names`, such as `DNS:localhost`. */
export async function makeCertificates(names: string): Promise<Certificates> {
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-tls-'));
  const at = (name: string): string => path.join(folder, name);
  const openssl = async (line: string, ...more: string[]): Promise<void> => {
    await run('openssl', [...line.split(' '), ...more], { cwd: folder });
  };
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes';
  await openssl(`req -x509 ${key} -keyout ca.key -out ca.pem -days 2 -subj /CN=authority-of-the-test`);
  await openssl(
    `req -x509 ${key} -keyout server.key -out server.pem -days 2 -subj /CN=server -CA ca.pem -CAkey ca.key`,
    '-addext',
    `subjectAltName=${names}`,
    '-addext',
    'basicConstraints=critical,CA:FALSE',
  );
  return {
    authority: at('ca.pem'),
    certificate: at('server.pem'),
    key: at('server.key'),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
