/**
 * A Markdown document as a rich message (Bot API `InputRichMessage`), given as blocks: nothing in it is parsed as
 * markup again. Pure.
 */
import type { InputRichMessageWithoutUpload, RichBlockTableCell } from 'grammy/types';
import type { Blockquote, List, Paragraph, PhrasingContent, Root, RootContent, Table } from 'mdast';
import { type Formula, splitAtFormulas } from '../../../src/lib/markdown/math-text.ts';
import { type Details, foldDetails } from '../../../src/lib/markdown/details.ts';
import { below, NotRich, plainText, type RichSpot, richText, visibleOf } from './rich-text.ts';

/** Telegram's limits (Bot API, "Rich Message Limits"). */
export const MAX_RICH_CHARS = 32_768;
export const MAX_BLOCKS = 500;
export const MAX_COLUMNS = 20;

/** Lines that a quote shows before it is folded. */
const MAX_QUOTE_LINES = 8;

type Block = NonNullable<InputRichMessageWithoutUpload['blocks']>[number];
type ListItem = Extract<Block, { type: 'list' }>['items'][number];

/** A rich message, and its text as readers see it. */
export interface RichRendered {
  message: InputRichMessageWithoutUpload;
  plain: string;
  /** It has a table, a formula, a task or details, which normal messages cannot show as well. */
  gains: boolean;
}

/** Undefined for a document that exceeds the limits of rich messages. */
export function toRichMessage(doc: Root, formulas: readonly Formula[]): RichRendered | undefined {
  const writer = new RichWriter();
  try {
    const blocks = writer.blocks(doc.children, { level: 0, inLink: false, formulas });
    const plain = writer.texts.join('\n');
    if (blocks.length === 0 || plain.length > MAX_RICH_CHARS) return undefined;
    // Telegram would link file names and foreign commands on its own; links in the document stay links.
    const message = { blocks, skip_entity_detection: true };
    return { message, plain, gains: writer.gains || formulas.length > 0 };
  } catch (error) {
    if (error instanceof NotRich) return undefined;
    throw error;
  }
}

class RichWriter {
  #count = 0;
  gains = false;
  /** What readers see, block by block. */
  readonly texts: string[] = [];

  blocks(nodes: readonly RootContent[], spot: RichSpot): Block[] {
    return foldDetails(nodes).flatMap((node) =>
      node.type === 'details' ? [this.#details(node, below(spot))] : this.#block(node, below(spot)),
    );
  }

  #block(node: RootContent, spot: RichSpot): Block[] {
    this.#countOne();
    switch (node.type) {
      case 'paragraph':
        return this.#paragraph(node, spot);
      case 'heading': {
        const text = this.#noted(richText(node.children, spot));
        return visibleOf(text) === '' ? [] : [{ type: 'heading', text, size: node.depth }];
      }
      case 'thematicBreak':
        return [{ type: 'divider' }];
      case 'blockquote':
        return this.#quote(node, spot);
      case 'list':
        return [this.#list(node, spot)];
      case 'code': {
        const text = plainText(node.value);
        if (text.trim() === '') return [];
        this.texts.push(text);
        if (node.lang === 'math') return [{ type: 'mathematical_expression', expression: text }];
        const language = /^[\w+#.-]{1,32}$/.test(node.lang ?? '') ? node.lang : undefined;
        return [{ type: 'pre', text, ...(language && { language }) }];
      }
      case 'table':
        return [this.#table(node, spot)];
      default:
        return this.#paragraph(
          { type: 'paragraph', children: [node as Paragraph['children'][number]] },
          spot,
        );
    }
  }

  /** A formula that stands alone, as a separate block. */
  #paragraph(node: Paragraph, spot: RichSpot): Block[] {
    const [only] = node.children;
    if (node.children.length === 1 && only?.type === 'text') {
      const pieces = splitAtFormulas(only.value.trim(), spot.formulas);
      const [formula] = pieces;
      if (pieces.length === 1 && typeof formula === 'object' && formula.isDisplayed) {
        const expression = plainText(formula.source);
        this.texts.push(expression);
        return [{ type: 'mathematical_expression', expression }];
      }
    }
    const text = this.#noted(richText(node.children, spot));
    return visibleOf(text).trim() === '' ? [] : [{ type: 'paragraph', text }];
  }

  /** Folds a long quote of plain paragraphs: folded quotes cannot contain blocks. */
  #quote({ children }: Blockquote, spot: RichSpot): Block[] {
    const paragraphs = children.filter((child) => child.type === 'paragraph');
    const texts = paragraphs.map((paragraph) => richText(paragraph.children, spot));
    const lines = texts.reduce((sum, text) => sum + 1 + visibleOf(text).length / 40, 0);
    if (paragraphs.length === children.length && lines > MAX_QUOTE_LINES) {
      const text = this.#noted(texts.flatMap((one, index) => (index === 0 ? [one] : ['\n\n', one])));
      return [{ type: 'expandable_blockquote', text }];
    }
    const blocks = this.blocks(children, spot);
    return blocks.length === 0 ? [] : [{ type: 'blockquote', blocks }];
  }

  #details({ summary, children, isOpen }: Details, spot: RichSpot): Block {
    this.#countOne();
    this.gains = true;
    const title = this.#noted(richText(summary, spot));
    const blocks = this.blocks(children, spot);
    return {
      type: 'details',
      summary: visibleOf(title).trim() === '' ? '…' : title,
      blocks: blocks.length > 0 ? blocks : [{ type: 'paragraph', text: ' ' }],
      ...(isOpen && { is_open: true }),
    };
  }

  #list({ children, ordered, start }: List, spot: RichSpot): Block {
    const items = children.map((item, index): ListItem => {
      this.#countOne();
      const isTask = typeof item.checked === 'boolean';
      if (isTask) this.gains = true;
      const blocks = this.blocks(item.children, below(spot));
      return {
        // An item shows its bullet even if it is empty.
        blocks: blocks.length > 0 ? blocks : [{ type: 'paragraph', text: ' ' }],
        ...(isTask && { has_checkbox: true }),
        ...(item.checked === true && { is_checked: true }),
        ...(ordered === true && { value: (start ?? 1) + index, type: '1' }),
      };
    });
    return { type: 'list', items };
  }

  #table({ children: rows, align }: Table, spot: RichSpot): Block {
    this.gains = true;
    const cells = rows.map((row, index) => {
      this.#countOne();
      if (row.children.length > MAX_COLUMNS) throw new NotRich();
      return row.children.map(({ children }, column): RichBlockTableCell => {
        const text = this.#noted(richText(children.map(withoutBreaks), below(spot)));
        return {
          ...(visibleOf(text) !== '' && { text }),
          ...(index === 0 && { is_header: true }),
          align: align?.[column] ?? 'left',
          valign: 'top',
        };
      });
    });
    return { type: 'table', cells, is_bordered: true };
  }

  #noted<Text extends Parameters<typeof visibleOf>[0]>(text: Text): Text {
    const visible = visibleOf(text);
    if (visible !== '') this.texts.push(visible);
    return text;
  }

  /** Items and rows count as blocks. */
  #countOne(): void {
    this.#count += 1;
    if (this.#count > MAX_BLOCKS) throw new NotRich();
  }
}

/** Models break the lines of a cell with `<br>`, which no cell can hold. */
function withoutBreaks(node: PhrasingContent): PhrasingContent {
  return node.type === 'break' ? { type: 'text', value: ' ' } : node;
}
