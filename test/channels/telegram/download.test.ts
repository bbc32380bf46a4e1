/** Reading files from Telegram: what only Telegram does. */
import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { create, type TelegramTiming } from '../../../channels/telegram/index.ts';
import { GatewayError } from '../../../src/protocol/errors.ts';
import { FAKE_TOKEN } from '../../fakes/telegram/telegram.ts';
import { startRawServer } from '../../fakes/network/raw-server.ts';
import { telegramConfig, telegramDeps } from './setup.ts';
import { startFake } from './started.ts';

/** What reading a file with this id returns, or the error. */
async function read(
  root: string,
  fileId: string,
  timing: Partial<TelegramTiming> = {},
): Promise<Buffer | GatewayError> {
  const channel = create(telegramConfig(root), telegramDeps(), timing);
  const media = { kind: 'file', url: fileId } as const;
  try {
    const chunks: Uint8Array[] = [];
    for await (const chunk of (await channel.download?.(media, AbortSignal.timeout(10_000))) ?? [])
      chunks.push(chunk);
    return Buffer.concat(chunks);
  } catch (error) {
    const isSafe = !inspect(error, { depth: 10, showHidden: true }).includes(FAKE_TOKEN);
    if (error instanceof GatewayError && isSafe) return error;
    throw error;
  }
}

const idOf = (fields: Record<string, unknown>): string =>
  (Object.values(fields)[0] as { file_id: string }).file_id;

describe('a file on Telegram', () => {
  it('of 21 MB is refused in one sentence', async () => {
    const fake = await startFake();
    const size = 21 * 1024 * 1024;
    const id = idOf(fake.files.document({ bytes: Buffer.from('x'), size }));
    const message = 'Telegram gives bots only files of up to 20 MB.';
    expect(await read(fake.root, id)).toMatchObject({ code: 'too_large', retryable: false, message });
    expect(fake.files.downloads).toBe(0);
  });

  it('that is temporarily unavailable can be read later', async () => {
    const fake = await startFake();
    expect(await read(fake.root, 'unknown')).toMatchObject({ code: 'unavailable', retryable: true });
  });

  it('is abandoned when the connection goes silent in the middle', async () => {
    const fake = await startFake();
    const id = idOf(fake.files.voice(Buffer.from('some sound'), 1));
    fake.files.failure('silence');
    const failure = { code: 'unavailable', retryable: true };
    expect(await read(fake.root, id, { silenceMs: 50 })).toMatchObject(failure);
    expect(await read(fake.root, id)).toEqual(Buffer.from('some sound'));
  });

  it.each(['/var/lib/bot/documents/a.pdf', '../../etc/passwd', 'documents/../a', 'http://host/a', ''])(
    'is never looked up at %s',
    async (path) => {
      const server = await startRawServer();
      onTestFinished(() => server.close());
      const body = JSON.stringify({
        ok: true,
        result: { file_id: 'f', file_unique_id: 'u', file_path: path },
      });
      server.reply = Buffer.from(
        `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n${body}`,
      );
      expect(await read(server.url, 'f')).toMatchObject({ code: 'rejected', retryable: false });
    },
  );
});
