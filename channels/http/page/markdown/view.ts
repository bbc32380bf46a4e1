/** Draws parsed Markdown as elements. A growing text redraws only the blocks that changed. */
import type { BlockBody, Inline } from './nodes.ts';
import { copyButton, h } from '../dom.ts';
import { GrowingDocument, parseDocument } from './document.ts';
import { drawFormula } from './formula-view.ts';
import { parseInline } from './inline.ts';
import { textOf } from './link-text.ts';
import { safeHref } from './links.ts';
import { drawNoteCall, linkNotes, notesIn } from './notes.ts';
import { inlineText } from './plain-text.ts';
import { messageOf } from '../failures/in-place.ts';
import { say } from '../texts.ts';

/** How the text of a callout begins, which other networks show as it is. */
const CALLOUT_HEADING = /^\*\*(\w+)\*\*(?:: |\n|$)/;

/**
 * A text that may grow, drawn at most once per frame. While it grows, marks that are not closed yet are shown as if they were.
 */
export class LiveMarkdown {
  element = h('div', { class: 'md' });
  text = '';
  /** Sources of the drawn blocks. */
  #drawn: string[] = [];
  #scheduled = false;
  /** While it grows. */
  #growing: GrowingDocument | undefined;
  #onDraw;

  /** @param onDraw called after each drawing */
  constructor(onDraw: () => void = () => undefined) {
    this.#onDraw = onDraw;
  }

  /** Adds to its end: it grows until it is finished or set. */
  append(delta: string) {
    this.#growing ??= new GrowingDocument();
    this.text += delta;
    this.#schedule();
  }

  /** Sets the whole text. */
  set(text: string) {
    this.#growing = undefined;
    this.text = text;
    this.#schedule();
  }

