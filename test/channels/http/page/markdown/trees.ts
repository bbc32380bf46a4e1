/** The trees of the two Markdown parsers in one normal form. */
import type { Nodes, RootContent } from 'mdast';
import { parseBlocks } from '../../../../../channels/http/page/markdown/blocks.ts';
import { withFormulas, writtenText } from '../../../../../channels/http/page/markdown/formulas.ts';
import type { BlockBody, Inline } from '../../../../../channels/http/page/markdown/nodes.ts';
import { parseInline } from '../../../../../channels/http/page/markdown/inline.ts';
import { readPath, safeHref } from '../../../../../channels/http/page/markdown/links.ts';
import { toUnicode } from '../../../../../src/lib/markdown/math-text.ts';
import { parseMarkdown } from '../../../../../src/lib/markdown/markdown.ts';
import { referenceRoot } from './reference.ts';

/** A node: its kind with the visible attributes, then its children. */
export type Tree = [kind: string, ...children: (Tree | string)[]];

/** The gateway's tree. */
export function gatewayTree(text: string): Tree[] {
  return joinTexts(parseMarkdown(text).children.flatMap(fromMdast));
}

/** The tree of what the reference reads. */
export function referenceTree(text: string): Tree[] {
  return joinTexts(referenceRoot(text).children.flatMap(fromMdast));
}

/** The page's tree. */
export function pageTree(text: string, parse = parseBlocks): Tree[] {
  return parse(text).map(fromBlock);
}

function fromMdast(node: Nodes): Tree[] {
  switch (node.type) {
    case 'text':
      return withFormulas([{ type: 'text', text: node.value }]).map(fromInline);
    case 'html':
      return [['text', node.value]];
    case 'inlineCode':
      return [['code', writtenText(node.value)]];
    case 'code':
      return [[`block ${node.lang ?? ''}`, writtenText(node.value)]];
    case 'break':
      return [['break']];
    case 'thematicBreak':
      return [['rule']];
    case 'heading':
      return [[`h${node.depth}`, ...inside(node.children)]];
    case 'blockquote':
      return [['quote', ...inside(node.children)]];
    case 'list':
      return [[`list ${node.ordered === true ? (node.start ?? 1) : '-'}`, ...inside(node.children)]];
    case 'listItem':
      return [
        [`item ${node.checked ?? '-'} ${node.spread === true ? 'loose' : 'tight'}`, ...inside(node.children)],
      ];
    case 'table':
      return [
        [`table ${(node.align ?? []).map((side) => side ?? 'left').join(' ')}`, ...inside(node.children)],
      ];
    case 'tableRow':
      return [['row', ...inside(node.children)]];
    case 'tableCell':
      return [['cell', ...inside(node.children)]];
    case 'strong':
      return [['strong', ...inside(node.children)]];
    case 'emphasis':
      return [['em', ...inside(node.children)]];
    case 'delete':
      return [['del', ...inside(node.children)]];
    case 'paragraph':
      return [['paragraph', ...inside(node.children)]];
    case 'link':
      return linked(node.url, inside(node.children.map(withoutImage)));
    case 'image':
      if (readPath(node.url) !== undefined) return [['picture', ...joinTexts([['text', node.alt ?? '']])]];
      return linked(node.url, [['text', node.alt ?? '']]);
    default:
      throw new Error(`The parser should not make a ${node.type}.`);
  }
}

function inside(nodes: readonly (RootContent | Nodes)[]): Tree[] {
  return joinTexts(nodes.flatMap(fromMdast));
}

/** An image inside a link becomes its description, because the page draws images as links. */
function withoutImage(node: RootContent): RootContent {
  return node.type === 'image' ? { type: 'text', value: node.alt ?? '' } : node;
}

/** A link with an unsafe address is shown as its label on both sides. */
function linked(url: string, children: Tree[]): Tree[] {
  const href = safeHref(url);
  return href === undefined ? children : [[`link ${href}`, ...children]];
}

function fromBlock(block: BlockBody): Tree {
  switch (block.type) {
    case 'paragraph':
      return ['paragraph', ...inlineTree(block.text)];
    case 'heading':
      return [`h${block.level}`, ...inlineTree(block.text)];
    case 'code':
      return [`block ${block.language}`, block.text];
    case 'rule':
      return ['rule'];
    case 'quote':
      return ['quote', ...block.children.map(fromBlock)];
    case 'list':
      return [
        `list ${block.start ?? '-'}`,
        ...block.items.map(({ checked, tight, children }): Tree => [
          `item ${checked ?? '-'} ${tight ? 'tight' : 'loose'}`,
          ...children.map(fromBlock),
        ]),
      ];
    case 'table': {
      const row = (cells: string[]): Tree => [
        'row',
        ...cells.map((cell): Tree => ['cell', ...inlineTree(cell)]),
      ];
      return [`table ${block.align.join(' ')}`, row(block.head), ...block.rows.map(row)];
    }
    default:
      return block satisfies never;
  }
}

function inlineTree(text: string): Tree[] {
  return joinTexts(parseInline(text).map(fromInline));
}

function fromInline(node: Inline): Tree {
  switch (node.type) {
    case 'text':
    case 'code':
    case 'tag':
      return [node.type, node.text];
    case 'formula': {
      const simple = toUnicode(node.source);
      return simple === undefined ? ['code', node.source.replaceAll(/\s+/g, ' ').trim()] : ['text', simple];
    }
    case 'note':
    case 'citation':
      return ['text', node.text];
    case 'break':
      return ['break'];
    case 'link':
      return [`link ${node.href}`, ...joinTexts(node.children.map(fromInline))];
    default:
      return [node.type, ...joinTexts(node.children.map(fromInline))];
  }
}

/** Joins adjacent texts and drops empty ones. */
function joinTexts(trees: Tree[]): Tree[] {
  const joined: Tree[] = [];
  for (const tree of trees) {
    const last = joined.at(-1);
    if (tree[0] === 'text' && tree[1] === '') continue;
    if (tree[0] === 'text' && last?.[0] === 'text')
      joined[joined.length - 1] = ['text', `${String(last[1])}${String(tree[1])}`];
    else joined.push(tree);
  }
  return joined;
}

/** As much as the gateway parses at once; it turns more markup into plain paragraphs. */
const MAX_PIECE = 8_192;

/** A section of a document; a long one is cut within its tables and between the items of its lists. */
export function piecesOf(section: string): string[] {
  const pieces = [''];
  for (const line of section.split('\n')) {
    const isLong = (pieces.at(-1) ?? '').length > MAX_PIECE - line.length;
    if (isLong && /^(\||- )/.test(line)) pieces.push('');
    pieces.push(`${pieces.pop()}${line}\n`);
  }
  return pieces;
}
