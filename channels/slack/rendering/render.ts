/**
 * Renders a Markdown document as Slack's rich text. Slack's `mrkdwn` has no way to write a literal `*`, `_` or
 * backtick; in rich text every text is only text, and Slack prefers it ("Rich text block"). Pure.
 */
import type { Code, List as ListNode, ListItem, Nodes, Root, RootContent, Table } from 'mdast';
import type { Rendered } from '../../../src/protocol/channel.ts';
import { foldDetails } from '../../../src/lib/markdown/details.ts';
import { cleanText } from '../../../src/lib/text.ts';
import { drawTable } from '../../../src/lib/markdown/text-table.ts';
import { joined, type List, MAX_INDENT, type Part, plainTextOf, type Run, trimmed } from './rich-text.ts';
import { MAX_DEPTH, within, textRuns, textIn } from './runs.ts';

/**
 * Slack refuses blocks of more than about 13,000 characters of JSON (`msg_blocks_too_long`; the limit is not documented,
 * github.com/slackapi/bolt-js/issues/2509), so that three of them count as one of the 4,000 that a message may have.
 */
export const JSON_PER_CHARACTER = 3;

/** Renders for Slack. `text` is the JSON of the parts of a `rich_text` block; `length` counts what people read, in UTF-16 units. */
export function render(doc: Root): Rendered {
  const parts = merged(blocks(doc.children, 0));
  if (parts.length === 0) return { text: '', plain: '', length: 0 };
  const text = JSON.stringify(parts);
  const plain = plainTextOf(parts);
  return { text, plain, length: Math.max(plain.length, Math.ceil(text.length / JSON_PER_CHARACTER)) };
}

function blocks(nodes: readonly RootContent[], depth: number): Part[] {
  return foldDetails(nodes).flatMap((node) => {
    if (node.type !== 'details') return block(node, depth);
    // Slack cannot fold anything: the summary becomes a heading.
    return [...section(within(node.summary, { bold: true }, depth)), ...blocks(node.children, depth + 1)];
  });
}

function block(node: RootContent, depth: number): Part[] {
  if (depth > MAX_DEPTH) return section(textRuns(textIn(node)));
  switch (node.type) {
    case 'heading':
      return section(within(node.children, { bold: true }, depth));
    case 'thematicBreak':
      return section(textRuns('──────────'));
    case 'blockquote':
      return filled({ type: 'rich_text_quote', elements: trimmed(flow(node.children, depth + 1)) });
    case 'code':
      return preformatted(node);
    case 'table':
      return preformatted({ value: drawn(node) });
    case 'list':
      return list(node, 0, depth + 1);
    case 'paragraph':
      return section(within(node.children, {}, depth));
    default:
      return section(within([node], {}, depth));
  }
}

function section(runs: Run[]): Part[] {
  return filled({ type: 'rich_text_section', elements: trimmed(runs) });
}

function preformatted({ value }: Pick<Code, 'value'>): Part[] {
  return filled({ type: 'rich_text_preformatted', elements: textRuns(value.trim() === '' ? '' : value) });
}

/** Slack refuses parts that contain no elements. */
function filled(part: Part): Part[] {
  return part.elements.length === 0 ? [] : [part];
}

function drawn(node: Table): string {
  const rows = node.children.map((row) =>
    row.children.map((cell) =>
      within(cell.children, {}, 0)
        .map((run) => run.text ?? ('url' in run ? run.url : ''))
        .join(''),
    ),
  );
  return drawTable(rows, node.align ?? []);
}

/**
 * A list, followed by what its items contain besides text: deeper lists, and code, after which the numbering
 * continues.
 */
function list(node: ListNode, indent: number, depth: number): Part[] {
  const style = node.ordered === true ? 'ordered' : 'bullet';
  const first = node.ordered === true ? Math.max(1, node.start ?? 1) : 1;
  return node.children.flatMap((item, index): Part[] => {
    const offset = first - 1 + index;
    const [head, rest] = parted(item, depth);
    const elements = [
      { type: 'rich_text_section' as const, elements: head.length > 0 ? head : textRuns(' ') },
    ];
    const own: List = { type: 'rich_text_list', style, indent, elements };
    const deeper = Math.min(indent + 1, MAX_INDENT);
    const below = rest.flatMap((child) =>
      child.type === 'list' && depth < MAX_DEPTH ? list(child, deeper, depth + 1) : block(child, depth + 1),
    );
    return [{ ...own, ...(style === 'ordered' && offset > 0 && { offset }) }, ...below];
  });
}

/** The text of an item, and what belongs below it. */
function parted(item: ListItem, depth: number): [Run[], RootContent[]] {
  const box = item.checked === true ? '☑ ' : item.checked === false ? '☐ ' : '';
  const at = item.children.findIndex(({ type }) => /^(list|code|table|blockquote)$/.test(type));
  const head = at === -1 ? item.children : item.children.slice(0, at);
  return [trimmed([...textRuns(box), ...flow(head, depth)]), at === -1 ? [] : item.children.slice(at)];
}

/** Blocks as lines of text, where Slack allows no blocks: in quotes and items. */
function flow(nodes: readonly Nodes[], depth: number): Run[] {
  const lines: Run[] = [];
  for (const node of nodes) {
    const runs = line(node, depth);
    if (runs.length > 0) lines.push(...(lines.length > 0 ? textRuns('\n') : []), ...runs);
  }
  return lines;
}

function line(node: Nodes, depth: number): Run[] {
  if (depth > MAX_DEPTH) return textRuns(textIn(node));
  switch (node.type) {
    case 'code':
      return textRuns(node.value, { code: true });
    case 'table':
      return textRuns(drawn(node), { code: true });
    case 'heading':
      return within(node.children, { bold: true }, depth);
    case 'list':
    case 'blockquote':
      return flow(node.children, depth + 1);
    case 'listItem':
      return [...textRuns('• '), ...flow(node.children, depth + 1)];
    case 'thematicBreak':
      return textRuns('──────────');
    default:
      return within([node], {}, depth);
  }
}

/** Paragraphs in one section, with a blank line between them; items of one list in one part. */
function merged(parts: readonly Part[]): Part[] {
  const whole: Part[] = [];
  for (const part of parts) {
    const last = whole.at(-1);
    if (last?.type === 'rich_text_section' && part.type === 'rich_text_section')
      last.elements = joined([...last.elements, ...textRuns('\n\n'), ...part.elements]);
    else if (last?.type === 'rich_text_list' && part.type === 'rich_text_list' && continues(last, part))
      last.elements.push(...part.elements);
    else whole.push(part);
  }
  return whole;
}

function continues(last: List, next: List): boolean {
  const follows = next.style === 'bullet' || (last.offset ?? 0) + last.elements.length === (next.offset ?? 0);
  return last.style === next.style && last.indent === next.indent && follows;
}

/** A text without markup as the parts of a block. */
export function plainParts(text: string): Part[] {
  const clean = cleanText(text);
  return clean === '' ? [] : [{ type: 'rich_text_section', elements: [{ type: 'text', text: clean }] }];
}
