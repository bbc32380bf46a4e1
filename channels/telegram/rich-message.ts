/** A Markdown document as the blocks of a rich message (`InputRichMessage`): nothing is parsed as markup again. Pure. */
import type { InputRichMessageWithoutUpload, RichBlockTableCell, RichText } from 'grammy/types';
import type { Blockquote, List, Paragraph, PhrasingContent, Root, RootContent, Table } from 'mdast';
import { type Formula, splitAtFormulas, takeOutFormulas } from '../../src/lib/markdown/formulas.ts';
import { type Details, foldDetails } from '../../src/lib/markdown/details.ts';
import { cleanText } from '../../src/lib/text.ts';
import { textPiece } from './render.ts';
import type { ChatSettingStore, Rendered, WholeText } from '../../src/protocol/channel.ts';
import { RICH_SETTING } from '../../src/protocol/delivery.ts';
import { toGatewayError } from '../../src/protocol/errors.ts';
import type { Log } from '../../src/protocol/log.ts';
import { addressOf, type Place } from '../../src/protocol/message.ts';

/** Maximum number of nested marks and blocks that Telegram accepts (Bot API, "Rich Message Limits"). */
export const MAX_LEVELS = 16;

/** A document that cannot be shown as a rich message: it is shown as normal messages. */
class NotRich extends Error {}

interface RichSpot {
  level: number;
  inLink: boolean;
  formulas: readonly Formula[];
}

/** Telegram's limits (Bot API, "Rich Message Limits"). */
export const MAX_RICH_CHARS = 32_768;
export const MAX_BLOCKS = 500;
export const MAX_COLUMNS = 20;
/** The letters of these scripts: Hebrew to Arabic Extended-A, and the presentation forms of Hebrew and Arabic. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
/** Lines that a quote shows before it is folded. */
const MAX_QUOTE_LINES = 8;

type Block = NonNullable<InputRichMessageWithoutUpload['blocks']>[number];
type ListItem = Extract<Block, { type: 'list' }>['items'][number];

/** A rich message, and its text as readers see it. */
export interface RichRendered {
  message: InputRichMessageWithoutUpload;
  plain: string;
  /**
   * It has a table, a formula, a task or details, which normal messages cannot show as well, and no block of code: in
   * those of a rich message, some clients have no button that copies.
   */
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
    const message = { blocks, skip_entity_detection: true, ...(isRightToLeft(plain) && { is_rtl: true }) };
    return { message, plain, gains: (writer.gains || formulas.length > 0) && !writer.hasCode };
  } catch (error) {
    if (error instanceof NotRich) return undefined;
    throw error;
  }
}

/** True for a text most of whose letters are Hebrew, Arabic or of another script that is written from right to left. */
function isRightToLeft(text: string): boolean {
  const letters = text.match(/\p{L}/gu) ?? [];
  return letters.filter((letter) => RIGHT_TO_LEFT.test(letter)).length * 2 > letters.length;
}

