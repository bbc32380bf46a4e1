/** Every CommonMark example and naughty string reaches its readers on every network: nothing refused, no word lost. */
import { describe, expect, it } from 'vitest';
import { runsAll } from '../campaign.ts';
import { NETWORKS, shownAsRich, shownOf, shownOnPage } from './networks.ts';
import { commonMarkExamples, CONTEXTS, naughtyStrings, textOfHtml } from './published.ts';
import { lostWords, wordsAsRead, wordsOf, wordsOfMarkdown, wordsOfRich } from './words.ts';

/** Examples that are rendered differently on purpose: raw HTML and reference definitions stay text. */
const OTHERWISE: ReadonlySet<number> = new Set([
  // The name of a language, after HTML that ends with the block.
  161,
  // Stars between digits, which are signs of multiplication in chats.
  356,
  // A reference link, whose markup separates two words.
  570,
]);
/** Examples that the page renders differently. */
const OTHERWISE_ON_PAGE: ReadonlySet<number> = new Set([
  // Indented lines are not code, so their characters are read.
  36,
  // Deeply indented lists are lists, not code: the browser draws their numbers.
  289, 313,
]);
const EXAMPLES = commonMarkExamples();
const READ = EXAMPLES.filter(({ number }) => !OTHERWISE.has(number));
const NAUGHTY = naughtyStrings();
/** Every third naughty string is tested in a place; full campaigns test all. */
const SHARE = runsAll ? 1 : 3;
const triedIn = (where: string): string[] =>
  NAUGHTY.filter((_, at) => (at + CONTEXTS.findIndex(([one]) => one === where)) % SHARE === 0);

it('have not changed in number', () => {
  expect(EXAMPLES).toHaveLength(652);
  expect(NAUGHTY.length).toBeGreaterThan(450);
});

describe.each(NETWORKS)('$name', (network) => {
  it('shows the words of every example of CommonMark', async () => {
    const lost: unknown[] = [];
    for (const { markdown, html, number } of READ) {
      const expected = wordsOf(textOfHtml(html));
      for (const view of await shownOf(network, markdown)) {
        const words = lostWords(expected, view);
        if (words.length > 0) lost.push({ number, markdown, view, words });
      }
    }
    expect(lost).toEqual([]);
  });

  it.each(CONTEXTS)('shows every naughty string %s', async (where, inContext) => {
    const lost: unknown[] = [];
    for (const text of triedIn(where)) {
      const markdown = inContext(text);
      const expected = await wordsOfMarkdown(markdown);
      for (const view of await shownOf(network, markdown)) {
        const words = lostWords(expected, view);
        if (words.length > 0) lost.push({ markdown, view, words });
      }
    }
    expect(lost).toEqual([]);
  });
});

describe("Telegram's rich messages", () => {
  it('show the words of every example of CommonMark', async () => {
    const lost: unknown[] = [];
    for (const { markdown, html, number } of READ) {
      const view = await shownAsRich(markdown);
      const words = view === undefined ? [] : lostWords(wordsOf(textOfHtml(html)), view);
      if (words.length > 0) lost.push({ number, markdown, view, words });
    }
    expect(lost).toEqual([]);
  });

  it.each(CONTEXTS)('show every naughty string %s', async (where, inContext) => {
    const lost: unknown[] = [];
    for (const text of triedIn(where)) {
      const markdown = inContext(text);
      const view = await shownAsRich(markdown);
      const words = view === undefined ? [] : lostWords(await wordsOfRich(markdown), view);
      if (words.length > 0) lost.push({ markdown, view, words });
    }
    expect(lost).toEqual([]);
  });
});

// An address that no one may follow is shown on no network, and the page treats more texts as one.
const SHOWN = CONTEXTS.filter(([where]) => where !== 'as the address of a link');

describe('the page', () => {
  it('shows the words of every example of CommonMark', () => {
    const lost: unknown[] = [];
    for (const { markdown, html, number } of READ) {
      if (OTHERWISE_ON_PAGE.has(number)) continue;
      const words = lostWords(wordsOf(textOfHtml(html)), shownOnPage(markdown));
      if (words.length > 0) lost.push({ number, markdown, words });
    }
    expect(lost).toEqual([]);
  });

  it.each(SHOWN)('shows every naughty string %s', (where, inContext) => {
    const lost: unknown[] = [];
    for (const text of triedIn(where)) {
      const markdown = inContext(text);
      const words = lostWords(wordsAsRead(markdown), shownOnPage(markdown));
      if (words.length > 0) lost.push({ markdown, words });
    }
    expect(lost).toEqual([]);
  });
});
