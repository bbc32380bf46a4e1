/** Code that is too long to read in messages: it is sent as a file, and the text refers to it. */
import type { Rendered } from '../../protocol/channel.ts';
import { type FencedBlock, fencedBlocks } from '../../lib/markdown/fenced-blocks.ts';
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

export interface TextWithCode {
  content: string;
  files: CodeFile[];
}

/** The limits of a chat. */
export interface CodeLimits {
  /** Returns the text that replaces the code. */
  say: Say;
  /** Longest message and largest file. */
  maxLength: number;
  maxFileBytes: number;
  /** Cuts a Markdown text into messages. */
  cut: (text: string) => Promise<Rendered[]>;
}

/** The text without its long blocks of code, and these as files. The same for every delivery attempt. */
export async function takeOutLongCode(text: string, limits: CodeLimits): Promise<TextWithCode> {
  const files: CodeFile[] = [];
  let content = '';
  let at = 0;
  for (const block of fencedBlocks(text)) {
    if (files.length >= MAX_CODE_FILES) break;
    const markdown = text.slice(block.start, block.end);
    if (!(await isTooLong(block, markdown, limits))) continue;
    const file = { name: nameOf(block.info, files), code: `${block.code}\n`, markdown };
    files.push(file);
    content += `${text.slice(at, block.start)}${block.indent}${standIn(block, file, limits.say)}`;
    at = block.end;
  }
  return { content: content + text.slice(at), files };
}

async function isTooLong({ code }: FencedBlock, markdown: string, limits: CodeLimits): Promise<boolean> {
  // Short blocks, which most are, need not be cut to know that they fit.
  if (code.length <= limits.maxLength || Buffer.byteLength(code) >= limits.maxFileBytes) return false;
  return (await limits.cut(markdown)).length > MAX_CODE_MESSAGES;
}

function standIn({ code }: FencedBlock, { name }: CodeFile, say: Say): string {
  return say('code.follows', { count: code.split('\n').length, name });
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

function nameOf(info: string, before: readonly CodeFile[]): string {
  const language = (/^[^\s{]+/.exec(info)?.[0] ?? '').toLowerCase();
  const ending = ENDINGS[language] ?? (/^[a-z][a-z0-9]{0,9}$/.test(language) ? language : 'txt');
  return before.length === 0 ? `code.${ending}` : `code-${before.length + 1}.${ending}`;
}
