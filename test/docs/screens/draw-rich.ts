/** Rich messages of Telegram, drawn from the blocks that were sent; formulas as text, since their layout is the app's. */
import { readableMath } from '../../../src/lib/markdown/math-text.ts';
import { escapeHtml } from './escape.ts';

/** Blocks, items, cells and texts as they were sent; `readRich` of the fake has checked them. */
type Sent = Record<string, unknown>;

/** The message as HTML. */
export function drawRich(message: unknown): string {
  return blocksOf(fieldsOf(message)['blocks']);
}

function fieldsOf(value: unknown): Sent {
  return { ...Object(value) };
}

function listOf(value: unknown): Sent[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

function blocksOf(blocks: unknown): string {
  return listOf(blocks).map(drawBlock).join('');
}

function drawBlock(block: Sent): string {
  const text = drawText(block['text']);
  switch (block['type']) {
    case 'heading':
      return `<h${Number(block['size']) + 2}>${text}</h${Number(block['size']) + 2}>`;
    case 'pre':
      return `<pre>${text}</pre>`;
    case 'divider':
      return '<hr>';
    case 'mathematical_expression':
      return `<div class="formula">${formula(block['expression'])}</div>`;
    case 'details':
      return `<details open><summary>${drawText(block['summary'])}</summary>${blocksOf(block['blocks'])}</details>`;
    case 'blockquote':
      return `<blockquote>${blocksOf(block['blocks'])}</blockquote>`;
    case 'expandable_blockquote':
      return `<blockquote class="lines">${text}</blockquote>`;
    case 'list':
      return `<ul>${listOf(block['items']).map(drawItem).join('')}</ul>`;
    case 'table': {
      const rows = Array.isArray(block['cells']) ? block['cells'] : [];
      return `<table>${rows.map((row) => `<tr>${listOf(row).map(drawCell).join('')}</tr>`).join('')}</table>`;
    }
    default:
      return `<p class="lines">${text}</p>`;
  }
}

function drawItem(item: Sent): string {
  const box = item['is_checked'] === true ? '☑' : '☐';
  const number = item['value'] === undefined ? '•' : `${Number(item['value'])}.`;
  const marker = item['has_checkbox'] === true ? box : number;
  return `<li data-marker="${marker}">${blocksOf(item['blocks'])}</li>`;
}

function drawCell(cell: Sent): string {
  const tag = cell['is_header'] === true ? 'th' : 'td';
  return `<${tag} style="text-align:${String(cell['align'])}">${drawText(cell['text'])}</${tag}>`;
}

const TAGS: Readonly<Record<string, string>> = { bold: 'b', italic: 'i', strikethrough: 's', code: 'code' };

function drawText(text: unknown): string {
  if (typeof text === 'string') return escapeHtml(text);
  if (Array.isArray(text)) return text.map(drawText).join('');
  const { type, text: inside, expression } = fieldsOf(text);
  if (type === 'mathematical_expression') return `<i class="formula">${formula(expression)}</i>`;
  const content = inside === undefined ? '' : drawText(inside);
  const tag = TAGS[String(type)];
  if (tag !== undefined) return `<${tag}>${content}</${tag}>`;
  return ['url', 'email_address', 'phone_number'].includes(String(type))
    ? `<a href="#">${content}</a>`
    : content;
}

function formula(source: unknown): string {
  return escapeHtml(readableMath(`\\(${String(source)}\\)`).replaceAll(/\\([^\w\s])/g, '$1'));
}
