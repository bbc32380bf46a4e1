/** The text of a rich message with its marks (Bot API `RichText`). Pure. */
import type { RichText } from 'grammy/types';
import type { PhrasingContent, RootContent } from 'mdast';
import { type Formula, splitAtFormulas } from '../../../src/lib/markdown/math-text.ts';
import { cleanText } from '../../../src/lib/text.ts';
import { textPiece } from '../rendering/piece.ts';

/** Maximum number of nested marks and blocks that Telegram accepts (Bot API, "Rich Message Limits"). */
export const MAX_LEVELS = 16;

/** A document that cannot be shown as a rich message: it is shown as normal messages. */
export class NotRich extends Error {}

/** The position of a text. */
export interface RichSpot {
  /** Levels around it. */
  level: number;
  inLink: boolean;
  formulas: readonly Formula[];
}

/** One level deeper. Throws `NotRich` beyond `MAX_LEVELS`. */
export function below(spot: RichSpot, change: Partial<RichSpot> = {}): RichSpot {
  if (spot.level >= MAX_LEVELS) throw new NotRich();
  return { ...spot, ...change, level: spot.level + 1 };
}

/** Texts one after the other. Throws `NotRich`. */
export function richText(nodes: readonly PhrasingContent[], spot: RichSpot): RichText {
  const texts = nodes.flatMap((node) => inline(node, spot));
  return texts.length === 1 && texts[0] !== undefined ? texts[0] : texts;
}

/** A text as Telegram keeps it. */
export function plainText(text: string): string {
  return textPiece(text).visible;
}

function inline(node: RootContent, spot: RichSpot): RichText[] {
  switch (node.type) {
    case 'text':
    case 'html':
      return splitAtFormulas(node.value, spot.formulas).map((piece) =>
        typeof piece === 'string' ? plainText(piece) : expression(piece),
      );
    case 'break':
      return ['\n'];
    case 'strong':
      return marked('bold', node.children, spot);
    case 'emphasis':
      return marked('italic', node.children, spot);
    case 'delete':
      return marked('strikethrough', node.children, spot);
    case 'inlineCode':
      return node.value === '' ? [] : [{ type: 'code', text: plainText(node.value) }];
    case 'link':
      return link(node.url, richText(node.children, below(spot, { inLink: true })), spot);
    case 'image':
      return link(node.url, plainText(node.alt ?? ''), spot);
    default:
      if ('children' in node) return [richText(node.children as PhrasingContent[], below(spot))];
      return 'value' in node ? [plainText(node.value)] : [];
  }
}

function marked(
  type: 'bold' | 'italic' | 'strikethrough',
  nodes: readonly PhrasingContent[],
  spot: RichSpot,
): RichText[] {
  const text = richText(nodes, below(spot));
  return visibleOf(text) === '' ? [] : [{ type, text }];
}

/** A formula within a line. */
function expression({ source }: Formula): RichText {
  return { type: 'mathematical_expression', expression: plainText(source) };
}

/** A link to a safe address; shows in brackets what Telegram would not open, and drops harmful addresses. */
function link(url: string, label: RichText, spot: RichSpot): RichText[] {
  const target = cleanText(url).replace(/\s/g, '%20');
  const text = visibleOf(label).trim() === '' ? target : label;
  if (spot.inLink) return [text];
  below(spot);
  if (/^(https?|tg):\/\/./i.test(target)) return [{ type: 'url', text, url: target }];
  const address = /^(?:mailto|tel):([^?]+)/i.exec(target)?.[1];
  if (address !== undefined && /^mailto:/i.test(target))
    return [{ type: 'email_address', text, email_address: address }];
  if (address !== undefined) return [{ type: 'phone_number', text, phone_number: address }];
  const isHarmful = /^(?:javascript|data|vbscript|file|blob):/i.test(target);
  if (target === '' || isHarmful || visibleOf(text).includes(target)) return [text];
  return [text, ' (', { type: 'code', text: target }, ')'];
}

/** What readers see of a text; formulas appear as their source. */
export function visibleOf(text: RichText): string {
  if (typeof text === 'string') return text;
  if (Array.isArray(text)) return text.map(visibleOf).join('');
  if (text.type === 'mathematical_expression') return text.expression;
  return 'text' in text ? visibleOf(text.text) : '';
}
