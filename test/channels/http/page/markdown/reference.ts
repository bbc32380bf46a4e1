/**
 * The reader that the page must agree with on any text: the gateway's, plus what the page reads differently on purpose.
 * Each difference that can be switched is an option here; the others are removed from a text by `comparable`.
 */
import type { Link, Nodes, Root } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { toString } from 'mdast-util-to-string';
import { attention } from 'micromark-core-commonmark';
import { gfm } from 'micromark-extension-gfm';
import { safeHref } from '../../../../../channels/http/page/markdown/links.js';

const PUNCTUATION = /[\p{P}\p{S}]/u;
const WITHOUT_BLANKS = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\u3000-\u303f\uff00-\uffef]/u;

const charOf = (code: number | null): string => (code === null || code < 0 ? '' : String.fromCharCode(code));

/** Asterisks close after punctuation even if a letter follows, and open before it in scripts without blanks. */
const tokenize: typeof attention.tokenize = function (effects, ok, nok) {
  const last = charOf(this.previous);
  const withBoth = (code: number | null): ReturnType<typeof ok> => {
    const token = this.events.at(-1)?.[1];
    if (token !== undefined && PUNCTUATION.test(last)) Object.assign(token, { _close: true });
    if (token !== undefined && WITHOUT_BLANKS.test(last) && PUNCTUATION.test(charOf(code)))
      Object.assign(token, { _open: true });
    return ok(code);
  };
  return attention.tokenize.call(this, effects, withBoth, nok);
};
const stars = { ...attention, tokenize };

/** What the gateway does not support: code by indentation, underlined headings, and addresses without a scheme. */
const DISABLED = [
  'htmlFlow',
  'htmlText',
  'definition',
  'gfmFootnoteCall',
  'gfmFootnoteDefinition',
  'codeIndented',
  'setextUnderline',
  'wwwAutolink',
  'emailAutolink',
];
const OPTIONS = {
  extensions: [gfm(), { text: { 42: stars } }, { disable: { null: DISABLED } }],
  mdastExtensions: [gfmFromMarkdown()],
};

/** What the reference reads; any length of text, in time up to quadratic. */
export function referenceRoot(text: string): Root {
  const root = fromMarkdown(text, OPTIONS);
  writeOutAddresses(root);
  return root;
}

/** Host names, mail addresses and unsafe schemes, on their own or in angle brackets, stay as they are written. */
function writeOutAddresses(node: Nodes): void {
  if (!('children' in node)) return;
  node.children.forEach((child, at) => {
    const written = child.type === 'link' ? addressByAccident(child) : undefined;
    if (written === undefined) writeOutAddresses(child);
    else node.children[at] = { type: 'text', value: written };
  });
}

function addressByAccident(link: Link): string | undefined {
  const text = toString(link);
  if (link.position === undefined) return /^https?:/i.test(text) ? undefined : text;
  const { start, end } = link.position;
  const isInAngles = (end.offset ?? 0) - (start.offset ?? 0) === text.length + 2;
  return isInAngles && (safeHref(text) === undefined || text !== link.url) ? `<${text}>` : undefined;
}

/**
 * A text without the few things that the page reads differently and the reference cannot: on the page an address ends
 * before a quotation mark, a backtick, a tilde, a backslash and ">", and a carriage return is a line break. Behind an open
 * bracket, the reference takes markup at the end of an address, and a bracket with a parenthesis, as part of it.
 */
export function comparable(text: string): string {
  const lines = text.replaceAll(/\r\n?/g, '\n').replaceAll(/(https?:\/\/[^\s<"`~\\>]*)(?=["`~\\>])/gi, '$1 ');
  return lines.includes('[') ? lines.replaceAll(/(https?:\/\/[^\s<*]*?)(?=[<*]|\]\()/gi, '$1 ') : lines;
}
