/** A real process killed while an answer is being spoken, and again while the voice message is in flight. */
import { expect, it, vi } from 'vitest';
import { startFakeSpeech } from '../../fakes/media/speech.ts';
import { FRIENDS } from '../setup.ts';
import { telegramProcess } from '../telegram-process.ts';

const until = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 60_000, interval: 10 });

it('sends a spoken answer once, killed while it is spoken and before the platform has it', async () => {
  const speech = await startFakeSpeech();
  const { telegram, ollama, gateway, start } = await telegramProcess({
    config: { speech: { baseUrl: speech.url } },
    others: [speech],
  });
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
