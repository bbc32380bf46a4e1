/** Splits a growing Markdown text into segments that can be parsed one by one, so that no edit parses what is finished. */

/** Short blocks share a segment up to this size: parsing has a cost per call. */
const LEAST_SEGMENT = 512;

/** A segment this long ends at the next line of a list, table or code block, and is joined again after parsing. */
const SOFT_SEGMENT = 2_048;

/** A segment never grows beyond this many UTF-16 units, wherever that cuts. */
export const HARD_SEGMENT = 8_192;

/** Longest table header that is repeated in front of a continuation; a table with a longer one is not recognized. */
const MAX_HEAD = 512;

/** A piece of the source that can be parsed separately. */
export interface Segment {
  text: string;
  /** Lines that stand before `text` when it is parsed: the opening of its code block or the header of its table. */
  head: string;
  /** Text between the last block of the previous segment and its continuation here; undefined if it continues none. */
  joins: '\n' | '' | undefined;
}

interface Fence {
  mark: string;
  length: number;
}

type Kind = 'empty' | 'list' | 'table' | 'code' | 'other';

/** Accepts text as it arrives, returns segments as they close. Every character is read a bounded number of times. */
export class Segments {
  #open = '';
  /** `#open` has been read as whole lines up to this offset. */
  #read = 0;
  #head = '';
  #joins: Segment['joins'];
  /** Start in `#open` of the currently growing block, and its kind. */
  #block = 0;
  #kind: Kind = 'empty';
  #fence: Fence | undefined;
  #lines = 0;
  #blank = false;

