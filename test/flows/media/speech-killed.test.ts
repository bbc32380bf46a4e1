/** A real process killed while an answer is being spoken, and again while the voice message is in flight. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { GatewayProcess } from '../../crash/gateways.ts';
import { startFakeOllama } from '../../fakes/ollama/ollama.ts';
import { startFakeSpeech } from '../../fakes/media/speech.ts';
import { FAKE_TOKEN, FakeTelegram } from '../../fakes/telegram/telegram.ts';
import { FRIENDS, OWNER } from '../setup.ts';

const until = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 60_000, interval: 10 });

it('sends a spoken answer once, killed while it is spoken and before the platform has it', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-killed-'));
  const home = path.join(folder, 'home');
  await mkdir(home, { recursive: true });
  const [telegram, ollama, speech] = await Promise.all([
    FakeTelegram.start(),
    startFakeOllama(),
    startFakeSpeech(),
  ]);
  const config = { access: { telegram: { allow: FRIENDS } }, speech: { baseUrl: speech.url } };
  await writeFile(path.join(home, 'config.json'), JSON.stringify(config), { mode: 0o600 });
  const gateway = new GatewayProcess(home, {
    PORT: '0',
    GATEWAY_TOKEN: OWNER,
    OLLAMA_HOST: ollama.url,
    TELEGRAM_BOT_TOKEN: FAKE_TOKEN,
    TELEGRAM_API_ROOT: telegram.root,
  });
  onTestFinished(async () => {
    await gateway.kill();
    await Promise.all([telegram.close(), ollama.close(), speech.close()]);
    await rm(folder, { recursive: true, force: true });
  });
  const start = async (): Promise<void> => {
    gateway.start();
    await gateway.url();
  };
  const [chat = ''] = FRIENDS;
  await start();
  telegram.says(chat, '/voice on', chat);
  await until(() => expect(telegram.screen(chat).at(-1)).toContain('also spoken'));
  const release = speech.hold();
  ollama.answer({ text: 'Once.' }, { when: 'say it once' });
  telegram.says(chat, 'say it once', chat);
  // The text is on screen, and the server is still speaking.
  await until(() => expect(telegram.screen(chat).at(-1)).toBe('Once.'));
  await until(() => expect(speech.spoken).toHaveLength(1));
  await gateway.kill();
  release();
  telegram.failure({ kind: 'silence', method: 'sendVoice' });
  await start();
  // The audio is stored and posted, and the platform has not accepted it.
  await until(() => expect(telegram.silenced).toBe(1));
  expect(speech.spoken).toHaveLength(2);
  await gateway.kill();
  await start();
  await until(() => expect(telegram.screen(chat).slice(-2)).toEqual(['Once.', '[voice answer.ogg]']));
  expect(speech.spoken).toHaveLength(2);
  expect(telegram.count('sendVoice')).toBe(2);
}, 120_000);
