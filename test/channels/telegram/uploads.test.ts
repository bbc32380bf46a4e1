/** A file being sent to Telegram. */
import { fileURLToPath } from 'node:url';
import type { InputFile } from 'grammy/web';
import { expect, test } from 'vitest';
import { withInput } from '../../../channels/telegram/call-options.ts';

const file = {
  channel: 'telegram',
  chatId: '1',
  kind: 'file',
  name: 'notes.txt',
  mimeType: 'text/plain',
  bytes: 1,
  path: fileURLToPath(import.meta.url),
  nonce: 'n',
} as const;

test('a file whose upload ends early is closed', async () => {
  let input: InputFile | undefined;
  const upload = withInput(file, (given) => {
    input = given;
    return Promise.reject(new Error('no answer in time'));
  });
  await expect(upload).rejects.toThrow('no answer in time');
  expect(await input?.toRaw()).toMatchObject({ destroyed: true });
});

test('a file that is gone is refused before a request is started', async () => {
  const gone = { ...file, path: `${file.path}.gone` };
  const upload = withInput(gone, () => Promise.reject(new Error('a request was begun')));
  await expect(upload).rejects.toThrow('The file notes.txt cannot be read.');
});