class RichWriter {
  #count = 0;
  gains = false;
  hasCode = false;
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
        this.hasCode = true;
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

/** One level deeper. Throws `NotRich` beyond `MAX_LEVELS`. */
function below(spot: RichSpot, change: Partial<RichSpot> = {}): RichSpot {
  if (spot.level >= MAX_LEVELS) throw new NotRich();
  return { ...spot, ...change, level: spot.level + 1 };
}

/** Texts one after the other. Throws `NotRich`. */
function richText(nodes: readonly PhrasingContent[], spot: RichSpot): RichText {
  const texts = nodes.flatMap((node) => inline(node, spot));
  return texts.length === 1 && texts[0] !== undefined ? texts[0] : texts;
}

function plainText(text: string): string {
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

function expression({ source }: Formula): RichText {
  return { type: 'mathematical_expression', expression: plainText(source) };
}

/** A link to a web address, as `render` allows; shows in brackets what Telegram would not open, and drops harmful addresses. */
function link(url: string, label: RichText, spot: RichSpot): RichText[] {
  const target = cleanText(url).replace(/\s/g, '%20');
  const text = visibleOf(label).trim() === '' ? target : label;
  if (spot.inLink) return [text];
  below(spot);
  if (/^https?:\/\/./i.test(target)) return [{ type: 'url', text, url: target }];
  const address = /^(?:mailto|tel):([^?]+)/i.exec(target)?.[1];
  if (address !== undefined && /^mailto:/i.test(target))
    return [{ type: 'email_address', text, email_address: address }];
  if (address !== undefined) return [{ type: 'phone_number', text, phone_number: address }];
  const isHarmful = /^(?:javascript|data|vbscript|file|blob):/i.test(target);
  if (target === '' || isHarmful || visibleOf(text).includes(target)) return [text];
  return [text, ' (', { type: 'code', text: target }, ')'];
}

/** What readers see of a text; formulas appear as their source. */
function visibleOf(text: RichText): string {
  if (typeof text === 'string') return text;
  if (Array.isArray(text)) return text.map(visibleOf).join('');
  if (text.type === 'mathematical_expression') return text.expression;
  return 'text' in text ? visibleOf(text.text) : '';
}

/** How long a chat that refused a rich message gets normal messages. */
const REFUSED_MS = 24 * 3_600_000;

/** What Telegram refuses separately, and the names under which the refusal is stored. */
export type RichKind = 'rich_messages' | 'rich_drafts';

/** A document without any of these has no table, formula, task or details, and need not be parsed. */
const MAY_GAIN = /\||\[[ x]\]|\\[([]|\$[^\s$]|\$\$|<details/i;

/** Whole answers as rich messages: which ones benefit, and in which chats Telegram accepts them. */
export class WholeAnswers {
  readonly #isUsual: boolean;
  readonly #chatSettings: ChatSettingStore;
  readonly #log: Log;

  /** `mode`: for chats that have not chosen with `/rich`. */
  constructor(mode: 'auto' | 'off', chatSettings: ChatSettingStore, log: Log) {
    this.#isUsual = mode === 'auto';
    this.#chatSettings = chatSettings;
    this.#log = log;
  }

  /** The answer as one rich message; undefined if a normal one does as well, and where none is wanted or accepted. Never throws. */
  async render(place: Place, whole: WholeText): Promise<Rendered | undefined> {
    // Cheap enough to check a growing text once a second.
    if (!MAY_GAIN.test(whole.markdown) || !(await this.#isWanted(place))) return undefined;
    const { markdown, formulas } = takeOutFormulas(whole.markdown);
    const rich = toRichMessage(await whole.documentOf(markdown), formulas);
    if (rich === undefined || !rich.gains) return undefined;
    if (await this.#isRefused(place, 'rich_messages')) return undefined;
    if (whole.grows === true && (await this.#isRefused(place, 'rich_drafts'))) return undefined;
    const { message, plain } = rich;
    return { text: JSON.stringify(message), plain, length: plain.length, rich: true };
  }

  /** Records that Telegram has refused one there. Never throws. */
  async noteRefusal(place: Place, kind: RichKind): Promise<void> {
    await this.#try(() => this.#chatSettings.setChatSetting(chatOf(place), kind, 'refused', REFUSED_MS));
  }

  async #isWanted(place: Place): Promise<boolean> {
    const choice = await this.#try(() => this.#chatSettings.chatSetting(chatOf(place), RICH_SETTING));
    return choice === undefined ? this.#isUsual : choice === 'on';
  }

  async #isRefused(place: Place, kind: RichKind): Promise<boolean> {
    return (await this.#try(() => this.#chatSettings.chatSetting(chatOf(place), kind))) !== undefined;
  }

  async #try<Result>(call: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await call();
    } catch (error) {
      this.#log.warn({ err: toGatewayError(error) }, 'rich_messages_unknown');
      return undefined;
    }
  }
}

function chatOf({ channel, chatId }: Place): string {
  return addressOf({ channel, chatId });
}
