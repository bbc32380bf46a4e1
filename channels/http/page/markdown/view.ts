/** Draws parsed Markdown as elements. A growing text redraws only the blocks that changed. */
import type { BlockBody, Inline } from './nodes.ts';
import { copyButton, h } from '../dom.ts';
import { colourSoon } from './code-colours.ts';
import { GrowingDocument, parseDocument } from './document.ts';
import { parseInline } from './inline.ts';
import { inlineText } from './plain-text.ts';
import { say } from '../texts.ts';

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
    const sources = blocks.map(({ source, type }, index) =>
      isOpen(index) && type !== 'code' ? `${source}\0` : source,
    );
    const firstChange = sources.findIndex((source, index) => source !== this.#drawn[index]);
    const from = firstChange < 0 ? blocks.length : firstChange;
    while (this.element.children.length > from) this.element.lastElementChild?.remove();
    this.element.append(...blocks.slice(from).map((block, index) => drawBlock(block, isOpen(from + index))));
    this.#drawn = sources;
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
      return h('p', { dir: 'auto' }, ...drawInline(block.text, growing));
    case 'heading':
      return drawHeading(block.level, block.text, growing);
    case 'code':
      return drawCode(block.language, block.text);
    case 'rule':
      return h('hr');
    case 'quote':
      return h('blockquote', { dir: 'auto' }, ...drawBlocks(block.children, growing));
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

/** The headings of an answer start below the levels of the page's own headings. */
function drawHeading(level: number, text: string, growing: boolean) {
  return h(
    'div',
    { class: `heading h${level}`, role: 'heading', 'aria-level': level + 2, dir: 'auto' },
    ...drawInline(text, growing),
  );
}

function drawCode(language: string, text: string) {
  const code = h('code', {}, text);
  colourSoon(code, language);
  const head = h(
    'div',
    { class: 'code-head' },
    h('span', {}, language),
    copyButton(() => text, say('page.markdown.copy_code')),
  );
  return h(
    'div',
    { class: 'code', dir: 'ltr' },
    head,
    h('pre', { tabindex: '0', role: 'group', 'aria-label': say('page.markdown.code') }, code),
  );
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
    case 'link':
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
