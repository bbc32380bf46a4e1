/**
 * Parser of inline Markdown: emphasis, code, links. Returns plain objects; linear in the length of the text.
 */
import { type Inline, textOf, withoutLinks } from './nodes.ts';
import { isTag, MAX_TAG, noteAt } from '../../../../src/lib/markdown/tags.ts';
import { readReference, withoutBlanksAtEnd } from './characters.ts';
import { withFormulas } from './formulas.ts';
import { DELETION, EMPHASIS, joined, type Marks, pairMarks, readMarks } from './emphasis.ts';
import {
  hiddenHost,
  linkAddresses,
  MAX_TARGET,
  readAddress,
  readPath,
  readResource,
  safeHref,
} from './links.ts';
import { withTags } from './tags.ts';

/** An opening bracket: its place in the text and in the list. */
type Bracket = { start: number; node: number; isPicture: boolean };

const ESCAPABLE = /[!-/:-@[-`{-~]/;
/** A passage that the model cites; a link of that text is one. */
const CITATION = /\[k(\d{1,6})\](?!\()/y;
/** Marks at the end of a growing text, which the next token may continue: they are shown with it. */
const HELD = /(?:\*{1,3}|_{1,3}|~{1,2}|`{1,3}|!?\[|(?<![^ ])!|\\)$/;

/**
 * Parses a text. Of a `growing` one the last line may hold marks that are not closed yet: they are taken for closed.
 */
export function parseInline(text: string, growing: boolean = false): Inline[] {
  return new InlineParser(growing ? text.replace(HELD, '') : text, growing).parse();
}

class InlineParser {
  #text;
  #growing;
  #at = 0;
  #plain = '';
  #nodes: (Inline | Marks)[] = [];
  /** Innermost last. */
  #brackets: Bracket[] = [];
  /** How many of the brackets come before a link: they make none, because a link contains no other. */
  #inactive = 0;
  /** An address was left in the text, because it may have been that of a link. */
  #hasAddresses = false;
  /** Kinds of marks, in the order in which they appear in the text. */
  #kinds: string[] = [];
  /** Lengths of backtick runs that have no closing run ahead. */
  #unclosed: Set<number> = new Set();

  constructor(text: string, growing: boolean) {
    this.#text = text;
    this.#growing = growing;
  }

  parse() {
    while (this.#at < this.#text.length) this.#step(this.#text.charAt(this.#at));
    this.#flush();
    if (this.#growing) this.#openLabel();
    const nodes = withTags(pairMarks(this.#nodes, this.#kinds, this.#growing));
    return withFormulas(this.#hasAddresses ? linkAddresses(nodes) : nodes);
  }

  #step(char: string) {
    if (char === '\\') this.#escape();
    else if (char === '`') this.#code();
    else if (char === '\n') this.#newline();
    else if (EMPHASIS.includes(char) || char === DELETION) this.#marks(char);
    else if (char === '[' && (this.#note() || this.#citation())) return;
    else if (char === '[') this.#open(false);
    else if (char === '<' && this.#tag()) return;
    else if (char === '!' && this.#text[this.#at + 1] === '[') this.#open(true);
    else if (char === ']') this.#close();
    else if ((char === 'h' || char === 'H' || char === '<') && this.#autolink()) return;
    else if (char === '&' && this.#characterReference()) return;
    else this.#addText(char);
  }

  #addText(text: string) {
    this.#plain += text;
    this.#at += text.length;
  }

  #push(node: Inline | Marks) {
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

  #note() {
    const note = noteAt(this.#text, this.#at);
    if (note === undefined) return false;
    this.#push({ type: 'note', text: `[${note.number}]`, number: note.number });
    this.#at += note.length;
    return true;
  }

  #citation() {
    CITATION.lastIndex = this.#at;
    const [text, number] = CITATION.exec(this.#text) ?? [];
    if (text === undefined) return false;
    this.#push({ type: 'citation', text, number: Number(number) });
    this.#at += text.length;
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

  #closingTicks(from: number, length: number) {
    for (let at = this.#text.indexOf('`', from); at >= 0; at = this.#text.indexOf('`', at)) {
      let run = 1;
      while (this.#text[at + run] === '`') run += 1;
      if (run === length) return at;
      at += run;
    }
    return -1;
  }

  #marks(char: string) {
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

  #open(isPicture: boolean) {
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
   */
  #label(open: Bracket) {
    this.#flush();
    const [, ...inside] = this.#nodes.splice(open.node);
    return joined(withoutLinks(withTags(pairMarks(inside, [DELETION, EMPHASIS], false))));
  }

  #picture(target: string, text: string) {
    const children = text === '' ? [] : [{ type: 'text', text } as const];
    const path = readPath(target);
    if (path === undefined) this.#link(target, children, { isPicture: true });
    else this.#push({ type: 'picture', path, children });
  }

  #link(target: string, label: Inline[], kind: { isPicture?: true } = {}) {
    const href = safeHref(target);
    const children = label.length === 0 ? [{ type: 'text', text: target } as const] : label;
    if (href === undefined) this.#nodes.push(...label);
    else this.#push({ type: 'link', href, host: hiddenHost(textOf(label), href), ...kind, children });
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

  #runLength(char: string) {
    let length = 1;
    while (this.#text[this.#at + length] === char) length += 1;
    return length;
  }
}

/** True for a text that ends where the target of a link may be. */
function isCut(text: string, at: number) {
  if (at === text.length) return true;
  if (text[at] !== '(' || text.length - at > MAX_TARGET) return false;
  const target = text.slice(at);
  return (
    /^\( ?(?:<[^>\n]*>?|\S*)(?: (?:["'(].*)?)?$/.test(target) &&
    target.split('(').length > target.split(')').length
  );
}
