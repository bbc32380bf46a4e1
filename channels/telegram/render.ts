/** Renders Markdown as Telegram's HTML: only known tags, always closed, counted as Telegram counts. */
import type { List, ListItem, PhrasingContent, Root, RootContent, Table, TableCell } from 'mdast';
import type { Rendered } from '../../src/protocol/channel.ts';
import { type Details, foldDetails } from '../../src/lib/markdown/details.ts';
import { textBelow } from '../../src/lib/markdown/markdown.ts';
import { cleanText } from '../../src/lib/text.ts';
import { columnsOf, drawTable } from '../../src/lib/markdown/text-table.ts';

/** The same piece of a message in two forms: as Telegram's HTML and as readers see it. Pure. */
interface Piece {
  html: string;
  visible: string;
}

/** What Telegram drops or shows as a space; a line break is neither. */
const UNSEEN = /[^\P{Cc}\n]|[\u2028-\u202E]|\u0333|\u033F|\u030A/u;

const NOTHING: Piece = { html: '', visible: '' };

/** Characters that a phone shows in a line of a drawn table; a wider one would wrap and be unreadable. */
export const MAX_TABLE_COLUMNS = 40;

/**
 * File names whose extension is also a country's or another top-level domain, .NET and its languages, and words that
 * begin with a slash, which would be commands. Addresses with a path or a scheme are left alone.
 */
const FALSE_LINK =
  /(?<![\w@/:.<>)\]-])(?:[\w-]+(?:\.[\w-]+)*\.(?:md|py|sh|rs|pl|pm|cc|so|ps|zip|mov)(?![\w/:-]|\.\w)|(?:VB|ASP|ADO|ML)\.NET(?![\w/-]|\.\w)|(?<slash>\/(?<name>[A-Za-z0-9_]{1,64})(?![\w/])))/gi;

/** Deeper nodes are shown as plain text: no one nests that deeply, and the stack is finite. */
export const MAX_DEPTH = 40;

interface Spot {
  depth: number;
  /** What every line except the first begins with. */
  indent: string;
  inLink: boolean;
  inQuote: boolean;
  /** Names that stay commands. */
  commands: ReadonlySet<string>;
}

const NO_COMMANDS: ReadonlySet<string> = new Set();

/** Longest message, in UTF-16 units after entity parsing (Bot API `sendMessage`). */
export const MAX_LENGTH = 4_096;
/** Telegram ignores the marks of a message after these, and with them the addresses of links (tdlib/telegram-bot-api#820). */
export const MAX_ENTITIES = 100;
/** Telegram refuses marks of about 9,500 bytes in all, addresses included: `ENTITIES_TOO_LONG` (tdlib/telegram-bot-api#165). */
export const MAX_ENTITY_BYTES = 9_000;
/** A mark without its address: its kind, its place and its length. */
const BYTES_PER_ENTITY = 12;

/** Renders a document. Pure; `length`: UTF-16 units after entity parsing, or the share of its marks if greater. */
export function renderTelegram(doc: Root, commands: ReadonlySet<string> = NO_COMMANDS): Rendered {
  const spot = { depth: 0, indent: '', inLink: false, inQuote: false, commands };
  const whole = blocks(doc.children, '\n\n', spot);
  const plain = whole.visible.replace(/^[ \n]+|[ \n]+$/g, '');
  return plain === ''
    ? { text: '', plain: '', length: 0 }
    : { text: whole.html, plain, length: Math.max(plain.length, lengthOfMarks(whole.html)) };
}

/** What the marks of a message count as: each tag is one, and only tags have a `<`. */
function lengthOfMarks(html: string): number {
  const [tags, codes] = [html.match(/<[a-z]/g)?.length ?? 0, html.match(/<pre><code/g)?.length ?? 0];
  const count = tags - codes;
  let bytes = count * BYTES_PER_ENTITY;
  for (const [, address = ''] of html.matchAll(/ href="([^"]*)"/g))
    bytes += Buffer.byteLength(address.replaceAll(/&(?:amp|lt|gt|quot);/g, '&'));
  return Math.ceil(MAX_LENGTH * Math.max(count / MAX_ENTITIES, bytes / MAX_ENTITY_BYTES));
}

function deeper(spot: Spot, change: Partial<Spot> = {}): Spot {
  return { ...spot, ...change, depth: spot.depth + 1 };
}

/** Blocks one below the other, each at its indent, except for boxes, which Telegram draws over the whole width. */
function blocks(nodes: RootContent[], between: string, spot: Spot): Piece {
  const pieces: Piece[] = [];
  for (const node of foldDetails(nodes)) {
    const piece = node.type === 'details' ? details(node, spot) : block(node, spot);
    if (piece.visible === '') continue;
    const isBox = ['code', 'table', 'blockquote', 'details'].includes(node.type);
    if (pieces.length > 0) pieces.push(textPiece(isBox ? between : between + spot.indent));
    pieces.push(piece);
  }
  return joined(pieces);
}

