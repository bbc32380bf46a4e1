/** Secrets in separate files, the way Docker and systemd provide them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withEnvFiles } from '../../src/commands/environment.ts';
import { parley } from '../child.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'parley-secrets-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function secretFile(name: string, text: string): Promise<string> {
  const file = path.join(folder, name);
  await writeFile(file, text, { mode: 0o600 });
  return file;
}

describe('a variable that names a file', () => {
  it('returns its secret, without the trailing line break', async () => {
    const read = withEnvFiles(
      {
        TELEGRAM_BOT_TOKEN_FILE: await secretFile('telegram', '42:secret\n'),
        DATABASE_URL_FILE: await secretFile('database', 'postgres://parley:pass@db/parley\r\n'),
        SHOP_API_KEY_FILE: await secretFile('key', 'k'),
      },
      folder,
    );
    expect(read).toMatchObject({
      TELEGRAM_BOT_TOKEN: '42:secret',
      DATABASE_URL: 'postgres://parley:pass@db/parley',
      SHOP_API_KEY: 'k',
    });
  });

  it('can be in .env, and leaves files that are not secrets alone', async () => {
    await writeFile(
      path.join(folder, '.env'),
      `GATEWAY_TOKEN_FILE=${await secretFile('token', 'from-a-file')}\n`,
    );
    const read = withEnvFiles({ SSL_CERT_FILE: '/etc/ssl/cert.pem', GATEWAY_HOME: folder }, folder);
    expect(read).toMatchObject({ GATEWAY_TOKEN: 'from-a-file', SSL_CERT_FILE: '/etc/ssl/cert.pem' });
    expect(read).not.toHaveProperty('SSL_CERT');
  });

  it.each([
    [
      'is missing',
      async () => path.join(folder, 'none'),
      /GATEWAY_TOKEN_FILE: the file .*none does not exist$/,
    ],
    ['is empty', () => secretFile('empty', ' \n'), /GATEWAY_TOKEN_FILE: the file .*empty is empty/],
    [
      'is no secret',
      () => secretFile('long', 'x'.repeat(10_001)),
      /GATEWAY_TOKEN_FILE: .*too long for a secret/,
    ],
  ])('is named when it %s', async (_, file, message) => {
    const environment = { GATEWAY_TOKEN_FILE: await file() };
    expect(() => withEnvFiles(environment, folder)).toThrow(message);
  });

  it('is refused together with the variable itself, by every command', async () => {
    const file = await secretFile('token', 'a-secret-of-the-file-0123456789');
    const env = {
      GATEWAY_HOME: folder,
      GATEWAY_TOKEN: 'another-0123456789-0123456789',
      GATEWAY_TOKEN_FILE: file,
    };
    expect(() => withEnvFiles(env, folder)).toThrow(/GATEWAY_TOKEN is set, too: leave one of them out/);
    const command = await parley(['config', 'validate'], env);
    expect(command.code).toBe(1);
    expect(command.stderr).toMatch(/GATEWAY_TOKEN_FILE: GATEWAY_TOKEN is set, too/);
    expect(command.stderr + command.stdout).not.toContain('a-secret-of-the-file');
  });
});
