/** The files that an answer shows: which are kept, and what remains of them in the text for chats. */
import { expect, it } from 'vitest';
import { StoreError, ToolError } from '../../../src/protocol/errors.ts';
import { createAnswerFiles, MAX_ANSWER_FILES } from '../../../src/delivery/final/answer-files.ts';
import { inEnglish } from '../../../src/protocol/texts/say.ts';

/** Keeps everything except what is named here. */
const answerFiles = (refused: Record<string, Error> = {}) =>
  createAnswerFiles(async (_folder, name) => {
    if (refused[name] !== undefined) throw refused[name];
    return { kind: 'image', name, mimeType: 'image/png', bytes: 1, sha256: name, file: `outbox/${name}` };
  });

it('shows ten files of an answer, each once, and names the others', async () => {
  const images = Array.from({ length: MAX_ANSWER_FILES + 1 }, (_, nth) => `![](${nth}.png)`).join('\n\n');
  const { media, content } = await answerFiles()('f', `${images}\n\n![again](0.png)`, inEnglish);
  expect(media.map(({ inText }) => inText)).toEqual(
    Array.from({ length: MAX_ANSWER_FILES }, (_, nth) => `${nth}.png`),
  );
  expect(content).toBe('(10.png is not shown: an answer shows at most 10 files)');
});

it('keeps the alt text of an image within a sentence, and removes an image on its own line', async () => {
  const { media, content } = await answerFiles()(
    'f',
    'A ![chart](a.png) here.\n\n![**Alone**](b.png)\n\nEnd.',
    inEnglish,
  );
  expect(content).toBe('A chart here.\n\nEnd.');
  expect(media.map(({ caption }) => caption)).toEqual(['chart', 'Alone']);
});

it('says why a file is not shown, and passes on the error when the database is unreachable', async () => {
  const refused = {
    'a.png': new ToolError('not_found', 'There is no "a.png".'),
    '/etc/passwd': new ToolError('bad_path', 'It leads out of the workspace.'),
    'b.png': new ToolError('too_large', 'Files can be at most 50 MB large.'),
  };
  const text = '![x](a.png), ![](/etc/passwd), ![y](b.png)';
  expect(await answerFiles(refused)('f', text, inEnglish)).toEqual({
    media: [],
    content:
      'x (a.png is not shown: there is no such file), (/etc/passwd is not shown: it is not a file of this chat), ' +
      'y (b.png is not shown: Files can be at most 50 MB large)',
  });
  const unavailable = new StoreError('unavailable', 'unavailable');
  await expect(answerFiles({ 'a.png': unavailable })('f', text, inEnglish)).rejects.toBe(unavailable);
});
