/** Long answers of every kind, through the cutting of delivery and the strict parser. */
import { expect, it } from 'vitest';
import { renderTelegram } from '../../../channels/telegram/render.ts';
import { chunksOf } from '../../../src/delivery/text/chunker.ts';
import { cleanVisible, readHtml } from '../../fakes/telegram/html.ts';

const SIZE = 64 * 1024;
/** The bar for a whole answer of that size, in milliseconds of the processor: others may be using it, too. */
const BAR_MS = 700;
/** The best of so many runs counts: beside other work the caches are cold. */
const RUNS = 3;

const target = { render: renderTelegram, maxLength: 4_096 };

it.each([
  ['prose', 'A sentence about README.md and /proc in words. '],
  ['paragraphs with links', 'See [the site](https://example.test/a?b=c&d) and [x](tel:+49).\n\n'],
  [
    'tables',
    '| a | b |\n|--|--:|\n| short | 1 |\n| a much longer cell than the others | with words in it |\n\n',
  ],
  ['loose lists', '- item **one** of many\n\n  with more\n\n'],
  ['formulas', 'It is \\(a_1 = \\frac{1}{2}\\) and \\[\\begin{x} q \\end{x}\\] there. '],
  ['quotes', '> said and done\n> again\n\n'],
])(`64 KiB of %s are taken by Telegram, part by part, within ${BAR_MS} ms`, async (_kind, piece) => {
  const text = piece.repeat(Math.ceil(SIZE / piece.length)).slice(0, SIZE);
  await chunksOf(text.slice(0, 8_192), target, () => Promise.resolve());
  let best = Infinity;
  let parts: Awaited<ReturnType<typeof chunksOf>> = [];
  for (let run = 0; run < RUNS && best >= BAR_MS; run += 1) {
    const before = process.threadCpuUsage();
    parts = await chunksOf(text, target, () => Promise.resolve());
    const used = process.threadCpuUsage(before);
    best = Math.min(best, (used.user + used.system) / 1_000);
  }
  for (const { text: source, plain, length } of parts) {
    expect(length).toBeLessThanOrEqual(4_096);
    expect(cleanVisible(readHtml(source)).text).toBe(plain);
  }
  expect(best).toBeLessThan(BAR_MS);
});
