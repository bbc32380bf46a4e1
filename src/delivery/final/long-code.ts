/** Code that is too long to read in messages: it is sent as a file, and the text refers to it. */
import type { Rendered } from '../../protocol/channel.ts';

import type { Say } from '../../protocol/texts/say.ts';

/** Maximum number of messages that one block of code may fill; a longer one is sent as a file. */
export const MAX_CODE_MESSAGES = 3;
/** Maximum number of files for the code in one answer; the rest stays text. */
export const MAX_CODE_FILES = 10;

/** A block of code as a file. */
export interface CodeFile {
  name: string;
  code: string;
  /** The block as it appeared in the text, for a chat that accepts no file. */
  markdown: string;
}

/** Longest message and largest file of a chat. */
interface Limits {
  maxLength: number;
  maxFileBytes: number;
}

/** Takes long code blocks out of a text, always the same; `split` cuts Markdown into messages. */
export async function takeOutLongCode(
  text: string,
  { maxLength, maxFileBytes }: Limits,
  split: (markdown: string) => Promise<Rendered[]>,
  say: Say,
): Promise<{ content: string; files: CodeFile[] }> {
  const files: CodeFile[] = [];
  let content = '';
  let at = 0;
  for (const { code, info, indent, start, end } of fencedBlocks(text)) {
    if (files.length >= MAX_CODE_FILES) break;
    // Short blocks, which most are, need not be split to know that they fit.
    if (code.length <= maxLength || Buffer.byteLength(code) >= maxFileBytes) continue;
    const markdown = text.slice(start, end);
    if ((await split(markdown)).length <= MAX_CODE_MESSAGES) continue;
    const name = nameOf(info, files.length);
    files.push({ name, code: `${code}\n`, markdown });
    content += `${text.slice(at, start)}${indent}${say('code.follows', { count: code.split('\n').length, name })}`;
    at = end;
  }
  return { content: content + text.slice(at), files };
}

/** File extensions by language, if they differ from its name. */
const ENDINGS: Readonly<Record<string, string>> = {
  bash: 'sh',
  'c#': 'cs',
  'c++': 'cpp',
  csharp: 'cs',
  elixir: 'ex',
  erlang: 'erl',
  golang: 'go',
  haskell: 'hs',
  javascript: 'js',
  kotlin: 'kt',
  latex: 'tex',
  markdown: 'md',
  perl: 'pl',
  plaintext: 'txt',
  powershell: 'ps1',
  python: 'py',
  ruby: 'rb',
  rust: 'rs',
  shell: 'sh',
  text: 'txt',
  typescript: 'ts',
  yaml: 'yml',
};

function nameOf(info: string, fileCount: number): string {
  const language = (/^[^\s{]+/.exec(info)?.[0] ?? '').toLowerCase();
  const ending = ENDINGS[language] ?? (/^[a-z][a-z0-9]{0,9}$/.test(language) ? language : 'txt');
  return fileCount === 0 ? `code.${ending}` : `code-${fileCount + 1}.${ending}`;
}

interface FencedBlock {
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
  const blocks: FencedBlock[] = [];
  let open: { start: number; indent: string; mark: string; info: string; lines: string[] } | undefined;
  let at = 0;
  const close = (end: number): void => {
    if (open === undefined) return;
    const { start, indent, info, lines } = open;
    blocks.push({ start, end, indent, info, code: lines.join('\n') });
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
  return blocks;
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
