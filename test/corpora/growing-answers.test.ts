/** Answers as they grow, bite by bite, on every network: each prefix keeps every word, and the end equals the whole. */
import { describe, expect, it } from 'vitest';
import { runsAll } from '../campaign.ts';
import { answers, inBites } from './answers.ts';
import { NETWORKS, shownAsRich, shownOf, shownWhileGrowing } from './networks.ts';
import { lostWords, wordsOfMarkdown, wordsOfRich } from './words.ts';

/** Characters per bite: a token, and single characters in every fifth answer. */
const [TOKEN, FINE] = runsAll ? [4, 1] : [160, 40];
const FINE_EVERY = 5;

const ALL = answers().map((text, number) => ({ number, text }));
/** `npm test` uses these of the 200 answers. */
const ANSWERS = runsAll ? ALL : ALL.filter(({ number }) => number % 25 === 10);
const bitesOf = ({ number, text }: { number: number; text: string }): string[] =>
  inBites(text, number % FINE_EVERY === 0 ? FINE : TOKEN);

/** The complete lines of a text, without a last one that may still become the head of a table. */
function settledLines(text: string): string {
  const lines = text.slice(0, text.lastIndexOf('\n') + 1);
  const last = lines.lastIndexOf('\n', lines.length - 2) + 1;
  return lines.slice(last).includes('|') ? lines.slice(0, last) : lines;
}

describe.each(NETWORKS)('$name', (network) => {
  it.each(ANSWERS)(
    'accepts every prefix of answer $number, with every word of its complete lines',
    async (answer) => {
      let known = { lines: '', words: await wordsOfMarkdown('') };
      for (const { text, shown } of shownWhileGrowing(network, bitesOf(answer))) {
        const lines = settledLines(text);
        if (lines !== known.lines) known = { lines, words: await wordsOfMarkdown(lines) };
        const { words } = known;
        const lost = shown.flatMap((view) => lostWords(words, view));
        expect({ end: text.slice(-80), lost }).toEqual({ end: text.slice(-80), lost: [] });
      }
    },
  );

  it.each(ANSWERS)('shows answer $number at its end as if it had arrived at once', async (answer) => {
    const looks = [...shownWhileGrowing(network, bitesOf(answer))];
    const whole = await shownOf(network, answer.text);
    expect(looks.at(-1)?.shown).toEqual(whole);
    const expected = await wordsOfMarkdown(answer.text);
    for (const view of whole) expect(lostWords(expected, view)).toEqual([]);
  });
});

describe("Telegram's rich messages", () => {
  it.each(ANSWERS)('contain every word of answer $number', async ({ text }) => {
    const view = await shownAsRich(text);
    const lost = view === undefined ? [] : lostWords(await wordsOfRich(text), view);
    expect(lost).toEqual([]);
  });
});
