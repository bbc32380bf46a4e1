/** The phrases of a Markdown document as runs of Slack's rich text. Pure. */
import type { Nodes } from 'mdast';
import { cleanText } from '../../../src/lib/text.ts';
import type { Run, Style } from './rich-text.ts';

/** Deeper nodes are shown as plain text: no one nests that deeply, and the stack is finite. */
export const MAX_DEPTH = 40;
/** Longest address that Slack accepts in a link. */
const MAX_URL = 3_000;

/** The runs of a phrase. */
function runsOf(node: Nodes, style: Style, depth: number): Run[] {
  if (depth > MAX_DEPTH) return textRuns(textIn(node), style);
  switch (node.type) {
    case 'text':
    case 'html':
      return textRuns(node.value, style);
    case 'inlineCode':
      return textRuns(node.value, { ...style, code: true });
    case 'break':
      return textRuns('\n', style);
    case 'strong':
      return within(node.children, { ...style, bold: true }, depth);
    case 'emphasis':
      return within(node.children, { ...style, italic: true }, depth);
    case 'delete':
      return within(node.children, { ...style, strike: true }, depth);
    case 'link':
      return link(node.url, within(node.children, style, depth), style);
    case 'image':
      return link(node.url, textRuns(node.alt ?? '', style), style);
    default:
      return 'children' in node ? within(node.children, style, depth) : [];
  }
}

/** The runs of several phrases. */
export function within(nodes: readonly Nodes[], style: Style, depth: number): Run[] {
  return nodes.flatMap((node) => runsOf(node, style, depth + 1));
}

/** A text as one run. */
export function textRuns(text: string, style: Style = {}): Run[] {
  const clean = cleanText(text);
  if (clean === '') return [];
  return [{ type: 'text', text: clean, ...(Object.keys(style).length > 0 && { style }) }];
}

/** The text of a node without any structure, without recursion. */
export function textIn(node: Nodes): string {
  let text = '';
  const open: Nodes[] = [node];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if ('value' in next) text += next.value;
    if ('children' in next) open.push(...next.children.toReversed());
  }
  return text;
}

/** Links only http and https. The true address follows a text that looks like another address. */
function link(url: string, inside: Run[], style: Style): Run[] {
  const target = webUrl(url);
  if (target === undefined) return inside;
  const text = inside.map((run) => run.text ?? '').join('');
  const address: Run = { type: 'link', url: target, ...(Object.keys(style).length > 0 && { style }) };
  if (text.trim() === '') return [address];
  if (text === url) return [isSamePlace(text, target) ? { ...address, text } : address];
  if (text.includes('://')) return [...inside, ...textRuns(' (', style), address, ...textRuns(')', style)];
  return [{ ...address, text: text.replaceAll('\n', ' ') }];
}

/**
 * True if an address as written leads to that host, and only its path has letters that Slack would show as numbers.
 * For a host with such letters the true name is shown: two that look the same may be different.
 */
function isSamePlace(written: string, target: string): boolean {
  return written !== target && written.startsWith(`${new URL(target).origin}/`);
}

/** Undefined for anything but a web address. */
function webUrl(url: string): string | undefined {
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) return undefined;
  return parsed.href.length > MAX_URL ? undefined : parsed.href;
}
