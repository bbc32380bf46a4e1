/** One line of Markdown as it is read from its start: quotes, items and fences each take their part. */

/** The distance of tab stops, in columns. */
const TAB_STOP = 4;

/** What is left of a line. Columns count from its start, as tabs do. */
export class Line {
  /** What is left of it. */
  rest;
  #column = 0;

  constructor(text: string) {
    this.rest = text;
  }

  /** True when only blanks are left. */
  get isBlank() {
    return /^[ \t]*$/.test(this.rest);
  }

  /** What is left without the blanks before it. */
  get bare() {
    return this.rest.replace(/^[ \t]+/, '');
  }

  /** Columns of the blanks that come next. */
  get indent() {
    let column = this.#column;
    for (const char of /^[ \t]*/.exec(this.rest)?.[0] ?? '') column += widthAt(char, column);
    return column - this.#column;
  }

  /** Takes characters that are not tabs. */
  takeChars(count: number) {
    this.rest = this.rest.slice(count);
    this.#column += count;
  }

  /**
   * Takes blanks, at most this many columns of them; a tab that is wider becomes the blanks that are left of it.
   */
  takeBlanks(columns: number) {
    const end = this.#column + columns;
    while (this.#column < end && /^[ \t]/.test(this.rest)) {
      const next = this.#column + widthAt(this.rest.charAt(0), this.#column);
      this.rest = ' '.repeat(Math.max(0, next - end)) + this.rest.slice(1);
      this.#column = Math.min(next, end);
    }
  }
}

function widthAt(blank: string, column: number) {
  return blank === '\t' ? TAB_STOP - (column % TAB_STOP) : 1;
}

/**
 * The text without the blanks at its end; an expression that ends in `$` would look at each run of blanks again and again.
 */
export function withoutBlanksAtEnd(text: string) {
  let end = text.length;
  while (end > 0 && (text[end - 1] === ' ' || text[end - 1] === '\t')) end -= 1;
  return text.slice(0, end);
}
