/** Long answers of every kind: Telegram accepts each part, and the rendering yields after every piece. */
import { expect, it } from 'vitest';
import { renderTelegram } from '../../../channels/telegram/render.ts';
import { chunksOf, SLICE_CHARS } from '../../../src/delivery/text/chunker.ts';
import { LONG_ANSWERS } from '../../corpora/long-answers.ts';
import { cleanVisible, readHtml } from '../../fakes/telegram/html.ts';

const target = { render: renderTelegram, maxLength: 4_096 };

it.each(LONG_ANSWERS)(
  '64 KiB of %s are accepted by Telegram, part by part, piece by piece',
  async (_kind, text) => {
    let pauses = 0;
    const parts = await chunksOf(text, target, () => {
      pauses += 1;
      return Promise.resolve();
    });
    for (const { text: source, plain, length } of parts) {
      expect(length).toBeLessThanOrEqual(4_096);
      expect(cleanVisible(readHtml(source)).text).toBe(plain);
    }
    expect(pauses).toBe(Math.ceil(text.length / SLICE_CHARS) - 1);
  },
);
