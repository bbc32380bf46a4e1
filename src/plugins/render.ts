/** Writes answers for the channels of plug-ins, by the rule of their manifests: plain, with marks, or as HTML. Pure. */
import type { List, Nodes, Root, RootContent } from 'mdast';
import { type Details, foldDetails } from '../lib/markdown/details.ts';
import { htmlOf } from '../lib/markdown/html.ts';
import { textBelow } from '../lib/markdown/markdown.ts';
import { drawTable } from '../lib/markdown/text-table.ts';
import { cleanText } from '../lib/text.ts';
import type { Rendered } from '../protocol/channel.ts';
import type { PluginRender } from '../protocol/plugin.ts';

/** Deeper nodes are shown as plain text: no one nests that deeply, and the stack is finite. */
const MAX_DEPTH = 40;

type Marks = Extract<PluginRender, { kind: 'marks' }>;

/** A text with marks, and without. */
interface Piece {
  text: string;
  plain: string;
}

/** Makes the renderer. */
export function createRender(rule: PluginRender): (doc: Root) => Rendered {
  const marks: Marks = rule.kind === 'marks' ? rule : { kind: 'marks', unit: rule.unit };
  return (doc) => {
    if (rule.kind === 'html') {
      const { html, plain } = htmlOf(doc);
      return { text: html, plain, length: lengthIn(rule.unit, html) };
    }
    const { text, plain } = blocks(doc.children, marks, 0);
    if (plain.trim() === '') return { text: '', plain: '', length: 0 };
    return { text: text.trim(), plain: plain.trim(), length: lengthIn(rule.unit, text.trim()) };
  };
}

/** What a platform counts of a text. */
export function lengthIn(unit: PluginRender['unit'], text: string): number {
  if (unit === 'bytes') return Buffer.byteLength(text);
  return unit === 'characters' ? Array.from(text).length : text.length;
}

function blocks(nodes: readonly RootContent[], marks: Marks, depth: number, between = '\n\n'): Piece {
  const pieces = foldDetails(nodes).map((node) =>
    node.type === 'details' ? details(node, marks, depth) : block(node, marks, depth),
  );
  return joined(
    pieces.filter(({ plain }) => plain !== ''),
    between,
  );
}

/** What cannot be folded stands below its title. */
function details({ summary, children }: Details, marks: Marks, depth: number): Piece {
  const title = marked(inlines(summary, marks, depth), marks.bold);
  const inside =
    depth > MAX_DEPTH
      ? same(textBelow({ type: 'root', children: [...children] }))
      : blocks(children, marks, depth + 1);
  return joined(
    [title, inside].filter(({ plain }) => plain !== ''),
    '\n',
  );
}

function block(node: RootContent, marks: Marks, depth: number): Piece {
  if (depth > MAX_DEPTH) return escaped(textBelow(node), marks);
  switch (node.type) {
    case 'heading':
      return marked(inlines(node.children, marks, depth), marks.bold);
    case 'paragraph':
      return inlines(node.children, marks, depth);
    case 'thematicBreak':
      return same('──────────');
    case 'blockquote':
      return quoted(blocks(node.children, marks, depth + 1), marks.quote ?? '> ');
    case 'list':
      return list(node, marks, depth + 1);
    case 'code':
      return code(node.value, marks);
    case 'table': {
      const rows = node.children.map((row) =>
        row.children.map((cell) => inlines(cell.children, marks, depth).plain),
      );
      return code(drawTable(rows, node.align ?? []), marks);
    }
    default:
      return inline(node, marks, depth);
  }
}

/** The fence ends where the text would end it: no text gets out of its block. */
function code(value: string, { block: fence = '' }: Marks): Piece {
  const plain = cleanText(value);
  if (fence === '') return same(plain);
  const inside = plain.replaceAll(fence, Array.from(fence).join('\u200B'));
  return { text: `${fence}\n${inside}\n${fence}`, plain };
}

