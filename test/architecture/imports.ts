/** Reads the tree for the architecture test: every file, what it imports (static, type, dynamic and in JSDoc), how long it is. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from '@babel/parser';
import { isFunction, isStringLiteral, type Node, traverseFast } from '@babel/types';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface SourceFile {
  /** Path from the top of the repository, with forward slashes. */
  path: string;
  lines: number;
  text: string;
  /** Paths of the repository's own files that this one imports, for values or types. */
  own: string[];
  /** Those of them from which it takes types only: nothing of them is loaded. */
  typesOnly: string[];
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
    .filter((file) => folders.some((folder) => file.startsWith(`${folder}/`)) && /\.(tsx?|js)$/.test(file))
    .map((file) => {
      const text = readFileSync(path.join(ROOT, file), 'utf8');
      return { path: file, text, lines: text.split('\n').length - 1, ...readCode(file, text) };
    });
}

function readCode(file: string, text: string): Omit<SourceFile, 'path' | 'text' | 'lines'> {
  const tree = parse(text, {
    sourceType: 'module',
    createImportExpressions: true,
    plugins: file.endsWith('.tsx') ? ['typescript', 'jsx'] : file.endsWith('.ts') ? ['typescript'] : [],
  });
  const specifiers: string[] = [];
  const values = new Set<string>();
  const functions: SourceFile['functions'] = [];
  traverseFast(tree, (node) => {
    if (isFunction(node) && node.loc) {
      const { start, end } = node.loc;
      functions.push({ line: start.line, lines: end.line - start.line + 1 });
    }
    const from = 'source' in node ? node.source : undefined;
    if (!isStringLiteral(from)) return;
    specifiers.push(from.value);
    if (!isTypesOnly(node)) values.add(from.value);
  });
  const typed = file.endsWith('.js') ? jsdocImports(tree.comments ?? []) : [];
  const own: string[] = [];
  const typesOnly: string[] = [];
  const packages: string[] = [];
  for (const specifier of specifiers) {
    if (specifier.startsWith('.')) own.push(resolveFrom(file, specifier));
    else packages.push(packageName(specifier));
    if (specifier.startsWith('.') && !values.has(specifier)) typesOnly.push(resolveFrom(file, specifier));
  }
  const documented = typed
    .filter((name) => name.startsWith('.'))
    .map((specifier) => resolveFrom(file, specifier));
  return {
    functions,
    own: [...new Set(own)],
    typesOnly: [...new Set(typesOnly)],
    documented: [...new Set(documented)],
    packages: [...new Set([...packages, ...typed.filter((name) => !name.startsWith('.')).map(packageName)])],
  };
}

/** `import type …`, `import { type A }`, `export type …` and `import('…')` as a type: erased before anything runs. */
function isTypesOnly(node: Node): boolean {
  switch (node.type) {
    case 'ImportDeclaration':
      return (
        node.importKind === 'type' ||
        (node.specifiers.length > 0 &&
          node.specifiers.every((one) => one.type === 'ImportSpecifier' && one.importKind === 'type'))
      );
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
      return node.exportKind === 'type';
    default:
      return node.type === 'TSImportType';
  }
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
export function withoutComments(text: string, jsx = false): string {
  const { comments } = parse(text, {
    sourceType: 'module',
    plugins: jsx ? ['typescript', 'jsx'] : ['typescript'],
  });
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

/** False for the types of another module: modules may name each other's types, within one even types have an order. */
function isLoaded(file: SourceFile, target: string): boolean {
  const part = (name: string): string => name.split('/').slice(0, 2).join('/');
  return part(file.path) === part(target) || !file.typesOnly.includes(target);
}

/** The import cycles among the files, each as the path around it; empty when there is none. `withDocumented` follows types in comments, too. */
export function findCycles(files: readonly SourceFile[], withDocumented = false): string[][] {
  const byPath = new Map(
    files.map((file) => {
      const own = file.own.filter((target) => isLoaded(file, target));
      return [file.path, withDocumented ? [...own, ...file.documented] : own];
    }),
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
