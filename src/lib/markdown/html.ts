/** A Markdown document as the subset of HTML that chat clients and mail programs show, with a plain-text version. Pure. */
import type { Code, List, ListItem, PhrasingContent, Root, RootContent, Table } from 'mdast';
import { type Details, foldDetails } from './details.ts';
import { textBelow } from './markdown.ts';
import { cleanText } from '../text.ts';
import { drawTable } from './text-table.ts';

/** The tags that answers use, out of those that clients must show ("m.room.message msgtypes"). */
export interface Piece {
  html: string;
  /** The same without markup, for notifications and clients without HTML. */
  plain: string;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Deeper nodes are shown as plain text: clients show at most 100 nested tags, and a list takes two. */
export const MAX_DEPTH = 40;

/** The whole document; both are empty if there is nothing to read. */
export function htmlOf(doc: Root): Piece {
  const { html, plain } = blocks(doc.children, 0, doc.children.length > 1);
  return plain.trim() === '' ? { html: '', plain: '' } : { html, plain: plain.trim() };
}

/** `isApart`: paragraphs are separate blocks; a single one, and those of short items, are only text. */
function blocks(nodes: readonly RootContent[], depth: number, isApart: boolean): Piece {
  const pieces = foldDetails(nodes)
    .map((node) => (node.type === 'details' ? details(node, depth) : block(node, depth, isApart)))
    .filter(({ html }) => html !== '');
  return joined(pieces, { html: '', plain: isApart ? '\n\n' : '\n' });
}

/** Clients fold it themselves. */
function details({ summary, children, isOpen }: Details, depth: number): Piece {
  if (depth > MAX_DEPTH) return textPiece(textBelow({ type: 'root', children: [...children] }));
  const title = inlines(summary, depth);
  const inside = blocks(children, depth + 1, children.length > 1);
  const { html } = joined([title.html === '' ? title : wrapped('summary', title), inside]);
  const plain = [title.plain, inside.plain].filter((part) => part !== '').join('\n');
  return { html: html === '' ? '' : `<details${isOpen ? ' open' : ''}>${html}</details>`, plain };
}

function block(node: RootContent, depth: number, isApart: boolean): Piece {
  if (depth > MAX_DEPTH) return textPiece(textBelow(node));
  switch (node.type) {
    case 'paragraph': {
      const inside = inlines(node.children, depth);
      return isApart && inside.html !== '' ? wrapped('p', inside) : inside;
    }
    case 'heading':
      return wrapped(`h${node.depth}`, inlines(node.children, depth));
    case 'thematicBreak':
      return { html: '<hr>', plain: '──────────' };
    case 'blockquote': {
      const inside = blocks(node.children, depth + 1, node.children.length > 1);
      return { ...wrapped('blockquote', inside), plain: inside.plain.replaceAll(/^/gm, '> ') };
    }
    case 'list':
      return list(node, depth + 1);
    case 'code':
      return codeBlock(node);
    case 'table':
      return table(node, depth + 1);
    default:
      return inline(node, depth);
  }
}

function codeBlock({ value, lang }: Code): Piece {
  const plain = cleanText(value);
  const language = /^[\w+#.-]{1,32}$/.test(lang ?? '') ? ` class="language-${lang ?? ''}"` : '';
  return { html: `<pre><code${language}>${escapeHtml(plain)}</code></pre>`, plain };
}

function list(node: List, depth: number): Piece {
  const first = node.start ?? 1;
  const isLoose = node.spread === true || node.children.some(({ spread: isSpread }) => isSpread === true);
  const items = node.children.map((item, index) => {
    const inside = listItem(item, depth, isLoose);
    const mark = node.ordered === true ? `${first + index}. ` : '• ';
    const plain = mark + inside.plain.replaceAll('\n', `\n${' '.repeat(mark.length)}`);
    return { ...wrapped('li', inside), plain };
  });
  const inside = joined(items, { html: '', plain: '\n' });
  if (node.ordered !== true) return wrapped('ul', inside);
  return wrapped('ol', inside, first === 1 ? '' : ` start="${first}"`);
}

function listItem({ children, checked }: ListItem, depth: number, isLoose: boolean): Piece {
  const inside = blocks(children, depth + 1, isLoose && children.length > 1);
  if (typeof checked !== 'boolean') return inside;
  return joined([textPiece(checked ? '☑ ' : '☐ '), inside]);
}

function table({ children, align }: Table, depth: number): Piece {
  const rows = children.map((row) => row.children.map((cell) => inlines(cell.children, depth)));
  const plain = drawTable(
    rows.map((row) => row.map((cell) => cell.plain)),
    align ?? [],
  );
  const [head = [], ...body] = rows;
  const rowsHtml = body.map((row) => rowOf('td', row)).join('');
  const tbody = rowsHtml === '' ? '' : `<tbody>${rowsHtml}</tbody>`;
  return { html: `<table><thead>${rowOf('th', head)}</thead>${tbody}</table>`, plain };
}

function rowOf(tag: 'th' | 'td', cells: readonly Piece[]): string {
  return `<tr>${cells.map((cell) => wrapped(tag, cell).html).join('')}</tr>`;
}

function inlines(nodes: readonly PhrasingContent[], depth: number, inLink = false): Piece {
  return joined(nodes.map((node) => inline(node, depth + 1, inLink)));
}

/** A node within a line; unknown kinds are shown as the text that they contain. */
function inline(node: RootContent, depth: number, inLink = false): Piece {
  if (depth > MAX_DEPTH) return textPiece(textBelow(node));
  switch (node.type) {
    case 'text':
    case 'html':
      return textPiece(node.value);
    case 'break':
      return textPiece('\n');
    case 'strong':
      return wrapped('strong', inlines(node.children, depth, inLink));
    case 'emphasis':
      return wrapped('em', inlines(node.children, depth, inLink));
    case 'delete':
      return wrapped('del', inlines(node.children, depth, inLink));
    case 'inlineCode':
      return wrapped('code', textPiece(node.value));
    case 'link':
      return link(node.url, inlines(node.children, depth, true), inLink);
    case 'image':
      return link(node.url, textPiece(node.alt ?? ''), inLink);
    default:
      return textPiece(textBelow(node));
  }
}

/** Only web and mail links become links. The true address follows a text that looks like another address. */
function link(url: string, label: Piece, inLink: boolean): Piece {
  const target = cleanText(url).replaceAll(/\s/g, '%20');
  if (inLink || !/^(?:https?:\/\/|mailto:)./i.test(target))
    return label.plain === '' ? textPiece(target) : label;
  const address = { ...wrapped('a', textPiece(target), ` href="${escapeHtml(target)}"`), plain: target };
  if (label.plain.trim() === '' || label.plain === target) return address;
  if (label.plain.includes('://')) return joined([label, textPiece(' ('), address, textPiece(')')]);
  const linked = wrapped('a', label, ` href="${escapeHtml(target)}"`);
  return { ...linked, plain: `${label.plain} (${target})` };
}

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}

/** Text as people see it: line breaks stay. */
export function textPiece(text: string): Piece {
  const plain = cleanText(text);
  return { html: escapeHtml(plain).replaceAll('\n', '<br>'), plain };
}

export function wrapped(tag: string, { html, plain }: Piece, attributes = ''): Piece {
  return { html: `<${tag}${attributes}>${html}</${tag}>`, plain };
}

export function joined(pieces: readonly Piece[], between: Piece = { html: '', plain: '' }): Piece {
  return {
    html: pieces.map(({ html }) => html).join(between.html),
    plain: pieces.map(({ plain }) => plain).join(between.plain),
  };
}

/** The number of characters that people see of this HTML: its tags are not text, except for line breaks. */
export function visibleLength(html: string): number {
  return html
    .replaceAll('<br>', '\n')
    .replaceAll(/<[^<>]*>/g, '')
    .replaceAll(/&(?:amp|lt|gt|quot);/g, '.').length;
}