function block(node: RootContent, spot: Spot): Piece {
  if (spot.depth > MAX_DEPTH) return textPiece(textBelow(node));
  switch (node.type) {
    case 'paragraph':
      return inlines(node.children, spot);
    case 'heading':
      return HEADINGS[node.depth].reduceRight(
        (piece, tag) => wrapped(tag, piece),
        inlines(node.children, spot),
      );
    case 'thematicBreak':
      return textPiece('──────────');
    case 'blockquote':
      if (spot.inQuote) return quoteInQuote(node.children, spot);
      return quote(blocks(node.children, '\n\n', deeper(spot, { inQuote: true, indent: '' })));
    case 'list':
      return joined(
        node.children.map((item, index) =>
          listItem(item, node.ordered === true ? `${(node.start ?? 1) + index}. ` : '• ', spot),
        ),
        isLoose(node) ? `\n\n${spot.indent}` : `\n${spot.indent}`,
      );
    case 'code':
      return codeBlock(node.value, node.lang ?? '');
    case 'table':
      return renderTable(node, (cell) => inlines(cell.children, deeper(spot)));
    default:
      return inline(node, spot);
  }
}

const HEADINGS = {
  1: ['b', 'u'],
  2: ['b'],
  3: ['b', 'i'],
  4: ['u'],
  5: ['u', 'i'],
  6: ['i'],
} as const;

/** Lines that a quote shows before it is folded; a line of text holds about this many characters on a phone. */
const MAX_QUOTE_LINES = 8;
const LINE_CHARS = 40;

function quote(piece: Piece): Piece {
  const lines = piece.visible.split('\n').map(({ length }) => Math.max(1, Math.ceil(length / LINE_CHARS)));
  const isLong = lines.reduce((sum, count) => sum + count, 0) > MAX_QUOTE_LINES;
  return wrapped('blockquote', piece, isLong ? ' expandable' : '');
}

/** A quote that is folded regardless of its length, below its summary. */
function details({ summary, children }: Details, spot: Spot): Piece {
  if (spot.depth > MAX_DEPTH) return textPiece(textBelow({ type: 'root', children: [...children] }));
  const title = wrapped('b', inlines(summary, spot));
  const between = title.visible === '' ? '' : '\n';
  if (spot.inQuote) return joined([title, textPiece(between), blocks(children, '\n', deeper(spot))]);
  const inside = blocks(children, '\n\n', deeper(spot, { inQuote: true, indent: '' }));
  const whole = [title, inside].filter(({ visible }) => visible !== '');
  return whole.length === 0 ? textPiece('') : wrapped('blockquote', joined(whole, between), ' expandable');
}

/** Its writer left blank lines between the items. */
function isLoose({ spread: isSpread, children }: List): boolean {
  return isSpread === true || children.some((item) => item.spread === true);
}

/** Telegram does not nest quotes: the inner one is marked with characters. */
function quoteInQuote(nodes: RootContent[], spot: Spot): Piece {
  const indent = `${spot.indent}> `;
  return joined([textPiece('> '), blocks(nodes, '\n', deeper(spot, { indent }))]);
}

function listItem(item: ListItem, marker: string, spot: Spot): Piece {
  const box = item.checked === true ? '☑ ' : item.checked === false ? '☐ ' : '';
  const indent = `${spot.indent}${' '.repeat(marker.length + 1)}`;
  // A box is a mark of its own.
  const label = box !== '' && marker === '• ' ? box : marker + box;
  return joined([textPiece(label), blocks(item.children, '\n', deeper(spot, { indent }))]);
}

