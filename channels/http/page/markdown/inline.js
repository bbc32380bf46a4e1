/** Parser of inline Markdown: emphasis, code, links. Returns plain objects; linear in the length of the text. */
import { readReference } from './characters.js';
import { hiddenHost, matchPairs, readAddress, readPath, readTarget, safeHref } from './links.js';

/**
 * @typedef {{ type: 'text', text: string }
 *   | { type: 'code', text: string }
 *   | { type: 'break' }
 *   | { type: 'link', href: string, host?: string | undefined, children: Inline[] }
 *   | { type: 'picture', path: string, children: Inline[] }
 *   | { type: 'strong' | 'em' | 'del', children: Inline[] }} Inline
 */

/** Open emphasis nested deeper than this is text. */
const MAX_OPEN = 24;
/** Characters that change the direction in which a text is read. */
const DIRECTION_MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
/** Longest link target. */
const MAX_HREF = 1_000;
const MARKS = new Set(['*', '_', '~']);
const PUNCTUATION = /[!-/:-@[-`{-~]/;
/** @typedef {{ mark: string, children: Inline[] }} Frame */

/**
 * Parses a text; `links` is false inside a link, which cannot contain another.
 * @param {string} text
 * @param {boolean} [links]
 * @returns {Inline[]}
 */
export function parseInline(text, links = true) {
  return new InlineParser(text, links).parse();
}

class InlineParser {
  #text;
  #links;
  #at = 0;
  #plain = '';
  /** Innermost last; the first holds the result. @type {Frame[]} */
  #frames = [{ mark: '', children: [] }];
  /** Lengths of backtick runs that have no closing run ahead. @type {Set<number>} */
  #unclosed = new Set();
  /** @type {Map<number, number>} */
  #brackets;
  /** @type {Map<number, number>} */
  #parentheses;

  /**
   * @param {string} text
   * @param {boolean} links
   */
  constructor(text, links) {
    this.#text = text;
    this.#links = links;
    const mayLink = text.includes('](');
    this.#brackets = mayLink ? matchPairs(text, '[', ']') : new Map();
    this.#parentheses = mayLink ? matchPairs(text, '(', ')') : new Map();
  }

  parse() {
    while (this.#at < this.#text.length) this.#step(this.#text.charAt(this.#at));
    this.#flush();
    while (this.#frames.length > 1) this.#unwrapInnermost();
    return this.#frames[0]?.children ?? [];
  }

  /** @param {string} char */
  #step(char) {
    if (char === '\\') this.#escape();
    else if (char === '`') this.#code();
    else if (char === '\n') this.#newline();
    else if (MARKS.has(char)) this.#emphasis(char);
    else if (char === '[' && this.#links && this.#link(this.#at)) return;
    else if (char === '!' && this.#text[this.#at + 1] === '[' && this.#link(this.#at + 1)) return;
    else if ((char === 'h' || char === 'H' || char === '<') && this.#autolink()) return;
    else if (char === '&' && this.#characterReference()) return;
    else this.#take(char);
  }

  /** @param {string} text */
  #take(text) {
    this.#plain += text;
    this.#at += text.length;
  }

  /** @param {Inline} node */
  #push(node) {
    this.#flush();
    this.#frames.at(-1)?.children.push(node);
  }

  #flush() {
    if (this.#plain === '') return;
    this.#frames.at(-1)?.children.push({ type: 'text', text: this.#plain });
    this.#plain = '';
  }

  #escape() {
    const next = this.#text.charAt(this.#at + 1);
    if (next === '\n') {
      this.#push({ type: 'break' });
      this.#at += 2;
    } else if (PUNCTUATION.test(next)) {
      this.#plain += next;
      this.#at += 2;
    } else this.#take('\\');
  }

  #characterReference() {
    const reference = readReference(this.#text, this.#at);
    if (reference === undefined) return false;
    this.#plain += reference.character;
    this.#at += reference.length;
    return true;
  }

  #newline() {
    const hard = this.#plain.endsWith('  ');
    this.#plain = this.#plain.trimEnd();
    if (hard) this.#push({ type: 'break' });
    else this.#plain += '\n';
    this.#at += 1;
  }

  #code() {
    const length = this.#runLength('`');
    const start = this.#at + length;
    const end = this.#unclosed.has(length) ? -1 : this.#closingTicks(start, length);
    if (end < 0) {
      this.#unclosed.add(length);
      this.#take('`'.repeat(length));
      return;
    }
    const code = this.#text.slice(start, end);
    const padded = code.startsWith(' ') && code.endsWith(' ') && code.trim() !== '';
    this.#push({ type: 'code', text: padded ? code.slice(1, -1) : code });
    this.#at = end + length;
  }

  /**
   * @param {number} from
   * @param {number} length
   */
  #closingTicks(from, length) {
    for (let at = this.#text.indexOf('`', from); at >= 0; at = this.#text.indexOf('`', at)) {
      let run = 1;
      while (this.#text[at + run] === '`') run += 1;
      if (run === length) return at;
      at += run;
    }
    return -1;
  }

  /** @param {string} char */
  #emphasis(char) {
    let left = this.#runLength(char);
    const before = this.#text.charAt(this.#at - 1);
    const after = this.#text.charAt(this.#at + left);
    const opens = after !== '' && !/\s/.test(after) && (char !== '_' || !/[\p{L}\p{N}]/u.test(before));
    const closes = before !== '' && !/\s/.test(before) && (char !== '_' || !/[\p{L}\p{N}]/u.test(after));
    this.#at += left;
    // Three or more tildes are text.
    if (char === '~' && left > 2) {
      this.#plain += char.repeat(left);
      return;
    }
    let closed = closes ? this.#close(char, left) : 0;
    while (closed > 0) {
      left -= closed;
      closed = left > 0 ? this.#close(char, left) : 0;
    }
    while (left > 0) {
      const mark = char.repeat(left === 2 || left > 3 ? 2 : 1);
      if (opens && this.#frames.length < MAX_OPEN) this.#open(mark);
      else this.#plain += mark;
      left -= mark.length;
    }
  }

  /** @param {string} mark */
  #open(mark) {
    this.#flush();
    this.#frames.push({ mark, children: [] });
  }

  /**
   * Closes the innermost matching frame of this character; returns the number of characters used.
   * @param {string} char
   * @param {number} left
   */
  #close(char, left) {
    if (left === 1) this.#openStrongInside(char);
    const fits = (/** @type {Frame} */ { mark }) =>
      mark[0] === char && (char === '~' ? mark.length === left : mark.length <= left);
    const index = this.#frames.findLastIndex(fits);
    if (index < 1) return 0;
    this.#flush();
    while (this.#frames.length > index + 1) this.#unwrapInnermost();
    const frame = this.#frames.pop();
    if (frame === undefined) return 0;
    const type = char === '~' ? 'del' : frame.mark.length === 2 ? 'strong' : 'em';
    if (frame.children.length === 0) this.#plain += frame.mark.repeat(2);
    else this.#push({ type, children: frame.children });
    return frame.mark.length;
  }

  /**
   * Three opening marks in a row are read as emphasis around strong; when a single mark closes first, it is the reverse.
   * @param {string} char
   */
  #openStrongInside(char) {
    const [outer, inner] = this.#frames.slice(-2);
    if (inner?.mark !== char.repeat(2) || outer?.mark !== char || outer.children.length > 0) return;
    outer.mark = inner.mark;
    inner.mark = char;
  }

  /** Turns a mark that was never closed into text. */
  #unwrapInnermost() {
    const frame = this.#frames.pop();
    if (frame === undefined) return;
    this.#frames.at(-1)?.children.push({ type: 'text', text: frame.mark }, ...frame.children);
  }

  /**
   * A link, an image as a link to it (the page loads nothing from other servers), or the place of a file of the session.
   * @param {number} open
   */
  #link(open) {
    const close = this.#brackets.get(open);
    const end = close === undefined ? undefined : this.#parentheses.get(close + 1);
    if (close === undefined || end === undefined || end - close > MAX_HREF) return false;
    const target = readTarget(this.#text.slice(close + 2, end));
    if (target === undefined) return false;
    if (!this.#links) {
      // An image inside a link becomes its description, which is not parsed.
      this.#plain += this.#text.slice(open + 1, close);
      this.#at = end + 1;
      return true;
    }
    const href = safeHref(target);
    // Marks of writing direction could make a text read as another address.
    const words = this.#text.slice(open + 1, close).replaceAll(DIRECTION_MARKS, '');
    const label = parseInline(words, false);
    const path = this.#at < open ? readPath(target) : undefined;
    if (path !== undefined) this.#push({ type: 'picture', path, children: label });
    else if (href === undefined) {
      this.#flush();
      this.#frames.at(-1)?.children.push(...label);
    } else
      this.#push({
        type: 'link',
        href,
        host: hiddenHost(textOf(label), href),
        children: label.length === 0 ? [{ type: 'text', text: target }] : label,
      });
    this.#at = end + 1;
    return true;
  }

  #autolink() {
    const address = this.#links ? readAddress(this.#text, this.#at) : undefined;
    if (address === undefined) return false;
    this.#push({ type: 'link', href: address.href, children: [{ type: 'text', text: address.target }] });
    this.#at += address.length;
    return true;
  }

  /** @param {string} char */
  #runLength(char) {
    let length = 1;
    while (this.#text[this.#at + length] === char) length += 1;
    return length;
  }
}

/**
 * The text of parsed nodes, as it is read.
 * @param {Inline[]} nodes
 * @returns {string}
 */
function textOf(nodes) {
  return nodes
    .map((node) => ('children' in node ? textOf(node.children) : 'text' in node ? node.text : ' '))
    .join('');
}
