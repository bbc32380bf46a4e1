/** Finds every regular expression in the sources by parsing them: literals, and `new RegExp` with a text. */
import { parse } from '@babel/parser';
import {
  type CallExpression,
  isArrayExpression,
  isCallExpression,
  isIdentifier,
  isMemberExpression,
  isNewExpression,
  isRegExpLiteral,
  isStringLiteral,
  isTaggedTemplateExpression,
  isTemplateLiteral,
  isVariableDeclarator,
  type Node,
  traverseFast,
} from '@babel/types';
import { readSources } from '../architecture/imports.ts';

/** A pattern and its location. */
export interface FoundPattern {
  /** Path from the repository root and line: `src/ops/log.ts:8`. */
  place: string;
  pattern: RegExp;
}

/** Stands for whatever the code inserts into the text of a pattern; for the number of a quantifier, see below. */
const INSERTED = 'x1';
/** Stands for the bound that the code inserts into a quantifier: the largest of those there are. */
const INSERTED_BOUND = '1000';
/** The text before such a number. */
const QUANTIFIER = /\{\d*,?$/;

/** All patterns in `src` and `channels`. `copies` are those created from another pattern's source, by location. */
export function findPatterns(): { found: FoundPattern[]; copies: string[] } {
  const found: FoundPattern[] = [];
  const copies: string[] = [];
  for (const { path, text } of readSources(['src', 'channels'])) {
    const tree = parse(text, {
      sourceType: 'module',
      plugins: path.endsWith('.tsx') ? ['typescript', 'jsx'] : path.endsWith('.ts') ? ['typescript'] : [],
    });
    const constants = new Map<string, Node>();
    traverseFast(tree, (node) => {
      if (isVariableDeclarator(node) && isIdentifier(node.id) && node.init)
        constants.set(node.id.name, node.init);
    });
    traverseFast(tree, (node) => {
      const place = `${path}:${node.loc?.start.line}`;
      if (isRegExpLiteral(node)) found.push({ place, pattern: new RegExp(node.pattern, node.flags) });
      if (!isNewExpression(node) || !isIdentifier(node.callee, { name: 'RegExp' })) return;
      const [source, flags] = node.arguments;
      const written = source === undefined ? undefined : writtenText(source, constants);
      if (written === undefined) copies.push(place);
      else found.push({ place, pattern: new RegExp(written, isStringLiteral(flags) ? flags.value : '') });
    });
  }
  return { found, copies };
}

/** The text of a string, a template, a constant, or a joined list of those; undefined for any other expression. */
function writtenText(node: Node, constants: ReadonlyMap<string, Node>): string | undefined {
  if (isStringLiteral(node)) return node.value;
  if (isIdentifier(node)) {
    const value = constants.get(node.name);
    return value === undefined ? undefined : writtenText(value, constants);
  }
  if (isCallExpression(node)) return joinedText(node, constants);
  const isRaw = isTaggedTemplateExpression(node);
  const template = isRaw ? node.quasi : node;
  if (!isTemplateLiteral(template)) return undefined;
  const texts = template.quasis.map(({ value }) => (isRaw ? value.raw : (value.cooked ?? '')));
  const inserted = template.expressions.map((expression) => writtenText(expression, constants));
  return texts.reduce((before, after, index) => {
    const text = inserted[index - 1] ?? (QUANTIFIER.test(before) ? INSERTED_BOUND : INSERTED);
    return `${before}${text}${after}`;
  });
}

/** `[A, B].join('|')`. */
function joinedText(
  { callee, arguments: [separator] }: CallExpression,
  constants: ReadonlyMap<string, Node>,
): string | undefined {
  if (!isMemberExpression(callee) || !isIdentifier(callee.property, { name: 'join' })) return undefined;
  if (!isArrayExpression(callee.object) || !isStringLiteral(separator)) return undefined;
  const texts = callee.object.elements.map((one) => (one === null ? undefined : writtenText(one, constants)));
  return texts.every((text) => text !== undefined) ? texts.join(separator.value) : undefined;
}
