/** Fenced code in a Markdown text, by its position in the text. */

/** A block of code with its fences. */
export interface FencedBlock {
  /** Where its first line begins and its last one ends, without the line break, in UTF-16 units. */
  start: number;
  end: number;
  /** What precedes its fences. */
  indent: string;
  /** What follows the first fence: `python`. */
  info: string;
  /** The lines in between, without the indentation of the fence. */
  code: string;
}

/** The lookahead keeps it from trying shorter fences, which takes quadratic time. */
const FENCE = /^( {0,3})(`{3,}(?!`)|~{3,}(?!~))(.*)$/;

/** The blocks of a text, in order; one that is not closed ends with the text. Never throws. */
export function fencedBlocks(text: string): FencedBlock[] {
  const found: FencedBlock[] = [];
  let open: { start: number; indent: string; mark: string; info: string; lines: string[] } | undefined;
  let at = 0;
  const close = (end: number): void => {
    if (open === undefined) return;
    const { start, indent, info, lines } = open;
    found.push({ start, end, indent, info, code: lines.join('\n') });
    open = undefined;
  };
  for (const whole of text.split('\n')) {
    const line = whole.endsWith('\r') ? whole.slice(0, -1) : whole;
    if (open === undefined) {
      const [, indent = '', mark = '', info = ''] = FENCE.exec(line) ?? [];
      if (mark !== '' && !(mark.startsWith('`') && info.includes('`')))
        open = { start: at, indent, mark, info: info.trim(), lines: [] };
    } else if (closes(line, open.mark)) close(at + line.length);
    else open.lines.push(withoutIndent(line, open.indent.length));
    at += whole.length + 1;
  }
  close(text.length);
  return found;
}

function closes(line: string, mark: string): boolean {
  const bare = line.trim();
  return bare.length >= mark.length && /^ {0,3}\S/.test(line) && bare === mark.charAt(0).repeat(bare.length);
}

function withoutIndent(line: string, most: number): string {
  let blanks = 0;
  while (blanks < most && line.charAt(blanks) === ' ') blanks += 1;
  return line.slice(blanks);
}
