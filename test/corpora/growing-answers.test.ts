/** Answers as they grow, bite by bite, on every network: each prefix keeps every word, and the end equals the whole. */
import { describe, expect, it } from 'vitest';
import { noteProgress, runsAll } from '../campaign.ts';
import { answers, inBites } from './answers.ts';
import {
  joinedViews,
  type Look,
  NETWORKS,
  shownAsRich,
  shownInTheEnd,
  shownOf,
  shownWhileGrowing,
} from './networks.ts';
import { addWords, haveAll, lostWords, type Words, wordsOf, wordsOfMarkdown, wordsOfRich } from './words.ts';

/** Characters per bite: a token, and single characters in every fifth answer. */
const [TOKEN, FINE] = runsAll ? [4, 1] : [160, 40];
const FINE_EVERY = 5;
/** The longest answer in single characters, on a busy machine, in milliseconds. */
const LONGEST_MS = 300_000;

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

/** What one network has shown of a growing answer, with markup and without. */
class ShownWords {
  readonly #settled: (readonly [string, string])[] = [];
  readonly #words = [new Map<string, number>(), new Map<string, number>()] as const;

  /** The words that are missing now. What has settled is counted once, and read again only if words seem to be lost. */
  lost(expected: Words, { settled, open }: Look): string[] {
    for (const views of settled) {
      this.#settled.push(views);
      for (const [at, words] of this.#words.entries()) addWords(words, wordsOf(views[at] ?? ''));
    }
    const now = joinedViews(open);
    const whole = (): [string, string] => joinedViews([...this.#settled, ...open]);
    return now.flatMap((view, at) =>
      haveAll(expected, this.#words[at] ?? new Map(), wordsOf(view))
        ? []
        : lostWords(expected, whole()[at] ?? ''),
    );
  }
}

describe('every network', () => {
  it.each(ANSWERS)(
    'accepts every prefix of answer $number, with every word of its complete lines',
    async (answer) => {
      const shown = new Map(NETWORKS.map((network) => [network, new ShownWords()]));
      const lost: unknown[] = [];
      let known = { lines: '', words: await wordsOfMarkdown('') };
      for (const { text, looks } of shownWhileGrowing(bitesOf(answer))) {
        const lines = settledLines(text);
        if (lines !== known.lines) known = { lines, words: await wordsOfMarkdown(lines) };
        for (const look of looks)
          for (const word of shown.get(look.network)?.lost(known.words, look) ?? [])
            lost.push({ end: text.slice(-80), on: look.network.name, word });
      }
      expect(lost).toEqual([]);
      noteProgress('growing answers', answer.number + 1, ALL.length);
    },
    LONGEST_MS,
  );
});

describe.each(NETWORKS)('$name', (network) => {
  it.each(ANSWERS)('shows answer $number at its end as if it had arrived at once', async (answer) => {
    const whole = await shownOf(network, answer.text);
    expect(shownInTheEnd(network, bitesOf(answer))).toEqual(whole);
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
