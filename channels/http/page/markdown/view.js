/** Draws parsed Markdown as elements. A growing text redraws only the blocks that changed. */
import { copyButton, h } from '../dom.js';
import { colourSoon } from './code-colours.js';
import { parseDocument } from './document.js';
import { parseInline } from './inline.js';
import { inlineText } from './plain-text.js';
import { say } from '../texts.js';

/** @typedef {import('./blocks.js').Block} Block */
/** @typedef {import('./inline.js').Inline} Inline */

/** A growing text, drawn at most once per frame. */
export class LiveMarkdown {
  element = h('div', { class: 'md' });
  text = '';
  /** Sources of the drawn blocks. @type {string[]} */
  #drawn = [];
  #scheduled = false;
  #onDraw;

  /** @param {() => void} [onDraw] called after each drawing */
  constructor(onDraw = () => undefined) {
    this.#onDraw = onDraw;
  }

  /** @param {string} delta */
  append(delta) {
    this.set(this.text + delta);
  }

  /** @param {string} text */
  set(text) {
    this.text = text;
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.#scheduled = false;
    const blocks = parseDocument(this.text);
    const kept = blocks.findIndex((block, index) => block.source !== this.#drawn[index]);
    const from = kept < 0 ? blocks.length : kept;
    while (this.element.children.length > from) this.element.lastElementChild?.remove();
    this.element.append(...blocks.slice(from).map(drawBlock));
    this.#drawn = blocks.map((block) => block.source);
    this.#onDraw();
  }
}

/**
 * @param {Block} block
 * @returns {HTMLElement}
 */
function drawBlock(block) {
  switch (block.type) {
    case 'paragraph':
      return h('p', { dir: 'auto' }, ...drawInline(block.text));
    case 'heading':
      return drawHeading(block.level, block.text);
    case 'code':
      return drawCode(block.language, block.text);
    case 'rule':
      return h('hr');
    case 'quote':
      return h('blockquote', { dir: 'auto' }, ...block.children.map(drawBlock));
    case 'list':
      return drawList(block);
    case 'table':
      return drawTable(block);
    default:
      return h('p');
  }
}

/**
 * The headings of an answer start below the levels of the page's own headings.
 * @param {number} level
 * @param {string} text
 */
function drawHeading(level, text) {
  return h(
    'div',
    { class: `heading h${level}`, role: 'heading', 'aria-level': level + 2, dir: 'auto' },
    ...drawInline(text),
  );
}

/**
 * @param {string} language
 * @param {string} text
 */
function drawCode(language, text) {
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
    h('pre', { tabindex: '0', role: 'region', 'aria-label': say('page.markdown.code') }, code),
  );
}

/** @param {Extract<Block, { type: 'list' }>} list */
function drawList(list) {
  const items = list.items.map(({ checked, tight, children }) => {
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
      if (tight && child.type === 'paragraph') item.append(...drawInline(child.text));
      else item.append(drawBlock(child));
    }
    return item;
  });
  const { start } = list;
  return start === undefined ? h('ul', { dir: 'auto' }, ...items) : h('ol', { start, dir: 'auto' }, ...items);
}

/** @param {Extract<Block, { type: 'table' }>} table */
function drawTable({ align, head, rows }) {
  const cell =
    (/** @type {'th' | 'td'} */ tag) => (/** @type {string} */ text, /** @type {number} */ column) =>
      h(tag, { class: `to-${align[column] ?? 'left'}`, dir: 'auto' }, ...drawInline(text));
  const body = rows.map((row) => h('tr', {}, ...row.map(cell('td'))));
  const drawn = h('table', {}, h('thead', {}, h('tr', {}, ...head.map(cell('th')))), h('tbody', {}, ...body));
  const cells = () => [head, ...rows].map((row) => row.map(inlineText).join('\t')).join('\n');
  const region = {
    class: 'table-scroll',
    tabindex: '0',
    role: 'region',
    'aria-label': say('page.markdown.table'),
  };
  return h(
    'div',
    { class: 'table', dir: 'auto' },
    h('div', region, drawn),
    copyButton(cells, say('page.markdown.copy_table')),
  );
}

/** @param {string} text */
function drawInline(text) {
  return parseInline(text).map(drawNode);
}

/**
 * @param {Inline} node
 * @returns {Node | string}
 */
function drawNode(node) {
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
