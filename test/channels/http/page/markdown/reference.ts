/**
 * The reader that the page must agree with on any text: the gateway's, plus what the page reads differently on purpose.
 * Each difference that can be switched is an option here; the others are removed from a text by `comparable`.
 */
import type { Link, Nodes, Root } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { toString } from 'mdast-util-to-string';
import { safeHref } from '../../../../../channels/http/page/markdown/links.ts';
import { dialectOf } from '../../../../../src/lib/markdown/dialect.ts';
import { readTags } from '../../../../../src/lib/markdown/markdown.ts';

/** What the page does not support: code by indentation, underlined headings, and addresses without a scheme. */
const DISABLED = ['codeIndented', 'setextUnderline', 'wwwAutolink', 'emailAutolink'];

/** What the reference reads; any length of text, in time up to quadratic. */
export function referenceRoot(text: string): Root {
  const root = fromMarkdown(text, {
    extensions: [...dialectOf(text), { disable: { null: DISABLED } }],
    mdastExtensions: [gfmFromMarkdown()],
  });
  readTags(root, text);
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
