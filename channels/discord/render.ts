/** Renders a Markdown document in Discord's dialect; no text in it can ping, hide or end the markup around it. Pure. */
import type {
  Delete,
  Emphasis,
  List,
  ListItem,
  Nodes,
  Paragraph,
  PhrasingContent,
  Root,
  RootContent,
  Strong,
  Table,
} from 'mdast';
import type { Rendered } from '../../src/protocol/channel.ts';
import { type Details, foldDetails } from '../../src/lib/markdown/details.ts';
import { textBelow } from '../../src/lib/markdown/markdown.ts';
import { cleanText } from '../../src/lib/text.ts';
import { drawTable } from '../../src/lib/markdown/text-table.ts';

/** Zero-width space: separates characters that Discord would otherwise read as one mark. */
const ZERO_WIDTH = '\u200b';

/** Words that ping everyone after an `@`. */
const PING = '(?:everyone|here)';

/** Addresses in plain text, without the punctuation after them; an address ends before a ping. */
const ADDRESS = new RegExp(
  String.raw`https?:\/\/(?:(?!@${PING})[^\s<>\`\\])*(?!@${PING})[^\s<>\`\\.,:;"')\]]`,
  'g',
);

interface Scope {
  /** False: only the text, without markup. */
  markup: boolean;
  /** Marks that are open around the node: Discord cannot nest a mark in itself. */
  open: readonly string[];
  /** Inside a list or a quote, where Discord has no headings. */
  inner: boolean;
  depth: number;
}

/** Deeper nodes are shown as plain text: no one nests that deeply, and the stack is finite. */
const MAX_DEPTH = 60;

/** Renders for Discord. `length` counts UTF-16 units: never fewer than what Discord counts. */
export function render(doc: Root): Rendered {
  const scope: Scope = { markup: true, open: [], inner: false, depth: 0 };
  const text = cleanText(blocks(doc.children, scope)).trim();
  const plain = cleanText(blocks(doc.children, { ...scope, markup: false })).trim();
  return { text, plain, length: text.length };
}

/** Blocks below each other; no blank line after a heading. */
function blocks(nodes: readonly RootContent[], scope: Scope): string {
  let text = '';
  let previous: RootContent | Details | undefined;
  for (const node of foldDetails(nodes)) {
    const next = node.type === 'details' ? details(node, scope) : block(node, scope);
    if (next === '') continue;
    text += `${previous === undefined ? '' : previous.type === 'heading' ? '\n' : '\n\n'}${next}`;
    previous = node;
  }
  return text;
}

/**
 * A spoiler is all that Discord folds: it hides its text until a click, but contains no blocks. So paragraphs are spoilers below
 * their summary in small print, one each, and anything else, such as a proof with code, is a quote, which everyone sees.
 */
function details({ summary, children, isOpen }: Details, scope: Scope): string {
  if (scope.depth >= MAX_DEPTH)
    return literal(children.map((child) => textBelow(child, '')).join(' '), scope);
  const paragraphs = isOpen || scope.inner ? undefined : foldable(children);
  if (paragraphs !== undefined) {
    const inner = { ...scope, depth: scope.depth + 1, open: [...scope.open, '||'] };
    const title = phrases(summary, inner).replaceAll('\n', ' ').trim();
    const texts = paragraphs.map((one) => phrases(one.children, inner)).filter((text) => text.trim() !== '');
    if (!scope.markup) return [title, ...texts].filter(Boolean).join('\n');
    return [...(title === '' ? [] : [`-# ${title}`]), ...texts.map((text) => `||${text}||`)].join('\n');
  }
  const title: RootContent[] = summary.length === 0 ? [] : [{ type: 'strong', children: summary }];
  return quote([...title, ...children], { ...scope, depth: scope.depth + 1 });
}

/** The blocks, if all are paragraphs without anything that would end a spoiler. */
function foldable(nodes: readonly RootContent[]): Paragraph[] | undefined {
  const folded = foldDetails(nodes);
  const paragraphs = folded.filter((node) => node.type === 'paragraph');
  const isWhole = paragraphs.length === folded.length && !paragraphs.some((one) => holds(one, '|'));
  return isWhole ? paragraphs : undefined;
}

function quote(nodes: readonly RootContent[], scope: Scope): string {
  const quoted = blocks(nodes, { ...scope, inner: true });
  return scope.markup ? quoted.replaceAll(/^/gm, '> ') : quoted;
}