  /** Shows it as a whole: no more will come. */
  finish() {
    if (this.#growing !== undefined) this.set(this.text);
  }

  #schedule() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.#scheduled = false;
    const growing = this.#growing;
    const blocks = growing?.blocksOf(this.text) ?? parseDocument(this.text);
    const isOpen = (index: number) => growing !== undefined && index === blocks.length - 1;
    // Code looks the same while it grows: its button stays when the text ends.
    const sources = blocks.map((block, index) =>
      isOpen(index) && (block.type !== 'code' || isDiagram(block.language))
        ? `${block.source}\0`
        : block.source,
    );
    const firstChange = sources.findIndex((source, index) => source !== this.#drawn[index]);
    const from = firstChange < 0 ? blocks.length : firstChange;
    while (this.element.children.length > from) this.element.lastElementChild?.remove();
    this.element.append(...blocks.slice(from).map((block, index) => drawBlock(block, isOpen(from + index))));
    this.#drawn = sources;
    linkNotes(this.element);
    this.#onDraw();
  }
}

/** A whole text, drawn at once. */
export function drawMarkdown(text: string) {
  return drawBlocks(parseDocument(text), false);
}

function drawBlock(block: BlockBody, growing: boolean): HTMLElement {
  switch (block.type) {
    case 'paragraph':
      return drawParagraph(block.text, growing);
    case 'heading':
      return drawHeading(block.level, block.text, growing);
    case 'code':
      return drawCode(block.language, block.text, growing);
    case 'rule':
      return h('hr');
    case 'quote':
      return drawQuote(block, growing);
    case 'list':
      return drawList(block, growing);
    case 'table':
      return drawTable(block, growing);
    default:
      return h('p');
  }
}

function drawBlocks(blocks: BlockBody[], growing: boolean) {
  return blocks.map((block, index) => drawBlock(block, growing && index === blocks.length - 1));
}

/** A paragraph, and a list of the footnotes that begin in its lines. */
function drawParagraph(text: string, growing: boolean) {
  const { lead, notes } = notesIn(text);
  if (notes.length === 0) return h('p', { dir: 'auto' }, ...drawInline(text, growing));
  const list = notes.map(({ number, text: note }, index) => {
    const inside = drawInline(note, growing && index === notes.length - 1);
    return h('li', { value: number, 'data-note': number, tabindex: '-1', dir: 'auto' }, ...inside);
  });
  const paragraph = lead === '' ? [] : [h('p', { dir: 'auto' }, ...drawInline(lead, false))];
  const label = say('page.markdown.notes');
  return h('div', { class: 'notes' }, ...paragraph, h('ol', { 'aria-label': label }, ...list));
}

function drawQuote({ callout, children }: Extract<BlockBody, { type: 'quote' }>, growing: boolean) {
  if (callout === undefined) return h('blockquote', { dir: 'auto' }, ...drawBlocks(children, growing));
  const [first, ...others] = children;
  const [heading = '', word] = first?.type === 'paragraph' ? (CALLOUT_HEADING.exec(first.text) ?? []) : [];
  const title = h('p', { class: 'callout-title' }, word ?? '');
  const rest = first?.type === 'paragraph' ? first.text.slice(heading.length) : '';
  const inside = rest === '' ? others : [{ type: 'paragraph' as const, text: rest }, ...others];
  const look = { class: `callout ${callout}`, role: 'note', dir: 'auto' };
  return h('div', look, title, ...drawBlocks(inside, growing));
}

/** The headings of an answer start below the levels of the page's own headings. */
function drawHeading(level: number, text: string, growing: boolean) {
  return h(
    'div',
    { class: `heading h${level}`, role: 'heading', 'aria-level': level + 2, dir: 'auto' },
    ...drawInline(text, growing),
  );
}

async function colour(code: HTMLElement, language: string) {
  try {
    const { colourSoon } = await import('./code-colours.ts');
    colourSoon(code, language);
  } catch (error) {
    // The code can be read without colours.
    code.title = say('page.markdown.uncoloured', { why: messageOf(error) });
  }
}

async function drawDiagram(block: HTMLElement, code: HTMLElement, source: string) {
  try {
    const { addDiagram } = await import('./diagram.ts');
    addDiagram(block, code, source);
  } catch (error) {
    // The code can be read without its diagram.
    code.title = say('page.markdown.not_drawn', { why: messageOf(error) });
  }
}

function isDiagram(language: string) {
  return language.toLowerCase() === 'mermaid';
}

function drawCode(language: string, text: string, growing: boolean) {
  if (language.toLowerCase() === 'math')
    return h('p', {}, drawFormula(text, `\`\`\`math\n${text}\n\`\`\``, true));
  const code = h('code', {}, text);
  if (language !== '') void colour(code, language);
  const head = h(
    'div',
    { class: 'code-head' },
    h('span', {}, language),
    copyButton(() => text, say('page.markdown.copy_code')),
  );
  const box = h('pre', { tabindex: '0', role: 'group', 'aria-label': say('page.markdown.code') }, code);
  const block = h('div', { class: 'code', dir: 'ltr' }, head, box);
  if (isDiagram(language) && !growing) void drawDiagram(block, box, text);
  return block;
}

function drawList(list: Extract<BlockBody, { type: 'list' }>, growing: boolean) {
  const items = list.items.map(({ checked, tight, children }, index) => {
    const isOpen = growing && index === list.items.length - 1;
    const item = h('li', { class: checked === undefined ? undefined : 'task', dir: 'auto' });
    if (checked !== undefined)
      item.append(
        h('input', {
          type: 'checkbox',
          disabled: true,
          checked,
          'aria-label': checked ? say('page.part.done') : say('page.markdown.open'),
        }),
      );
    for (const child of children) {
      const isLast = isOpen && child === children.at(-1);
      if (tight && child.type === 'paragraph') item.append(...drawInline(child.text, isLast));
      else item.append(drawBlock(child, isLast));
    }
    return item;
  });
  const { start } = list;
  return start === undefined ? h('ul', { dir: 'auto' }, ...items) : h('ol', { start, dir: 'auto' }, ...items);
}

function drawTable({ align, head, rows }: Extract<BlockBody, { type: 'table' }>, growing: boolean) {
  const drawRow = (row: string[], tag: 'th' | 'td', isOpen: boolean) =>
    h(
      'tr',
      {},
      ...row.map((text, column) =>
        h(
          tag,
          { class: `to-${align[column] ?? 'left'}`, dir: 'auto' },
          ...drawInline(text, isOpen && column === row.length - 1),
        ),
      ),
    );
  const body = rows.map((row, index) => drawRow(row, 'td', growing && index === rows.length - 1));
  const headRow = drawRow(head, 'th', growing && rows.length === 0);
  const table = h('table', {}, h('thead', {}, headRow), h('tbody', {}, ...body));
  const cells = () => [head, ...rows].map((row) => row.map(inlineText).join('\t')).join('\n');
  const region = {
    class: 'table-scroll',
    tabindex: '0',
    role: 'group',
    'aria-label': say('page.markdown.table'),
  };
  return h(
    'div',
    { class: 'table', dir: 'auto' },
    h('div', region, table),
    copyButton(cells, say('page.markdown.copy_table')),
  );
}

function drawInline(text: string, growing: boolean) {
  return parseInline(text, growing).map(drawNode);
}

function drawNode(node: Inline): Node | string {
  switch (node.type) {
    case 'code':
      return h('code', {}, node.text);
    case 'break':
      return h('br');
    case 'formula':
      return drawFormula(node.source, node.text, node.isDisplayed);
    case 'note':
      return drawNoteCall(node.number, node.text);
    case 'link':
      if (node.isPicture) return drawPictureLink(node);
      return h(
        'a',
        { href: node.href, title: node.href, target: '_blank', rel: 'noopener noreferrer nofollow' },
        ...node.children.map(drawNode),
        node.host === undefined ? '' : ` (${node.host})`,
      );
    case 'label':
      return h('span', { class: 'open-link' }, ...node.children.map(drawNode));
    case 'picture':
      return h('span', { class: 'picture-place', 'data-path': node.path }, ...node.children.map(drawNode));
    case 'strong':
    case 'em':
    case 'del':
      return h(node.type, {}, ...node.children.map(drawNode));
    default:
      return node.text;
  }
}

/**
 * A picture of another server, as a link to it. It is not loaded, not even on a press: its request would tell that server
 * who reads the answer, and what its address says of the chat, if a text that the model has read made it write so. The
 * page's policy (`img-src 'self'`) holds whatever this parser overlooks, and has no exception for single pictures.
 */
function drawPictureLink({ href, children }: Extract<Inline, { type: 'link' }>) {
  const { host } = new URL(href);
  const name = textOf(children);
  const label =
    safeHref(name) === href
      ? say('page.markdown.picture', { host })
      : say('page.markdown.picture_named', { name, host });
  const attributes = { target: '_blank', rel: 'noopener noreferrer nofollow', class: 'picture-link' };
  return h('a', { href, title: href, ...attributes }, label);
}
