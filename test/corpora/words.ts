/** The words of texts, counted, to find those that a rendering has lost. */
import type { Nodes, Root } from 'mdast';
import { parseMarkdown } from '../../src/lib/markdown/markdown.ts';
import { readableMath, takeOutFormulas } from '../../src/lib/markdown/math-text.ts';
import { documentOf } from '../../src/delivery/text/chunker.ts';

/** How often each word stands in a text. */
export type Words = ReadonlyMap<string, number>;

/** A longer word may be cut where a message is full: it is looked for with all white space left out. */
const MAX_WHOLE = 60;

/** Marks that only combine, direct or separate: networks drop them, or add their own. */
const UNCOUNTED = /[\p{M}\p{Cf}\p{Zl}\p{Zp}\r]/gu;

/** The words of a text: runs of letters and digits. */
export function wordsOf(text: string): Words {
  const counts = new Map<string, number>();
  for (const [word] of text.replaceAll(UNCOUNTED, '').matchAll(/[\p{L}\p{N}]+/gu))
    counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** The words that stand less often in what is shown than in what should be. */
export function lostWords(expected: Words, shown: string): string[] {
  const counts = wordsOf(shown);
  // An address that is its own text is shown with some signs as numbers.
  const decoded = shown.includes('%') ? wordsOf(shown.replaceAll(/%[\da-f]{2}/gi, ' ')) : counts;
  // The address of a link that is none of the web stands after its words, which go on where nothing is shown of it.
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

/** Signs of markup that a document may hold before it is taken as plain text when it is parsed in one piece. */
const TAME_SIGNS = 1_000;

/** The words of an answer in Markdown, parsed in one piece and not as the delivery does it. */
export async function wordsOfMarkdown(markdown: string): Promise<Words> {
  return wordsOf(textOf(await parsed(readableMath(markdown), markdown)));
}

/** The words of an answer that a rich message of Telegram shows, formulas as their sources. */
export async function wordsOfRich(markdown: string): Promise<Words> {
  const { markdown: bare, formulas } = takeOutFormulas(markdown);
  const text = textOf(await parsed(bare, bare));
  return wordsOf(
    text.replaceAll(/\uE010(\d+)\uE011/g, (_, at: string) => formulas[Number(at)]?.source ?? ''),
  );
}

/**
 * A text with very much markup would be taken as plain in one piece, addresses and all: of such a one, as it was written, the
 * delivery's own parts are read.
 */
async function parsed(markdown: string, written: string): Promise<Root> {
  const signs = written.match(/[*_~`[\]<>|&!\\:@\-+\t\n#]/g)?.length ?? 0;
  if (signs <= TAME_SIGNS) return parseMarkdown(markdown);
  return await documentOf(written, () => Promise.resolve());
}

/** The words of an answer, parsed in one piece however much markup it has. */
export function wordsAsRead(markdown: string): Words {
  return wordsOf(textOf(parseMarkdown(readableMath(markdown))));
}

/** What a document says, block by block. */
function textOf(node: Root | Nodes): string {
  if (node.type === 'break') return '\n';
  if (node.type === 'image') return node.alt ?? '';
  // Of words that a carriage return parts, networks drop it, or show a blank; `<br>` breaks lines of cells.
  if ('value' in node) return node.value.replaceAll(/\S*\r\S*|<br ?\/?>/gi, ' ');
  if (!('children' in node)) return '\n';
  const isPhrase = /^(?:paragraph|heading|strong|emphasis|delete|link|tableCell)$/.test(node.type);
  return node.children.map(textOf).join(isPhrase ? '' : '\n');
}