function quoted({ text, plain }: Piece, mark: string): Piece {
  return { text: text.replaceAll(/^/gm, mark), plain: plain.replaceAll(/^/gm, '> ') };
}

function list(node: List, marks: Marks, depth: number): Piece {
  const first = node.start ?? 1;
  const items = node.children.map((item, index) => {
    const box = typeof item.checked === 'boolean' ? (item.checked ? '☑ ' : '☐ ') : '';
    const mark = (node.ordered === true ? `${first + index}. ` : (marks.bullet ?? '• ')) + box;
    const { text, plain } = blocks(item.children, marks, depth, '\n');
    const indented = (body: string): string => mark + body.replaceAll('\n', `\n${' '.repeat(mark.length)}`);
    return { text: indented(text), plain: indented(plain) };
  });
  return joined(items, '\n');
}

function inlines(nodes: readonly Nodes[], marks: Marks, depth: number): Piece {
  return joined(nodes.map((node) => inline(node, marks, depth + 1)));
}

function inline(node: Nodes, marks: Marks, depth: number): Piece {
  if (depth > MAX_DEPTH) return escaped(textBelow(node), marks);
  switch (node.type) {
    case 'text':
    case 'html':
      return escaped(node.value, marks);
    case 'break':
      return same('\n');
    case 'strong':
      return marked(inlines(node.children, marks, depth), marks.bold);
    case 'emphasis':
      return marked(inlines(node.children, marks, depth), marks.italic);
    case 'delete':
      return marked(inlines(node.children, marks, depth), marks.strike);
    case 'inlineCode':
      return inlineCode(node.value, marks);
    case 'link':
      return link(node.url, inlines(node.children, marks, depth), marks);
    case 'image':
      return link(node.url, escaped(node.alt ?? '', marks), marks);
    default:
      return escaped(textBelow(node), marks);
  }
}

function inlineCode(value: string, marks: Marks): Piece {
  const { code: mark = '' } = marks;
  if (mark === '' || value.includes(mark)) return escaped(value, marks);
  const plain = cleanText(value);
  return { text: mark + plain + mark, plain };
}

/** White space stays outside of the marks: inside, most networks show the marks themselves. */
function marked({ text, plain }: Piece, mark = ''): Piece {
  const [, before = '', inside = '', after = ''] = /^(\s*)(.*?)(\s*)$/s.exec(text) ?? [];
  if (mark === '' || inside === '' || inside.includes('\n')) return { text, plain };
  return { text: before + mark + inside + mark + after, plain };
}

/** Only web and mail links become links; their address is always there to be read. */
function link(url: string, label: Piece, { link: form = 'text (url)' }: Marks): Piece {
  const target = cleanText(url).replaceAll(/\s/g, '%20');
  if (!/^(?:https?:\/\/|mailto:)./i.test(target)) return label.plain === '' ? same(target) : label;
  if (label.plain.trim() === '' || label.plain === target) return same(target);
  const plain = `${label.plain} (${target})`;
  if (form === 'text (url)') return { text: `${label.text} (${target})`, plain };
  const address = target.replaceAll(
    /[()<>|]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const words = label.text.replaceAll(/[[\]<>|]/g, ' ');
  return { text: form === '<url|text>' ? `<${address}|${words}>` : `[${words}](${address})`, plain };
}

function escaped(value: string, { escape }: Marks): Piece {
  const plain = cleanText(value);
  if (escape === undefined) return same(plain);
  return {
    text: Array.from(plain, (one) => (escape.characters.includes(one) ? escape.with + one : one)).join(''),
    plain,
  };
}

function same(text: string): Piece {
  return { text, plain: text };
}

function joined(pieces: readonly Piece[], between = ''): Piece {
  return {
    text: pieces.map(({ text }) => text).join(between),
    plain: pieces.map(({ plain }) => plain).join(between),
  };
}
