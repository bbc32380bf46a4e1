/** Reads the tree for the architecture test: every file, what it imports (static, type, dynamic and in JSDoc), how long it is. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from '@babel/parser';
import { isFunction, isStringLiteral, traverseFast } from '@babel/types';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface SourceFile {
  /** Path from the top of the repository, with forward slashes. */
  path: string;
  lines: number;
  text: string;
  /** Paths of the repository's own files that this one imports. */
  own: string[];
  /** Paths of its own files whose types plain JavaScript names in comments. */
  documented: string[];
  /** Names of packages that this one imports, `node:` modules as they are written. */
  packages: string[];
  /** Its functions and methods: the line each begins in, and how many it has. */
  functions: { line: number; lines: number }[];
}

/** All files git knows or would add, by path from the top. */
export function listFiles(): string[] {
  const out = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
  });
  return [...new Set(out.toString('utf8').split('\0'))].filter(
    (file) => file !== '' && existsSync(path.join(ROOT, file)),
  );
}

/** Reads and parses the code files below the given top folders. Throws when one does not parse. */
export function readSources(folders: string[]): SourceFile[] {
  return listFiles()
    .filter((file) => folders.some((folder) => file.startsWith(`${folder}/`)) && /\.(ts|js)$/.test(file))
    .map((file) => {
      const text = readFileSync(path.join(ROOT, file), 'utf8');
      return { path: file, text, lines: text.split('\n').length - 1, ...readCode(file, text) };
    });
}

function readCode(
  file: string,
  text: string,
): Pick<SourceFile, 'own' | 'documented' | 'packages' | 'functions'> {
  const tree = parse(text, {
    sourceType: 'module',
    createImportExpressions: true,
    plugins: file.endsWith('.ts') ? ['typescript'] : [],
  });
  const specifiers: string[] = [];
  const functions: SourceFile['functions'] = [];
  traverseFast(tree, (node) => {
    if (isFunction(node) && node.loc) {
      const { start, end } = node.loc;
      functions.push({ line: start.line, lines: end.line - start.line + 1 });
    }
    const from = 'source' in node ? node.source : undefined;
    if (isStringLiteral(from)) specifiers.push(from.value);
  });
  const typed = file.endsWith('.js') ? jsdocImports(tree.comments ?? []) : [];
  const own: string[] = [];
  const packages: string[] = [];
  for (const specifier of specifiers) {
    if (specifier.startsWith('.')) own.push(resolveFrom(file, specifier));
    else packages.push(packageName(specifier));
  }
  const documented = typed
    .filter((name) => name.startsWith('.'))
    .map((specifier) => resolveFrom(file, specifier));
  return {
    functions,
    own: [...new Set(own)],
    documented: [...new Set(documented)],
    packages: [...new Set([...packages, ...typed.filter((name) => !name.startsWith('.')).map(packageName)])],
  };
}

function resolveFrom(file: string, specifier: string): string {
  return path.posix.normalize(path.posix.join(path.posix.dirname(file), specifier));
}

/** Plain JavaScript names its types in comments: `import('./api.js').Session`, `@import { Session } from './api.js'`. */
function jsdocImports(comments: readonly { value: string }[]): string[] {
  const written = /\bimport\(\s*'([^']+)'\s*\)|@import\s[^'"]*from\s+'([^']+)'/g;
  return comments.flatMap(({ value }) =>
    [...value.matchAll(written)].map(([, called, named]) => called ?? named ?? ''),
  );
}

/** The text of a code file with every comment blanked out. */
export function withoutComments(text: string): string {
  const { comments } = parse(text, { sourceType: 'module', plugins: ['typescript'] });
  let code = text;
  for (const { start, end } of comments ?? [])
    if (typeof start === 'number' && typeof end === 'number')
      code = code.slice(0, start) + ' '.repeat(end - start) + code.slice(end);
  return code;
}

function packageName(specifier: string): string {
  if (specifier.startsWith('node:')) return specifier;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** The import cycles among the files, each as the path around it; empty when there is none. `withDocumented` follows types in comments, too. */
export function findCycles(files: readonly SourceFile[], withDocumented = false): string[][] {
  const byPath = new Map(
    files.map((file) => [file.path, withDocumented ? [...file.own, ...file.documented] : file.own]),
  );
  const done = new Set<string>();
  const cycles: string[][] = [];
  const visit = (current: string, trail: string[]): void => {
    const start = trail.indexOf(current);
    if (start >= 0) {
      cycles.push([...trail.slice(start), current]);
      return;
    }
    if (done.has(current)) return;
    for (const next of byPath.get(current) ?? []) visit(next, [...trail, current]);
    done.add(current);
  };
  for (const file of files) visit(file.path, []);
  return cycles;
}
