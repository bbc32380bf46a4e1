/** Renders Markdown as Slack's rich text, in which, unlike in `mrkdwn`, every character can be written. Pure. */
import type { List as ListNode, ListItem, Nodes, Root, RootContent, Table } from 'mdast';
import type { Rendered } from '../../src/protocol/channel.ts';
import { foldDetails } from '../../src/lib/markdown/details.ts';
import { textBelow } from '../../src/lib/markdown/markdown.ts';
import { cleanText } from '../../src/lib/text.ts';
import { drawTable } from '../../src/lib/markdown/text-table.ts';

interface Style {
  bold?: true;
  italic?: true;
  strike?: true;
  code?: true;
}

/** A run of text, or a link. No text in one is read as markup: it cannot ping anyone. */
type Run =
  | { type: 'text'; text: string; style?: Style }
  | { type: 'link'; url: string; text?: string; style?: Style };

interface Section {
  type: 'rich_text_section' | 'rich_text_quote' | 'rich_text_preformatted';
  elements: Run[];
}

interface List {
  type: 'rich_text_list';
  style: 'bullet' | 'ordered';
  /** 0-8. */
  indent: number;
  /** The number of list numbers before the first one. */
  offset?: number;
  elements: Section[];
}

/** A cell must contain something. `raw_text` takes a third of the JSON, which has a limit. */
type Cell =
  | { type: 'raw_text'; text: string }
  | { type: 'rich_text'; elements: [{ type: 'rich_text_section'; elements: Run[] }] };

/** A block of its own ("Table block"); all other parts are those of a `rich_text` block. */
interface TableBlock {
  type: 'table';
  rows: Cell[][];
  column_settings: { align: 'left' | 'center' | 'right'; is_wrapped: true }[];
}

/** A part of the message, which is on separate lines. */
export type Part = Section | List | TableBlock;

/** Slack's limits for a table ("Table block"), and how many tables a message may have. */
export const MAX_ROWS = 100;
export const MAX_COLUMNS = 20;
const MAX_TABLES = 1;

const MAX_INDENT = 8;
/** Deeper nodes are shown as plain text: no one nests that deeply, and the stack is finite. */
const MAX_DEPTH = 40;
const MAX_URL = 3_000;

/**
 * Slack refuses blocks of more than about 13,000 characters of JSON (`msg_blocks_too_long`; the limit is not documented,
 * github.com/slackapi/bolt-js/issues/2509), so that three of them count as one of the 4,000 that a message may have.
 */
export const JSON_PER_CHARACTER = 3;

/** Renders for Slack. `text` is the JSON of the message's parts; `length` counts what people read, in UTF-16 units. */
export function render(doc: Root): Rendered {
  const parts = merged(drawTables(blocks(doc.children, 0), MAX_TABLES));
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
  if (depth > MAX_DEPTH) return section(textRuns(textBelow(node, '')));
  switch (node.type) {
    case 'heading':
      return section(within(node.children, { bold: true }, depth));
    case 'thematicBreak':
      return section(textRuns('──────────'));
    case 'blockquote':
      return filled({ type: 'rich_text_quote', elements: trimmed(flow(node.children, depth + 1)) });
    case 'code':
      return preformatted(node.value);
    case 'table':
      return table(node);
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

function preformatted(value: string): Part[] {
  return filled({ type: 'rich_text_preformatted', elements: textRuns(value.trim() === '' ? '' : value) });
}

/** Slack refuses parts that contain no elements. */
function filled(part: Section): Part[] {
  return part.elements.length === 0 ? [] : [part];
}

function tableText(node: Table): string {
  const rows = node.children.map((row) =>
    row.children.map((cell) => textOfRuns(within(cell.children, {}, 0))),
  );
  return drawTable(rows, node.align ?? []);
}

/** A table as a block of its own; one beyond Slack's limits is drawn. */
function table(node: Table): Part[] {
  const rows = node.children.map((row) => row.children.map((one) => cell(one.children)));
  const columns = Math.max(...rows.map((row) => row.length));
  if (rows.length > MAX_ROWS || columns > MAX_COLUMNS) return preformatted(tableText(node));
  const settings = Array.from({ length: columns }, (_, column) => ({
    align: node.align?.[column] ?? ('left' as const),
    is_wrapped: true as const,
  }));
  return [{ type: 'table', rows, column_settings: settings }];
}

function cell(nodes: readonly Nodes[]): Cell {
  const runs = trimmed(within(nodes, {}, 0));
  const isPlain = runs.every((run) => run.type === 'text' && run.style === undefined);
  if (isPlain) return { type: 'raw_text', text: textOfRuns(runs) || ' ' };
  return { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: runs }] };
}