  /** Appends text; returns the segments that no later text can change. */
  push(text: string): Segment[] {
    this.#open += text;
    const segments: Segment[] = [];
    for (;;) {
      const newline = this.#open.indexOf('\n', this.#read);
      const end = newline < 0 ? this.#open.length : newline + 1;
      if (end > HARD_SEGMENT) {
        segments.push(this.#breakOff());
        continue;
      }
      if (newline < 0) return segments;
      this.#line(this.#open.slice(this.#read, newline), end, segments);
    }
  }

  /** What has not closed yet: the end of the text while it grows, and the last segment once it is complete. */
  open(): Segment & { inCode: boolean } {
    return { text: this.#open, head: this.#head, joins: this.#joins, inCode: this.#fence !== undefined };
  }

  #line(line: string, end: number, segments: Segment[]): void {
    if (this.#fence !== undefined) {
      this.#read = end;
      if (closesFence(line, this.#fence)) {
        this.#fence = undefined;
        segments.push(this.#close(end, '', undefined));
      } else if (end > SOFT_SEGMENT) {
        segments.push(this.#close(end, this.#opening(), '\n'));
      }
      return;
    }
    if (line.trim() === '') {
      this.#skipBlank(end);
      return;
    }
    const fence = openedFence(line, this.#kind);
    const boundary = this.#boundary(line, fence !== undefined);
    const isShort = boundary?.joins === undefined && fence === undefined && this.#read < LEAST_SEGMENT;
    if (boundary === undefined || isShort) {
      if (boundary !== undefined) this.#beginBlock(this.#read);
      this.#read = end;
    } else {
      segments.push(this.#close(this.#read, boundary.head, boundary.joins));
      this.#read = line.length + 1;
    }
    this.#enter(line, fence);
  }

  /** A blank line may end a block; before the first block it is dropped. */
  #skipBlank(end: number): void {
    if (this.#kind === 'empty') {
      this.#open = this.#open.slice(end);
      this.#read = 0;
    } else {
      this.#read = end;
      this.#blank = true;
    }
  }

  /** Decides whether the segment ends before this line, and how the next one continues it. */
  #boundary(line: string, fence: boolean): Pick<Segment, 'head' | 'joins'> | undefined {
    if (this.#kind === 'empty') return undefined;
    const item = isListItem(line);
    const flush = !/^[ \t]/.test(line);
    if (fence || /^#{1,6} /.test(line)) return { head: '', joins: undefined };
    if (this.#blank && flush && !(this.#kind === 'list' && item)) return { head: '', joins: undefined };
    if (this.#read <= SOFT_SEGMENT) return undefined;
    if (this.#kind === 'list' && item) return { head: '', joins: '\n' };
    if (this.#kind === 'table') return { head: this.#opening(), joins: '\n' };
    return undefined;
  }

  /** Records what kind of block a line starts or continues. */
  #enter(line: string, fence: Fence | undefined): void {
    this.#blank = false;
    this.#lines++;
    if (fence !== undefined) {
      this.#fence = fence;
      this.#kind = 'code';
    } else if (this.#kind === 'empty') {
      this.#kind = isListItem(line) ? 'list' : this.#continues ? 'table' : 'other';
    } else if (this.#kind === 'other' && this.#lines === 2 && this.#read <= MAX_HEAD && isTableRule(line)) {
      this.#kind = 'table';
    }
  }

  /** The lines to repeat before a continuation of this segment, so that it parses as the same kind of block. */
  #opening(): string {
    if (this.#continues) return this.#head;
    const first = this.#open.indexOf('\n', this.#block) + 1;
    return this.#open.slice(
      this.#block,
      this.#kind === 'table' ? this.#open.indexOf('\n', first) + 1 : first,
    );
  }

  /** An earlier segment started the currently growing block. */
  get #continues(): boolean {
    return this.#head !== '' && this.#block === 0;
  }

  #beginBlock(at: number): void {
    this.#block = at;
    this.#kind = 'empty';
    this.#lines = 0;
    this.#blank = false;
  }

  /** Closes the segment at `end`; what follows is the new open one. */
  #close(end: number, head: string, joins: Segment['joins']): Segment {
    const segment = { text: this.#open.slice(0, end), head: this.#head, joins: this.#joins };
    this.#open = this.#open.slice(end);
    this.#read = 0;
    this.#head = head;
    this.#joins = joins;
    this.#beginBlock(0);
    if (this.#fence !== undefined) this.#kind = 'code';
    return segment;
  }

  /** Ends an overlong segment after its last whole line, otherwise before a space, otherwise between two characters. */
  #breakOff(): Segment {
    const head = this.#fence !== undefined || this.#kind === 'table' ? this.#opening() : '';
    if (this.#read > HARD_SEGMENT / 2) return this.#close(this.#read, head, '\n');
    // Before all spaces of a run: the parser drops those at the end of a text.
    const space = this.#open.slice(0, this.#open.lastIndexOf(' ', HARD_SEGMENT) + 1).trimEnd().length;
    let end = space > HARD_SEGMENT / 2 ? space : HARD_SEGMENT;
    if (/[\ud800-\udbff]/.test(this.#open.charAt(end - 1))) end--;
    return this.#close(end, head, '');
  }
}

/** A code fence at the top level; inside a list an indented one belongs to its item. */
function openedFence(line: string, kind: Kind): Fence | undefined {
  const match = /^( {0,3})(`{3,}|~{3,})/.exec(line);
  const [opening = '', indent = '', mark = ''] = match ?? [];
  if (
    mark === '' ||
    line.length > MAX_HEAD ||
    (kind === 'list' && indent !== '') ||
    (mark.startsWith('`') && line.includes('`', opening.length))
  )
    return undefined;
  return { mark: mark.charAt(0), length: mark.length };
}

function closesFence(line: string, fence: Fence): boolean {
  const bare = line.trim();
  return bare.length >= fence.length && /^ {0,3}\S/.test(line) && bare === fence.mark.repeat(bare.length);
}

function isListItem(line: string): boolean {
  return /^(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/.test(line);
}

function isTableRule(line: string): boolean {
  return /^[ \t]*[|:-][ \t|:-]*$/.test(line) && line.includes('-') && line.includes('|');
}
