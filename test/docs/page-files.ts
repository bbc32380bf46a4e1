/** The files that a page tells its reader to write, and the lines it tells them to add to files that exist. */
import { codeBlocks, readText } from './pages.ts';

/** One step of a recipe: a whole file, or a change of one. */
export interface Step {
  /** Path from the top of the repository. */
  file: string;
  kind: 'file' | 'change';
  text: string;
}

/**
 * The steps of a page in order. A line with nothing but a bold path names the file of the next block; a `diff` that
 * follows without one changes the same file again.
 */
export function stepsOf(page: string): Step[] {
  const text = readText(page);
  const lines = text.split('\n');
  let named = '';
  const steps: Step[] = [];
  for (const block of codeBlocks(page, text)) {
    const file = /^\*\*`([^`]+)`\*\*$/.exec(lines[block.line - 3] ?? '')?.[1];
    if (block.language === 'diff')
      steps.push({ file: (named = file ?? named), kind: 'change', text: block.text });
    else if (file !== undefined) steps.push({ file: (named = file), kind: 'file', text: block.text });
  }
  return steps;
}

/**
 * The text of a file with the lines of a diff added and removed. Throws if its other lines, together, do not occur
 * exactly once in the file.
 */
export function applyChange(text: string, diff: string): string {
  const lines = diff.trimEnd().split('\n');
  const side = (other: string): string =>
    lines
      .filter((line) => !line.startsWith(other))
      .map((line) => `${line.slice(1)}\n`)
      .join('');
  const [before = '', ...rest] = text.split(side('+'));
  if (rest.length !== 1) throw new Error(`these lines stand ${rest.length} times in the file:\n${side('+')}`);
  return before + side('-') + rest[0];
}