/** The same with tables drawn in a monospaced font, beyond the first `most`. */
export function drawTables(parts: readonly Part[], most = 0): Part[] {
  let tables = 0;
  return parts.flatMap((part) => {
    if (part.type !== 'table') return part;
    tables += 1;
    return tables > most ? preformatted(textOfTable(part)) : part;
  });
}

function textOfTable({ rows, column_settings: settings }: TableBlock): string {
  const texts = rows.map((row) =>
    row.map((one) => (one.type === 'raw_text' ? one.text : textOfRuns(one.elements[0].elements))),
  );
  return drawTable(
    texts,
    settings.map(({ align }) => align),
  );
}

/** A list, followed by what its items contain besides text: deeper lists and code; then the numbering continues. */
function list(node: ListNode, indent: number, depth: number): Part[] {
  const style = node.ordered === true ? 'ordered' : 'bullet';
  const first = node.ordered === true ? Math.max(1, node.start ?? 1) : 1;
  return node.children.flatMap((item, index): Part[] => {
    const offset = first - 1 + index;
    const [head, rest] = parted(item, depth);
    const elements = [
      { type: 'rich_text_section' as const, elements: head.length > 0 ? head : textRuns(' ') },
    ];
    const listPart: List = { type: 'rich_text_list', style, indent, elements };
    const deeper = Math.min(indent + 1, MAX_INDENT);
    const children = rest.flatMap((child) =>
      child.type === 'list' && depth < MAX_DEPTH ? list(child, deeper, depth + 1) : block(child, depth + 1),
    );
    return [{ ...listPart, ...(style === 'ordered' && offset > 0 && { offset }) }, ...children];
  });
}

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
  if (depth > MAX_DEPTH) return textRuns(textBelow(node, ''));
  switch (node.type) {
    case 'code':
      return textRuns(node.value, { code: true });
    case 'table':
      return textRuns(tableText(node), { code: true });
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

function runsOf(node: Nodes, style: Style, depth: number): Run[] {
  if (depth > MAX_DEPTH) return textRuns(textBelow(node, ''), style);
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

function within(nodes: readonly Nodes[], style: Style, depth: number): Run[] {
  return nodes.flatMap((node) => runsOf(node, style, depth + 1));
}

function textRuns(text: string, style: Style = {}): Run[] {
  const clean = cleanText(text);
  if (clean === '') return [];
  return [{ type: 'text', text: clean, ...(Object.keys(style).length > 0 && { style }) }];
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
function isSamePlace(address: string, target: string): boolean {
  return address !== target && address.startsWith(`${new URL(target).origin}/`);
}

/** Undefined for anything but a web address. */
function webUrl(url: string): string | undefined {
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) return undefined;
  return parsed.href.length > MAX_URL ? undefined : parsed.href;
}

/** The text of a message as people see it, without markup. */
function plainTextOf(parts: readonly Part[]): string {
  return parts.map(textOfPart).join('\n');
}

function textOfPart(part: Part): string {
  if (part.type === 'table') return textOfTable(part);
  if (part.type !== 'rich_text_list') return textOfRuns(part.elements);
  const first = (part.offset ?? 0) + 1;
  return part.elements
    .map(({ elements }, index) => {
      const mark = part.style === 'ordered' ? `${first + index}.` : '•';
      return `${'  '.repeat(part.indent)}${mark} ${textOfRuns(elements)}`;
    })
    .join('\n');
}

function textOfRuns(runs: readonly Run[]): string {
  return runs.map((run) => (run.type === 'text' ? run.text : (run.text ?? run.url))).join('');
}

/** Runs without empty ones; adjacent runs with the same style are joined. */
function joined(runs: readonly Run[]): Run[] {
  const whole: Run[] = [];
  for (const run of runs) {
    if (run.type === 'text' && run.text === '') continue;
    const last = whole.at(-1);
    if (run.type === 'text' && last?.type === 'text' && sameStyle(last.style, run.style))
      whole[whole.length - 1] = { ...last, text: last.text + run.text };
    else whole.push(run);
  }
  return whole;
}

function sameStyle(one: Style = {}, other: Style = {}): boolean {
  return (['bold', 'italic', 'strike', 'code'] as const).every((mark) => one[mark] === other[mark]);
}

function trimmed(runs: readonly Run[]): Run[] {
  const whole = joined(runs);
  for (const at of [0, -1]) {
    for (let run = whole.at(at); run?.type === 'text'; run = whole.at(at)) {
      const text = at === 0 ? run.text.trimStart() : run.text.trimEnd();
      if (text !== '') {
        whole[at === 0 ? 0 : whole.length - 1] = { ...run, text };
        break;
      }
      if (at === 0) whole.shift();
      else whole.pop();
    }
  }
  return whole;
}
