/** Parser of inline Markdown: emphasis, code, links. Returns plain objects; linear in the length of the text. */
import { isTag, MAX_TAG, noteAt } from '../../../../src/lib/markdown/tags.ts';
import { readReference } from './characters.js';
import { DELETION, EMPHASIS, joined, pairMarks, readMarks } from './emphasis.js';
import { withoutBlanksAtEnd } from './line.js';
import { textOf, withoutLinks } from './link-text.js';
import {
  hiddenHost,
  linkAddresses,
  MAX_TARGET,
  readAddress,
  readPath,
  readResource,
  safeHref,
} from './links.js';
import { withTags } from './tags.js';

/** @typedef {import('./nodes.js').Inline} Inline */
/** @typedef {import('./emphasis.js').Marks} Marks */
/** An opening bracket: its place in the text and in the list. @typedef {{ start: number, node: number, isPicture: boolean }} Bracket */

const ESCAPABLE = /[!-/:-@[-`{-~]/;
/** Marks at the end of a growing text, which the next token may continue: they are shown with it. */
const HELD = /(?:\*{1,3}|_{1,3}|~{1,2}|`{1,3}|!?\[|(?<![^ ])!|\\)$/;

/**
 * Parses a text. Of a `growing` one the last line may hold marks that are not closed yet: they are taken for closed.
 * @param {string} text
 * @param {boolean} [growing]
 * @returns {Inline[]}
 */
export function parseInline(text, growing = false) {
  return new InlineParser(growing ? text.replace(HELD, '') : text, growing).parse();
}

class InlineParser {
  #text;
  #growing;
  #at = 0;
  #plain = '';
  /** @type {(Inline | Marks)[]} */
  #nodes = [];
  /** Innermost last. @type {Bracket[]} */
  #brackets = [];
  /** How many of the brackets come before a link: they make none, because a link contains no other. */
  #inactive = 0;
  /** An address was left in the text, because it may have been that of a link. */
  #hasAddresses = false;
  /** Kinds of marks, in the order in which they appear in the text. @type {string[]} */
  #kinds = [];
  /** Lengths of backtick runs that have no closing run ahead. @type {Set<number>} */
  #unclosed = new Set();

  /**
   * @param {string} text
   * @param {boolean} growing
   */
  constructor(text, growing) {
    this.#text = text;
    this.#growing = growing;
  }

  parse() {
    while (this.#at < this.#text.length) this.#step(this.#text.charAt(this.#at));
    this.#flush();
    if (this.#growing) this.#openLabel();
    const nodes = withTags(pairMarks(this.#nodes, this.#kinds, this.#growing));
    return this.#hasAddresses ? linkAddresses(nodes) : nodes;
  }

  /** @param {string} char */
  #step(char) {
    if (char === '\\') this.#escape();
    else if (char === '`') this.#code();
    else if (char === '\n') this.#newline();
    else if (EMPHASIS.includes(char) || char === DELETION) this.#marks(char);
    else if (char === '[' && this.#note()) return;
    else if (char === '[') this.#open(false);
    else if (char === '<' && this.#tag()) return;
    else if (char === '!' && this.#text[this.#at + 1] === '[') this.#open(true);
    else if (char === ']') this.#close();
    else if ((char === 'h' || char === 'H' || char === '<') && this.#autolink()) return;
    else if (char === '&' && this.#characterReference()) return;
    else this.#addText(char);
  }

  /** @param {string} text */
  #addText(text) {
    this.#plain += text;
    this.#at += text.length;
  }

  /** @param {Inline | Marks} node */
  #push(node) {
    this.#flush();
    this.#nodes.push(node);
  }

  #flush() {
    if (this.#plain !== '') this.#nodes.push({ type: 'text', text: this.#plain });
    this.#plain = '';
  }

  #escape() {
    const next = this.#text.charAt(this.#at + 1);
    if (next === '\n') {
      this.#push({ type: 'break' });
      this.#at += 2;
    } else if (ESCAPABLE.test(next)) {
      this.#plain += next;
      this.#at += 2;
    } else this.#addText('\\');
  }

  /** The number of a footnote stays in brackets: raised, it would make powers of numbers. */
  #note() {
    const note = noteAt(this.#text, this.#at);
    if (note === undefined) return false;
    this.#plain += `[${note.number}]`;
    this.#at += note.length;
    return true;
  }

  #tag() {
    const ahead = this.#text.slice(this.#at, this.#at + MAX_TAG);
    const tag = ahead.slice(0, ahead.indexOf('>') + 1);
    if (!isTag(tag)) return false;
    this.#push({ type: 'tag', text: tag });
    this.#at += tag.length;
    return true;
  }

  #characterReference() {
    const reference = readReference(this.#text, this.#at);
    if (reference === undefined) return false;
    this.#plain += reference.character;
    this.#at += reference.length;
    return true;
  }

  #newline() {
    const bare = withoutBlanksAtEnd(this.#plain);
    const isHard = /(?<!\t) {2}$/.test(this.#plain);
    this.#plain = bare;
    if (isHard) this.#push({ type: 'break' });
    else this.#plain += '\n';
    this.#at += 1;
  }

  #code() {
    const length = this.#runLength('`');
    const start = this.#at + length;
    const end = this.#unclosed.has(length) ? -1 : this.#closingTicks(start, length);
    if (end >= 0) {
      const code = this.#text.slice(start, end);
      const padded = /^[ \n][^]*[ \n]$/.test(code) && /[^ \n]/.test(code);
      this.#push({ type: 'code', text: padded ? code.slice(1, -1) : code });
      this.#at = end + length;
    } else if (this.#growing && start < this.#text.length && !this.#text.includes('\n', start)) {
      this.#push({ type: 'code', text: this.#text.slice(start) });
      this.#at = this.#text.length;
    } else {
      this.#unclosed.add(length);
      this.#addText('`'.repeat(length));
    }
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
  #marks(char) {
    const run = readMarks(this.#text, this.#at);
    if (run === undefined) {
      this.#addText(char.repeat(this.#runLength(char)));
      return;
    }
    this.#push(run);
    this.#at += run.count;
    const kind = char === DELETION ? DELETION : EMPHASIS;
    if (!this.#kinds.includes(kind)) this.#kinds.push(kind);
  }

  /** @param {boolean} isPicture */
  #open(isPicture) {
    const text = isPicture ? '![' : '[';
    this.#push({ type: 'text', text });
    this.#brackets.push({ start: this.#at, node: this.#nodes.length - 1, isPicture });
    this.#at += text.length;
  }

  /**
   * The end of a link, of an image as a link to it (the page loads nothing from other servers), or of the place of a file
   * of the session.
   */
  #close() {
    const open = this.#brackets.pop();
    const isActive = open?.isPicture === true || this.#brackets.length >= this.#inactive;
    this.#inactive = Math.min(this.#inactive, this.#brackets.length);
    const resource = open && isActive ? readResource(this.#text, this.#at + 1) : undefined;
    if (open === undefined || resource === undefined) {
      const isGrowing = open !== undefined && isActive && this.#growing && isCut(this.#text, this.#at + 1);
      if (!isGrowing) return this.#addText(']');
      this.#push({ type: 'label', children: this.#label(open) });
      this.#at = this.#text.length;
      return undefined;
    }
    const label = this.#label(open);
    if (open.isPicture) this.#picture(resource.target, textOf(label));
    else {
      this.#inactive = this.#brackets.length;
      this.#link(resource.target, label);
    }
    this.#at = resource.end;
    return undefined;
  }

  /**
   * Takes out an opening bracket and what follows it, and returns the latter. Marks of writing direction could make it
   * read as another address.
   * @param {Bracket} open
   */
  #label(open) {
    this.#flush();
    const [, ...inside] = this.#nodes.splice(open.node);
    return joined(withoutLinks(withTags(pairMarks(inside, [DELETION, EMPHASIS], false))));
  }

  /**
   * @param {string} target
   * @param {string} text
   */
  #picture(target, text) {
    const children = text === '' ? [] : [/** @type {const} */ ({ type: 'text', text })];
    const path = readPath(target);
    if (path === undefined) this.#link(target, children);
    else this.#push({ type: 'picture', path, children });
  }

  /**
   * @param {string} target
   * @param {Inline[]} label
   */
  #link(target, label) {
    const href = safeHref(target);
    const children = label.length === 0 ? [/** @type {const} */ ({ type: 'text', text: target })] : label;
    if (href === undefined) this.#nodes.push(...label);
    else this.#push({ type: 'link', href, host: hiddenHost(textOf(label), href), children });
  }

  /** The text of a link whose end has not come yet: not "[1", which is often no link, and not "a[i". */
  #openLabel() {
    const open = this.#brackets.at(-1);
    if (open === undefined || this.#brackets.length <= this.#inactive) return;
    const text = this.#text.slice(open.start + (open.isPicture ? 2 : 1));
    if (
      !/^[\p{L}*_`"“(]/u.test(text) ||
      text.includes('\n') ||
      /[\w)\]]/.test(this.#text.charAt(open.start - 1))
    )
      return;
    const label = withTags(pairMarks(this.#nodes.splice(open.node + 1), [DELETION, EMPHASIS], true));
    this.#nodes.splice(open.node, 1, { type: 'label', children: joined(withoutLinks(label)) });
  }

  #autolink() {
    const address = readAddress(this.#text, this.#at, this.#brackets.length === 0);
    if (address === undefined) {
      this.#hasAddresses ||= this.#brackets.length > 0;
      return false;
    }
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
 * True for a text that ends where the target of a link may be.
 * @param {string} text
 * @param {number} at
 */
function isCut(text, at) {
  if (at === text.length) return true;
  if (text[at] !== '(' || text.length - at > MAX_TARGET) return false;
  const target = text.slice(at);
  return (
    /^\( ?(?:<[^>\n]*>?|\S*)(?: (?:["'(].*)?)?$/.test(target) &&
    target.split('(').length > target.split(')').length
  );
}
