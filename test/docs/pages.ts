/** Reads the documentation the way a reader does: pages, code blocks, tables, links and the anchors they lead to. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Every page that a reader may open, by its path from the top of the repository. */
export const PAGES: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  ...['docs', 'docs/api'].flatMap((folder) =>
    readdirSync(path.join(ROOT, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  ),
];

/** The text of a file of the repository. Throws when there is none. */
export function readText(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

/** A fenced block of code; `text` has no fence and no indentation of a list around it. */
export interface CodeBlock {
  page: string;
  line: number;
  language: string;
  text: string;
}

/** The code blocks of a page, in order. */
export function codeBlocks(page: string, text: string = readText(page)): CodeBlock[] {
  return [...text.matchAll(/^( *)```([a-z]*)\n([\s\S]*?)^\1```$/gm)].map((block) => {
    const [, indent = '', language = '', content = ''] = block;
    const line = text.slice(0, block.index).split('\n').length;
    return { page, line, language, text: content.replaceAll(new RegExp(`^${indent}`, 'gm'), '') };
  });
}

/** The text of a page without its code blocks. */
export function proseOf(page: string): string {
  return readText(page).replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '');
}

/** The cells of each table row of a page, without heads and rules. */
export function tableRows(page: string): string[][] {
  const lines = proseOf(page).split('\n');
  const isRule = (line: string | undefined): boolean => line !== undefined && /^\|[-| ]+\|$/.test(line);
  return lines
    .filter((line, at) => line.startsWith('|') && !isRule(line) && !isRule(lines[at + 1]))
    .map(cellsOf);
}

/** The cells of one row; a `\|` inside a cell is part of it. */
export function cellsOf(row: string): string[] {
  return row
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** Every link and image of a page that leads into the repository, as written. */
export function relativeLinks(page: string): string[] {
  const links = [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return links.filter((target) => !/^[a-z]+:/.test(target));
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf(page: string): Set<string> {
  const headings = [...proseOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
