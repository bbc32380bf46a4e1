/** The words of texts, counted, to find those that a rendering has lost. */
import type { Nodes, Root } from 'mdast';
import { parseMarkdown } from '../../src/lib/markdown/markdown.ts';
import { takeOutFormulas } from '../../src/lib/markdown/formulas.ts';
import { readableMath } from '../../src/lib/markdown/math-text.ts';
import { documentOf } from '../../src/delivery/text/chunker.ts';

/** How often each word occurs in a text. */
export type Words = ReadonlyMap<string, number>;

/** A longer word may be cut where a message is full: it is searched with all white space removed. */
const MAX_WHOLE = 60;

/** Characters that only combine, direct or separate: networks drop them, or add their own. */
const UNCOUNTED = /[\p{M}\p{Cf}\p{Zl}\p{Zp}\r]/gu;

/** The words of a text: runs of letters and digits. */
export function wordsOf(text: string): Words {
  const counts = new Map<string, number>();
  for (const [word] of text.replaceAll(UNCOUNTED, '').matchAll(/[\p{L}\p{N}]+/gu))
    counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** Adds words to others that were counted before. */
export function addWords(counts: Map<string, number>, more: Words): void {
  for (const [word, count] of more) counts.set(word, (counts.get(word) ?? 0) + count);
}

/** Whether two parts of what is shown have all the words together. False proves nothing: see `lostWords`. */
export function haveAll(expected: Words, settled: Words, open: Words): boolean {
  for (const [word, count] of expected)
    if ((settled.get(word) ?? 0) + (open.get(word) ?? 0) < count) return false;
  return true;
}

/** The words that occur less often in what is shown than in what should be. */
export function lostWords(expected: Words, shown: string): string[] {
  const counts = wordsOf(shown);
  // An address that is its own text is shown with some characters as numbers.
  const decoded = shown.includes('%') ? wordsOf(shown.replaceAll(/%[\da-f]{2}/gi, ' ')) : counts;
  // The address of a non-web link follows its text, which continues if the address is not shown.
  let joined: Words | undefined;
  const inJoined = (word: string): number => {
    joined ??= wordsOf(shown.replaceAll(/ \([^()\s]{1,300}\)/g, ''));
    return joined.get(word) ?? 0;
  };
  let bare: string | undefined;
  return [...expected].flatMap(([word, count]) => {
    if (Math.max(counts.get(word) ?? 0, decoded.get(word) ?? 0) >= count || inJoined(word) >= count)
      return [];
    if (word.length <= MAX_WHOLE) return [word];
    bare ??= shown.replaceAll(UNCOUNTED, '').replaceAll(/\s/g, '');
    return bare.includes(word) ? [] : [`${word.slice(0, MAX_WHOLE)}…`];
  });
}

/** Markup characters that a document can contain before it is treated as plain text when parsed in one piece. */
const TAME_MARKERS = 1_000;

/** The words of a Markdown answer, parsed in one piece, unlike in the delivery. */
export async function wordsOfMarkdown(markdown: string): Promise<Words> {
  return wordsOf(textOf(await parsed(readableMath(markdown), markdown)));
}

/** The words of an answer that a rich Telegram message shows, formulas as their sources. */
export async function wordsOfRich(markdown: string): Promise<Words> {
  const { markdown: bare, formulas } = takeOutFormulas(markdown);
  const text = textOf(await parsed(bare, bare));
  return wordsOf(
    text.replaceAll(/\uE010(\d+)\uE011/g, (_, at: string) => formulas[Number(at)]?.source ?? ''),
  );
}

/**
 * A text with a lot of markup would be treated as plain in one piece, addresses included: for such a text, the delivery's
 * own parts are parsed from the original.
 */
async function parsed(markdown: string, written: string): Promise<Root> {
  const markers = written.match(/[*_~`[\]<>|&!\\:@\-+\t\n#]/g)?.length ?? 0;
  if (markers <= TAME_MARKERS) return parseMarkdown(markdown);
  return await documentOf(written, () => Promise.resolve());
}

/** The words of an answer, parsed in one piece, however much markup it has. */
export function wordsAsRead(markdown: string): Words {
  return wordsOf(textOf(parseMarkdown(readableMath(markdown))));
}

/** What a document says, block by block. */
function textOf(node: Root | Nodes): string {
  if (node.type === 'break') return '\n';
  if (node.type === 'image') return node.alt ?? '';
  // A carriage return between words is dropped or shown as a blank; `<br>` breaks lines in cells.
  if ('value' in node) return node.value.replaceAll(/\S*\r\S*|<br ?\/?>/gi, ' ');
  if (!('children' in node)) return '\n';
  const isPhrase = /^(?:paragraph|heading|strong|emphasis|delete|link|tableCell)$/.test(node.type);
  return node.children.map(textOf).join(isPhrase ? '' : '\n');
}