function codeBlock(value: string, language: string): Piece {
  const code = textPiece(value);
  if (!/^[\w+#.-]{1,32}$/.test(language)) return wrapped('pre', code);
  return wrapped('pre', wrapped('code', code, ` class="language-${language}"`));
}

function inlines(nodes: PhrasingContent[], spot: Spot): Piece {
  return joined(nodes.map((node) => inline(node, deeper(spot))));
}

/** A node within a line; unknown kinds and references are shown as the text that they contain. */
function inline(node: RootContent, spot: Spot): Piece {
  if (spot.depth > MAX_DEPTH) return textPiece(textBelow(node));
  const newLine = `\n${spot.indent}`;
  switch (node.type) {
    case 'text': {
      const text = node.value.replaceAll('\n', newLine);
      return spot.inLink ? textPiece(text) : withoutFalseLinks(text, spot.commands);
    }
    case 'html':
      return textPiece(node.value.replaceAll('\n', newLine));
    case 'break':
      return textPiece(newLine);
    case 'strong':
      return wrapped('b', inlines(node.children, spot));
    case 'emphasis':
      return wrapped('i', inlines(node.children, spot));
    case 'delete':
      return wrapped('s', inlines(node.children, spot));
    case 'inlineCode':
      return wrapped('code', textPiece(node.value));
    case 'link':
      return link(node.url, inlines(node.children, { ...spot, inLink: true }), spot);
    case 'image':
      return link(node.url, textPiece(node.alt ?? ''), spot);
    default:
      return textPiece(textBelow(node));
  }
}

/**
 * A link to a web address, otherwise only its text: `javascript:`, `data:` and the like never become links, nor does `tg:`,
 * which notifies a person (`tg://user?id=1`) or sets up a proxy.
 */
function link(url: string, label: Piece, spot: Spot): Piece {
  const target = cleanText(url).replace(/\s/g, '%20');
  const visibleLabel = label.visible.trim() === '' ? textPiece(target) : label;
  if (spot.inLink) return visibleLabel;
  if (!/^https?:\/\/./i.test(target)) return withAddress(visibleLabel, target);
  return wrapped('a', visibleLabel, ` href="${escapeHtml(target).replaceAll('"', '&quot;')}"`);
}

/** Schemes whose addresses harm a person who opens them; there is no need to show them either. */
const HARMFUL = /^(?:javascript|data|vbscript|file|blob):/i;

/** Shows in brackets what Telegram would not link: a telephone number, a path, a place in the text. */
function withAddress(label: Piece, target: string): Piece {
  const address = /^(?:mailto|tel|sms):([^?]+)/i.exec(target)?.[1] ?? target;
  if (address === '' || HARMFUL.test(target) || label.visible.includes(address)) return label;
  // Telegram links mail addresses and telephone numbers; a path would become a command.
  const shownAddress = address === target ? wrapped('code', textPiece(address)) : textPiece(address);
  return joined([label, textPiece(' ('), shownAddress, textPiece(')')]);
}

/** The text, with such words as code; the bot's `commands` stay commands. */
function withoutFalseLinks(text: string, commands: ReadonlySet<string>): Piece {
  // Most texts contain neither, and each part of an answer is rendered a dozen times until it fits.
  if (!text.includes('.') && !text.includes('/')) return textPiece(text);
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(FALSE_LINK)) {
    const name = match.groups?.['name']?.toLowerCase();
    if (name !== undefined && commands.has(name)) continue;
    pieces.push(textPiece(text.slice(from, match.index)), wrapped('code', textPiece(match[0])));
    from = match.index + match[0].length;
  }
  return from === 0 ? textPiece(text) : joined([...pieces, textPiece(text.slice(from))]);
}

/** A table; `cellOf` renders a cell. A table with links is not drawn, because the links would be lost. */
function renderTable(table: Table, cellOf: (cell: TableCell) => Piece): Piece {
  const rows = table.children.map((row) => row.children.map((cell) => tidy(cellOf(cell))));
  if (!rows.flat().some(({ html }) => html.includes('<a '))) {
    const drawing = drawTable(
      rows.map((row) => row.map(({ visible }) => visible)),
      table.align ?? [],
    );
    if (columnsOf(drawing) <= MAX_TABLE_COLUMNS) return wrapped('pre', textPiece(drawing));
  }
  const [head = [], ...body] = rows;
  if (body.length === 0)
    return joined(
      head.map((cell) => wrapped('b', cell)),
      '\n',
    );
  return joined(
    body.map((row) => recordOf(head, row)).filter(({ visible }) => visible !== ''),
    '\n\n',
  );
}

/** `Name: value`, a line for each column; the first value is bold, as the title of its record. */
function recordOf(head: readonly Piece[], row: readonly Piece[]): Piece {
  const columns = Math.max(head.length, row.length);
  const lines = Array.from({ length: columns }, (_, column) => {
    const name = head[column] ?? NOTHING;
    const value = row[column] ?? NOTHING;
    const cell = column === 0 ? wrapped('b', value) : value;
    if (name.visible === '') return cell;
    return joined([name, textPiece(value.visible === '' ? ':' : ': '), cell]);
  });
  return joined(
    lines.filter(({ visible }) => visible !== ''),
    '\n',
  );
}

/** Models break the lines of a cell with `<br>`; a line of a record has no room for that. */
function tidy({ html, visible }: Piece): Piece {
  return { html: html.replaceAll('\n', ' '), visible: visible.replaceAll('\n', ' ') };
}

/**
 * Text that Telegram shows unchanged: Telegram drops carriage returns, line marks, direction overrides and three
 * combining lines, shows control characters as spaces, and refuses lone surrogates (TDLib `clean_input_string`).
 */
export function textPiece(text: string): Piece {
  const clean = cleanText(text);
  // Two passes for a few texts cost less than one that replaces for all.
  const visible = !UNSEEN.test(clean)
    ? clean
    : clean
        .replace(/\p{Cc}/gu, (mark) => (mark === '\n' || mark > '\u001F' ? mark : mark === '\r' ? '' : ' '))
        .replace(/[\u2028-\u202E]|\u0333|\u033F|\u030A/g, '');
  return { html: escapeHtml(visible), visible };
}

function escapeHtml(text: string): string {
  if (!/[&<>]/.test(text)) return text;
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Pieces one after the other, separated by the same markup. */
function joined(pieces: readonly Piece[], between = ''): Piece {
  return {
    html: pieces.map((piece) => piece.html).join(between),
    visible: pieces.map((piece) => piece.visible).join(between),
  };
}

/** A piece in a tag; a piece that shows nothing needs none. */
function wrapped(tag: string, piece: Piece, attribute = ''): Piece {
  if (piece.visible === '') return NOTHING;
  return { html: `<${tag}${attribute}>${piece.html}</${tag}>`, visible: piece.visible };
}
