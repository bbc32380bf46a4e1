/** Reads the commands of an IMAP client, with their literals, strictly. [RFC 3501, 9: "Formal Syntax"; RFC 7888] */

/** A word, a string or literal, or a list in parentheses. */
export type Word = string | Word[];

export interface Command {
  tag: string;
  name: string;
  words: Word[];
}

/** What has arrived: lines, and literals between them. */
export class CommandReader {
  #buffer = Buffer.alloc(0);
  #parts: (string | Buffer)[] = [];
  #literal: number | undefined;

  /** Commands that are complete; `invite` asks for a literal. A bare line (of IDLE or AUTHENTICATE) has no name. */
  push(chunk: Buffer, invite: () => void): (string | Buffer)[][] {
    this.#buffer = Buffer.concat([this.#buffer, chunk]);
    const complete: (string | Buffer)[][] = [];
    for (;;) {
      if (this.#literal !== undefined) {
        if (this.#buffer.length < this.#literal) return complete;
        this.#parts.push(this.#buffer.subarray(0, this.#literal));
        this.#buffer = this.#buffer.subarray(this.#literal);
        this.#literal = undefined;
      }
      const end = this.#buffer.indexOf('\r\n');
      if (end === -1) return complete;
      const line = this.#buffer.subarray(0, end).toString('latin1');
      this.#buffer = this.#buffer.subarray(end + 2);
      const [whole, size, plus] = /\{(\d+)(\+?)\}$/.exec(line) ?? [];
      this.#parts.push(whole === undefined ? line : line.slice(0, -whole.length));
      if (whole === undefined) {
        complete.push(this.#parts);
        this.#parts = [];
      } else {
        this.#literal = Number(size);
        if (plus === '') invite();
      }
    }
  }
}

/** Throws `Error` for what the grammar does not allow. */
export function readCommand(parts: readonly (string | Buffer)[]): Command {
  const words = readWords(parts);
  const [tag, name, ...rest] = words;
  if (typeof tag !== 'string' || typeof name !== 'string' || !/^[A-Za-z0-9]+$/.test(tag))
    throw new Error('a command begins with a tag and a name');
  return { tag, name: name.toUpperCase(), words: rest };
}

function readWords(parts: readonly (string | Buffer)[]): Word[] {
  const root: Word[] = [];
  const open: Word[][] = [root];
  const add = (word: Word): void => void open.at(-1)?.push(word);
  for (const part of parts) {
    if (typeof part !== 'string') {
      add(part.toString('latin1'));
      continue;
    }
    // `BODY.PEEK[HEADER.FIELDS (X)]<0.9>` is one word.
    const pattern = /\s*(?:(\()|(\))|"((?:[^"\\]|\\["\\])*)"|((?:[^\s()"[\]{}]|\[[^\]]*\])+))/gy;
    for (pattern.lastIndex = 0; pattern.lastIndex < part.trimEnd().length;) {
      const at = pattern.lastIndex;
      const match = pattern.exec(part);
      if (match === null) throw new Error(`unreadable: ${part.slice(at, at + 40)}`);
      const [, opens, closes, quoted, atom] = match;
      if (opens !== undefined) {
        const list: Word[] = [];
        add(list);
        open.push(list);
      } else if (closes !== undefined) {
        if (open.length === 1) throw new Error('a parenthesis too many');
        open.pop();
      } else if (quoted === undefined) add(atom ?? '');
      else add(quoted.replaceAll(/\\(["\\])/g, '$1'));
    }
  }
  if (open.length > 1) throw new Error('a parenthesis is open');
  return root;
}
