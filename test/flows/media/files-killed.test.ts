/** A real process killed while an album arrives and while files are sent: nothing is lost, nothing is done twice. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { runsAll } from '../../campaign.ts';
import { lastUserText } from '../../fakes/model/spoken-text.ts';
import { FRIENDS, OWNER } from '../setup.ts';
import { telegramProcess } from '../telegram-process.ts';

const LONG_WAIT = { timeout: 60_000, interval: 10 };
const until = (check: () => void): Promise<void> => vi.waitFor(check, LONG_WAIT);

/** A gateway in a separate process, with a chat of one person. */
async function setUp() {
  const { telegram, ollama, gateway, home, start, killAndStart } = await telegramProcess();
  await start();
  const [chat = ''] = FRIENDS;
  return {
    telegram,
    ollama,
    chat,
    screen: () => telegram.screen(chat),
    killAndStart,
    /** The requests to the model that answer a message with this text. */
    asked: (text: string) => ollama.calls.filter(({ body }) => lastUserText(body).includes(text)),
    /** The files of the chat's folder, and what is stored of its newest message that brought some. */
    kept: async () => {
      const root = path.join(home, 'workspace', 'sessions');
      const [name = ''] = (await readdir(root)).filter((one) => !one.startsWith('.') && one !== 'stateless');
      const route = `${await gateway.url()}/v1/sessions/telegram:${chat}/messages`;
      const answer = await fetch(route, { headers: { authorization: `Bearer ${OWNER}` } });
      const { messages }: { messages: { role: string; attachments: { file: string }[] }[] } =
        await answer.json();
      const brought = messages.filter(({ role, attachments }) => role === 'user' && attachments.length > 0);
      const files = await readdir(path.join(root, name, 'inbox')).catch(() => []);
      return {
        files: files.filter((one) => !one.startsWith('.')),
        messages: brought.map(({ attachments }) => attachments.map(({ file }) => file)),
      };
    },
  };
}

it('reads an album once and answers it once, killed while it is fetched, between its files, and during the model call', async () => {
  const { telegram, ollama, chat, screen, killAndStart, asked, kept } = await setUp();
  const part = (name: string) =>
    telegram.files.document({ bytes: Buffer.from(`text of ${name}`), name, mimeType: 'text/plain' });
  // The first file is half downloaded.
  telegram.files.failure('silence');
  telegram.sendsAlbum(chat, [{ ...part('one.txt'), caption: 'the album' }, part('two.txt')], chat);
  await until(() => expect(telegram.files.downloads).toBe(1));
  telegram.files.failure('silence', 1);
  await killAndStart();
  // The first one is stored, the second half downloaded.
  await until(() => expect(telegram.files.downloads).toBe(3));
  ollama.answer({ text: 'Never said.', hold: true }, { when: 'the album' });
  await killAndStart();
  // Both are stored, and the model has been called.
  await until(() => expect(asked('the album')).toHaveLength(1));
  ollama.answer('Two texts.', { when: 'the album' });
  await killAndStart();
  await until(() => expect(screen()).toEqual(['Two texts.']));
  expect(asked('the album')).toHaveLength(2);
  for (const { body } of asked('the album'))
    expect(lastUserText(body)).toMatch(/text of one\.txt[\s\S]*text of two\.txt/);
  // Each file was fetched completely once.
  expect(telegram.files.downloads).toBe(4);
  const { files, messages } = await kept();
  expect(files.toSorted()).toEqual(['1-one.txt', '1.2-two.txt']);
  expect(messages).toEqual([['inbox/1-one.txt', 'inbox/1.2-two.txt']]);
}, 240_000);

// Its waits for the platform take a minute.
it.runIf(runsAll)(
  'sends a file once when it is killed before the platform accepts it, and at most twice when it is killed before the note',
  async () => {
    const { telegram, ollama, chat, screen, killAndStart, asked } = await setUp();
    const call = (name: string, args: object) => ({ toolCalls: [{ name, args }] });
    const send = (name: string): void => {
      const said = { when: `send ${name}` };
      ollama.answer(call('write_file', { path: name, content: `text of ${name}` }), said);
      ollama.answer(call('send_file', { path: name }), said);
      ollama.answer({ text: 'Never said.', hold: true }, said);
      telegram.says(chat, `send ${name}`, chat);
    };
    /** Kills it while the model reports that the file was sent; the next process receives the rest of that. */
    const killWithTheModel = async (name: string): Promise<void> => {
      await until(() => expect(asked(`send ${name}`)).toHaveLength(3));
      ollama.answer(`Sent ${name}.`, { when: `send ${name}` });
      await killAndStart();
      await until(() => expect(screen()).toContain(`Sent ${name}.`));
    };
    const copies = (name: string): number => screen().filter((text) => text === `[document ${name}]`).length;
    // The call is in flight, and the platform has not accepted it.
    telegram.failure({ kind: 'silence', method: 'sendDocument' });
    send('before.txt');
    await until(() => expect(telegram.silenced).toBe(1));
    await killWithTheModel('before.txt');
    await until(() => expect(copies('before.txt')).toBe(1));

    // The platform shows the file, and its answer has not arrived: Telegram offers no way to check, so one
    // extra copy is possible.
    telegram.failure({ kind: 'delay', ms: 8_000, method: 'sendDocument' });
    send('after.txt');
    await until(() => expect(copies('after.txt')).toBe(1));
    await killWithTheModel('after.txt');
    await until(() => expect(telegram.count('sendDocument')).toBe(4));
    expect(copies('before.txt')).toBe(1);
    expect(copies('after.txt')).toBe(2);
    expect(telegram.count('sendDocument')).toBe(4);
    for (const name of ['before.txt', 'after.txt']) {
      expect(screen().filter((text) => text === `Sent ${name}.`)).toHaveLength(1);
      const results =
        asked(`send ${name}`)
          .at(-1)
          ?.body.messages.filter(({ role }) => role === 'tool') ?? [];
      expect(results.map(({ content }) => content).join('\n')).not.toContain('Outcome unknown');
    }
  },
  240_000,
);