function block(node: RootContent, outer: Scope): string {
  if (outer.depth >= MAX_DEPTH) return literal(textBelow(node, ''), outer);
  const scope = { ...outer, depth: outer.depth + 1 };
  switch (node.type) {
    case 'paragraph':
      return paragraph(phrases(node.children, scope), scope);
    case 'heading':
      return heading(node.depth, node.children, scope);
    case 'list':
      return list(node, scope);
    case 'listItem':
      return item(node, '- ', scope);
    case 'blockquote':
      return quote(node.children, scope);
    case 'code':
      return scope.markup ? fence(node.value, node.lang ?? '') : node.value;
    case 'table':
      return table(node, scope);
    case 'thematicBreak':
      return '──────────';
    case 'html':
      return paragraph(literal(node.value, scope), scope);
    default:
      return phrase(node, scope);
  }
}

function paragraph(text: string, scope: Scope): string {
  return scope.markup ? escapeLineStarts(text) : text;
}

function heading(depth: number, children: readonly PhrasingContent[], scope: Scope): string {
  const marked = depth <= 3 && !scope.inner;
  const open = marked ? scope.open : [...scope.open, '**'];
  const text = phrases(children, { ...scope, open })
    .replaceAll('\n', ' ')
    .trim();
  if (text === '' || !scope.markup) return text;
  return marked ? `${'#'.repeat(depth)} ${escapeLineStarts(text)}` : `**${text}**`;
}

function list(node: List, scope: Scope): string {
  const start = node.start ?? 1;
  return node.children
    .map((child, index) => item(child, node.ordered === true ? `${start + index}. ` : '- ', scope))
    .join(node.spread === true ? '\n\n' : '\n');
}

/** An item with its nested content, indented under its marker; code stays at the margin, which keeps its own indentation. */
function item(node: ListItem, mark: string, scope: Scope): string {
  const box = node.checked === true ? '☑ ' : node.checked === false ? '☐ ' : '';
  const inner = { ...scope, inner: true };
  const lines = node.children
    .map((child) => {
      const text = block(child, inner);
      return child.type === 'code' || child.type === 'table' ? text : text.replaceAll('\n', '\n  ');
    })
    .filter((text) => text !== '');
  const [first = '', ...rest] = lines;
  const startsWithBlock = first.startsWith('```') || first.startsWith('> ');
  // A box is a mark of its own.
  const marker = box !== '' && mark === '- ' ? box : mark + box;
  const head = `${marker}${startsWithBlock ? '\n' : ''}${first}`.trimEnd();
  const nested = rest.map((text) => (text.startsWith('```') ? text : `  ${text}`));
  return [head, ...nested].join('\n');
}

function table(node: Table, scope: Scope): string {
  const plain = { ...scope, markup: false };
  const rows = node.children.map((row) => row.children.map((cell) => phrases(cell.children, plain)));
  const aligned = drawTable(rows, node.align ?? []);
  return scope.markup ? fence(aligned, '') : aligned;
}

function phrases(nodes: readonly Nodes[], scope: Scope): string {
  let text = '';
  for (const node of nodes) {
    const next = phrase(node, scope);
    text = scope.markup ? joinPhrases(text, next) : text + next;
  }
  return text;
}

function phrase(node: Nodes, outer: Scope): string {
  if (outer.depth >= MAX_DEPTH) return literal(textBelow(node, ''), outer);
  const scope = { ...outer, depth: outer.depth + 1 };
  switch (node.type) {
    case 'text':
    case 'html':
      return literal(node.value, scope);
    case 'strong':
      return mark(node, '**', scope);
    case 'emphasis':
      return mark(node, '*', scope);
    case 'delete':
      return mark(node, '~~', scope);
    case 'inlineCode':
      return scope.markup ? span(node.value) : node.value;
    case 'break':
      return '\n';
    case 'link':
      return link((inner) => phrases(node.children, inner), node.url, scope);
    case 'image':
      return link((inner) => literal(node.alt ?? '', inner), node.url, scope);
    default:
      return 'children' in node ? phrases(node.children, scope) : '';
  }
}

function literal(text: string, scope: Scope): string {
  return scope.markup ? escapeText(text) : text;
}

/** Puts a mark around a phrase, unless the mark is already open, or code or an address inside contains it. */
function mark(node: Strong | Emphasis | Delete, marker: string, scope: Scope): string {
  const inner = phrases(node.children, { ...scope, open: [...scope.open, marker] });
  const clash = scope.open.includes(marker) || holds(node, marker.charAt(0));
  if (!scope.markup || clash || inner.trim() === '') return inner;
  return `${marker}${inner}${marker}`;
}

