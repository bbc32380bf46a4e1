/** The few words of Parley's own, and a count of names that are no nouns: they say how a thing came about, not what it is. */
import { parse } from '@babel/parser';
import { isFunction, type Node, traverseFast } from '@babel/types';
import type { SourceFile } from './imports.ts';

/** The words of our own. Each is explained once, in the glossary of docs/architecture.md. */
export const OWN_WORDS = [
  'lane',
  'head',
  'epoch',
  'fence',
  'sweep',
  'journal',
  'surface',
  'placeholder',
  'taint',
  'park',
  'steer',
  'stop mark',
  'nudge',
] as const;
/** Terms of the field on which everything else is built: in the glossary, too. */
export const FIELD_TERMS = ['turn', 'iteration', 'dead letter'] as const;
export const MAX_OWN_WORDS = 15;

/** Words that name nothing as the whole name of a variable or a parameter. `now`, `from` and `to` stand for themselves. */
const NO_NOUNS = new Set(
  (
    'said asked made known kept gone begun given shown told found sent taken done seen written own why what how here there then earlier later already held left ' +
    'got heard meant thought lost met put ran stood stored used wanted needed named called drawn chosen decided answered waiting waited noted cut bound born ' +
    'before after beside around above below elsewhere otherwise anyway still again once twice soon never always often together alone away forth aside ' +
    'begins ends asking telling showing knowing keeping finding passed moved changed added removed closed opened ended started finished failed spoken joined ' +
    'counted measured expected allowed refused missed tried learned forgotten dropped carried brought caught bought built fallen hidden laid spent thrown understood'
  ).split(' '),
);

/** The largest share of such names. */
export const MAX_ODD_NAMES = 0.006;

export interface NameCount {
  bindings: number;
  /** Each as `file:line name`. */
  odd: string[];
}

/** Variables and parameters of these files, and those of them whose name is none. */
export function countNames(files: readonly SourceFile[]): NameCount {
  const count: NameCount = { bindings: 0, odd: [] };
  for (const { path, text } of files) {
    const note = (name: string, node: Node): void => {
      count.bindings += 1;
      if (NO_NOUNS.has(name)) count.odd.push(`${path}:${node.loc?.start.line ?? 0} ${name}`);
    };
    traverseFast(
      parse(text, {
        sourceType: 'module',
        plugins: path.endsWith('.tsx') ? ['typescript', 'jsx'] : path.endsWith('.ts') ? ['typescript'] : [],
      }),
      (node) => {
        if (node.type === 'VariableDeclarator') eachName(node.id, note);
        if (isFunction(node)) for (const parameter of node.params) eachName(parameter, note);
      },
    );
  }
  return count;
}

/** The names that a pattern binds. */
function eachName(pattern: Node, note: (name: string, node: Node) => void): void {
  switch (pattern.type) {
    case 'Identifier':
      return note(pattern.name, pattern);
    case 'AssignmentPattern':
      return eachName(pattern.left, note);
    case 'RestElement':
      return eachName(pattern.argument, note);
    case 'ArrayPattern':
      return pattern.elements.forEach((element) => element && eachName(element, note));
    case 'ObjectPattern':
      return pattern.properties.forEach((property) =>
        eachName(property.type === 'RestElement' ? property : property.value, note),
      );
    default:
  }
}
