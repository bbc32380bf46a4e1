/** Rich messages on their way in (Bot API `RichMessage`), as Markdown: what `rich-message.ts` writes, and what others send. Pure. */
import { linkText } from '../../../src/lib/markdown/link.ts';
import { clipMiddle } from '../../../src/lib/text.ts';
import { MAX_LEVELS, MAX_RICH_CHARS } from '../rich-message.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Undefined for a message without text; blocks of an unknown form are left out. Never throws. */
export function readRichMessage(message: unknown): string | undefined {
  const lines = blocksOf(fieldsOf(message)['blocks'], 0);
  const text = lines.join('\n').trim();
  return text === '' ? undefined : clipMiddle(text, MAX_RICH_CHARS);
}

/** The lines of blocks; what is nested deeper than Telegram allows is left out. */
function blocksOf(blocks: unknown, level: number): string[] {
  if (level > MAX_LEVELS) return [];
  return listOf(blocks).flatMap((block) => blockLines(fieldsOf(block), level));
}

function blockLines(block: Fields, level: number): string[] {
  const text = textOf(block['text'], level);
  const inner = blocksOf(block['blocks'], level + 1);
  switch (block['type']) {
    case 'heading':
      return [`${'#'.repeat(Number(block['size']) || 1)} ${text}`];
    case 'pre':
      return [`\`\`\`${stringOf(block['language'])}`, text.trimEnd(), '```'];
    case 'mathematical_expression':
      return [`$$${stringOf(block['expression'])}$$`];
    case 'divider':
      return ['---'];
    case 'list':
      return listOf(block['items']).flatMap((item) => itemLines(fieldsOf(item), level));
    case 'table':
      return [...tableLines(block['cells'], level), ...captionOf(block, level)];
    case 'details':
      return [textOf(block['summary'], level), ...inner];
    case 'blockquote':
    case 'expandable_blockquote':
    case 'pullquote':
      return [...text.split('\n'), ...inner].filter(Boolean).map((line) => `> ${line}`);
    case 'thinking':
    case 'buttons':
      return [];
    default:
      return [text, ...inner, ...captionOf(block, level)].filter(Boolean);
  }
}

function itemLines(item: Fields, level: number): string[] {
  const box = item['has_checkbox'] === true ? (item['is_checked'] === true ? '[x] ' : '[ ] ') : '';
  const { value } = item;
  const label = typeof value === 'number' ? `${value}.` : '-';
  const [first = '', ...rest] = blocksOf(item['blocks'], level + 1);
  return [`${label} ${box}${first}`, ...rest.map((line) => `  ${line}`)];
}

function tableLines(rows: unknown, level: number): string[] {
  const lines = listOf(rows).map((row) => {
    const cells = listOf(row).map((cell) => textOf(fieldsOf(cell)['text'], level).replaceAll('\n', ' '));
    return { line: `| ${cells.join(' | ')} |`, columns: cells.length };
  });
  const [head] = lines;
  if (head === undefined) return [];
  return [head.line, `|${' --- |'.repeat(head.columns)}`, ...lines.slice(1).map(({ line }) => line)];
}

/** A caption is a text, or a text with its source. */
function captionOf({ caption }: Fields, level: number): string[] {
  const isText = typeof caption === 'string' || Array.isArray(caption);
  const text = textOf(isText ? caption : fieldsOf(caption)['text'], level);
  return text === '' ? [] : [text];
}

/** A `RichText`: a string, a list, or an object that marks a text. */
function textOf(text: unknown, level: number): string {
  if (level > MAX_LEVELS * 2) return '';
  if (typeof text === 'string') return text;
  if (Array.isArray(text)) return text.map((one) => textOf(one, level + 1)).join('');
  const fields = fieldsOf(text);
  const inner = fields['text'] === undefined ? '' : textOf(fields['text'], level + 1);
  switch (fields['type']) {
    case 'url':
      return linkText(inner, stringOf(fields['url']));
    case 'code':
      return `\`${inner}\``;
    case 'mathematical_expression':
      return `$${stringOf(fields['expression'])}$`;
    case 'custom_emoji':
      return stringOf(fields['alternative_text']);
    default:
      return inner;
  }
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