/** True if a descendant that cannot be escaped contains the marker. */
function holds(node: Nodes, marker: string): boolean {
  for (const one of within(node)) {
    const raw =
      one.type === 'inlineCode'
        ? [one.value]
        : one.type === 'text'
          ? addressesIn(one.value)
          : one.type === 'link' || one.type === 'image'
            ? [one.url]
            : [];
    if (raw.some((text) => text.includes(marker))) return true;
  }
  return false;
}

/** A node and all its descendants, in reading order, without recursion. */
function* within(node: Nodes): Generator<Nodes> {
  const open: Nodes[] = [node];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    yield next;
    if ('children' in next) open.push(...next.children.toReversed());
  }
}

/** Links only http and https. An address that is its own text stays bare, and no text may pretend to be another address. */
function link(text: (scope: Scope) => string, url: string, scope: Scope): string {
  const label = text(scope).replaceAll('\n', ' ').trim();
  const bare = text({ ...scope, markup: false }).trim();
  const target = webUrl(url);
  if (target === undefined) return label;
  const itself = bare === '' || bare === url;
  if (!scope.markup) return itself ? target : `${label} (${target})`;
  if (itself) return `<${target}>`;
  return bare.includes('://') ? `${label} (<${target}>)` : maskedLink(label, target);
}

/** Makes text appear literally. Addresses go into `<…>`: Discord would link them anyway, and read an escape as part of them. */
function escapeText(text: string): string {
  let escaped = '';
  let from = 0;
  for (const { 0: address, index } of text.matchAll(ADDRESS)) {
    escaped += `${escapeMarks(text.slice(from, index))}<${address}>`;
    from = index + address.length;
  }
  return escaped + escapeMarks(text.slice(from));
}

function escapeMarks(text: string): string {
  return text
    .replaceAll(/[\\*_~|`[\]<]/g, String.raw`\$&`)
    .replaceAll(/(?<=https?:\/)(?=\/)/g, ZERO_WIDTH)
    .replaceAll(new RegExp(`@(?=${PING})`, 'g'), `@${ZERO_WIDTH}`)
    .replaceAll(/<(?=[@#:/]|a:|t:|id:|https?:)/g, `<${ZERO_WIDTH}`);
}

/** Joins two rendered phrases so that the end of one and the start of the other form no mark and no ping. */
function joinPhrases(left: string, right: string): string {
  // `**a****b**` is not markup: keep the two marks apart.
  const isMark = /[*~`]$/.test(left) && /^[*~`]/.test(right);
  const isPing = left.endsWith('@') && new RegExp(`^${PING}`).test(right);
  const isMention = left.endsWith('<') && /^[@#:/]|^(?:a|t|id|https?):/.test(right);
  return left + (isMark || isPing || isMention ? ZERO_WIDTH : '') + right;
}

/** The addresses in a text, which are not escaped. */
function addressesIn(text: string): string[] {
  return text.match(ADDRESS) ?? [];
}

/** Escapes line starts that would become headings, small print, quotes or list items. */
function escapeLineStarts(text: string): string {
  return text.replaceAll(
    /^([^\S\n\r\u2028\u2029]*)(#(?=#{0,2}\s)|>|-(?=\s|#)|(\d+)\.(?=\s))/gm,
    (_, indent: string, marker: string, digits: string | undefined) =>
      digits === undefined ? `${indent}\\${marker}` : `${indent}${digits}\\.`,
  );
}

/** A code block. Discord knows fences of exactly three backticks, so backticks inside are separated instead. */
function fence(code: string, language: string): string {
  const tag = /^[a-z0-9_+\-.#]{1,20}$/i.test(language) ? language : '';
  const body = code.replaceAll('``', `\`${ZERO_WIDTH}\``);
  return `\`\`\`${tag}\n${body.trim() === '' ? ZERO_WIDTH : body}\n\`\`\``;
}

/** A code span: with two backticks around code that contains one; more in a row are separated, since three open a block. */
function span(code: string): string {
  if (!code.includes('`')) return `\`${code}\``;
  const separated = code.replaceAll(/`(?=`)/g, `\`${ZERO_WIDTH}`);
  return `\`\` ${separated} \`\``;
}

/** The address, if it is a web address that contains nothing that could end a link in `<…>`; undefined otherwise. */
function webUrl(url: string): string | undefined {
  if (!/^https?:\/\/[^\s]/i.test(url)) return undefined;
  return url.replaceAll(new RegExp(String.raw`[\s<>\\\`]|@(?=${PING})`, 'g'), percent);
}

/** A link with a separate text. Parentheses in the address would end it. */
function maskedLink(text: string, url: string): string {
  return `[${text}](<${url.replaceAll(/[()]/g, percent)}>)`;
}

function percent(char: string): string {
  return `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
}
