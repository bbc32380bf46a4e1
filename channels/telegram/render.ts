/** A Markdown document in Telegram's HTML: only tags that Telegram knows, always closed, counted as Telegram counts. */
import type { ListItem, Nodes, PhrasingContent, Root, RootContent } from 'mdast';
import type { Rendered } from '../../src/contracts/channel.ts';
import { cleanText } from '../../src/lib/text.ts';
import { drawTable } from '../../src/lib/text-table.ts';

/** Deeper nodes are shown as plain text: nobody writes such nesting, and the stack is finite. */
export const MAX_DEPTH = 40;

/** The same piece twice: as markup and as readers see it. */
interface Piece {
  html: string;
  visible: string;
}

/** The position of a node. */
interface Spot {
  depth: number;
  /** What every line but the first begins with. */
  indent: string;
  inLink: boolean;
  inQuote: boolean;
}

const NOTHING: Piece = { html: '', visible: '' };

/** Renders a document. Pure; `length` is UTF-16 units after entity parsing, as Telegram counts towards 4,096. */
export function renderTelegram(doc: Root): Rendered {
  const whole = blocks(doc.children, '\n\n', { depth: 0, indent: '', inLink: false, inQuote: false });
  const plain = whole.visible.replace(/^[ \n]+|[ \n]+$/g, '');
  return plain === ''
    ? { text: '', plain: '', length: 0 }
    : { text: whole.html, plain, length: plain.length };
}

/**
 * Text that Telegram shows as it is: it drops carriage returns, line marks, direction overrides and three combining
 * lines, shows control characters as spaces, and refuses lone surrogates (TDLib `clean_input_string`).
 */
function words(text: string): Piece {
  const visible = cleanText(text)
    .replace(/\p{Cc}/gu, (mark) => (mark === '\n' || mark > '\u001F' ? mark : mark === '\r' ? '' : ' '))
    .replace(/[\u2028-\u202E]|\u0333|\u033F|\u030A/g, '');
  return { html: escapeHtml(visible), visible };
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function joined(pieces: Piece[], between = ''): Piece {
  return {
    html: pieces.map((piece) => piece.html).join(between),
    visible: pieces.map((piece) => piece.visible).join(between),
  };
}

function wrapped(tag: string, piece: Piece, attribute = ''): Piece {
  if (piece.visible === '') return NOTHING;
  return { html: `<${tag}${attribute}>${piece.html}</${tag}>`, visible: piece.visible };
}

function deeper(spot: Spot, change: Partial<Spot> = {}): Spot {
  return { ...spot, ...change, depth: spot.depth + 1 };
}

/** Blocks one below the other, each at its indent but for boxes, which Telegram draws over the whole width. */
function blocks(nodes: RootContent[], between: string, spot: Spot): Piece {
  const pieces: Piece[] = [];
  for (const node of nodes) {
    const piece = block(node, spot);
    if (piece.visible === '') continue;
    const isBox = node.type === 'code' || node.type === 'table' || node.type === 'blockquote';
    if (pieces.length > 0) pieces.push(words(isBox ? between : between + spot.indent));
    pieces.push(piece);
  }
  return joined(pieces);
}

function block(node: RootContent, spot: Spot): Piece {
  if (spot.depth > MAX_DEPTH) return words(wordsOf(node));
  switch (node.type) {
    case 'paragraph':
      return inlines(node.children, spot);
    case 'heading':
      return wrapped('b', inlines(node.children, spot));
    case 'thematicBreak':
      return words('──────────');
    case 'blockquote':
      if (spot.inQuote) return quoteInQuote(node.children, spot);
      return wrapped(
        'blockquote',
        blocks(node.children, '\n\n', deeper(spot, { inQuote: true, indent: '' })),
      );
    case 'list':
      return joined(
        node.children.map((item, index) =>
          listItem(item, node.ordered === true ? `${(node.start ?? 1) + index}. ` : '• ', spot),
        ),
        `\n${spot.indent}`,
      );
    case 'code':
      return codeBlock(node.value, node.lang ?? '');
    case 'table':
      return wrapped(
        'pre',
        words(
          drawTable(
            node.children.map((row) =>
              row.children.map((cell) => inlines(cell.children, deeper(spot)).visible),
            ),
            node.align ?? [],
          ),
        ),
      );
    default:
      return inline(node, spot);
  }
}

/** Telegram does not nest quotes: the inner one is marked by signs. */
function quoteInQuote(nodes: RootContent[], spot: Spot): Piece {
  const indent = `${spot.indent}> `;
  return joined([words('> '), blocks(nodes, '\n', deeper(spot, { indent }))]);
}

function listItem(item: ListItem, marker: string, spot: Spot): Piece {
  const box = item.checked === true ? '☑ ' : item.checked === false ? '☐ ' : '';
  const indent = `${spot.indent}${' '.repeat(marker.length + 1)}`;
  return joined([words(marker + box), blocks(item.children, '\n', deeper(spot, { indent }))]);
}

function codeBlock(value: string, language: string): Piece {
  const code = words(value);
  if (!/^[\w+#.-]{1,32}$/.test(language)) return wrapped('pre', code);
  return wrapped('pre', wrapped('code', code, ` class="language-${language}"`));
}

function inlines(nodes: PhrasingContent[], spot: Spot): Piece {
  return joined(nodes.map((node) => inline(node, deeper(spot))));
}

/** A node within a line; unknown kinds and references are shown as the text they contain. */
function inline(node: RootContent, spot: Spot): Piece {
  if (spot.depth > MAX_DEPTH) return words(wordsOf(node));
  const newLine = `\n${spot.indent}`;
  switch (node.type) {
    case 'text':
      return words(node.value.replaceAll('\n', newLine));
    case 'html':
      return words(node.value.replaceAll('\n', newLine));
    case 'break':
      return words(newLine);
    case 'strong':
      return wrapped('b', inlines(node.children, spot));
    case 'emphasis':
      return wrapped('i', inlines(node.children, spot));
    case 'delete':
      return wrapped('s', inlines(node.children, spot));
    case 'inlineCode':
      return wrapped('code', words(node.value));
    case 'link':
      return link(node.url, inlines(node.children, { ...spot, inLink: true }), spot);
    case 'image':
      return link(node.url, words(node.alt ?? ''), spot);
    default:
      return words(wordsOf(node));
  }
}

/** A link to a safe address, else only its text: `javascript:`, `data:` and the like never become links. */
function link(url: string, label: Piece, spot: Spot): Piece {
  const target = cleanText(url).replace(/\s/g, '%20');
  const shown = label.visible.trim() === '' ? words(target) : label;
  if (spot.inLink) return shown;
  const mail = /^mailto:([^?]+)/i.exec(target)?.[1];
  if (mail !== undefined) return shown.visible.includes(mail) ? shown : joined([shown, words(` (${mail})`)]);
  if (!/^(https?|tg):\/\/./i.test(target)) return shown;
  return wrapped('a', shown, ` href="${escapeHtml(target).replaceAll('"', '&quot;')}"`);
}

/** All text below a node, without recursion. */
function wordsOf(node: Nodes): string {
  const left: Nodes[] = [node];
  const found: string[] = [];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if ('value' in next) found.push(next.value);
    if ('children' in next) left.push(...next.children.toReversed());
  }
  return found.join(' ');
}
