/** The scripts of the page contain no texts: whatever a person reads or hears comes from the tables. */
import { parse } from '@babel/parser';
import { type Node, traverseFast } from '@babel/types';
import { describe, expect, it } from 'vitest';
import { readSources } from '../../../architecture/imports.ts';

/** Attributes that people read or hear. */
const SAYING = new Set(['aria-label', 'title', 'placeholder', 'alt']);
/** A word of at least two letters; units, `/link` and the name of the product do not count. */
const WORD = /(?<![\w/.])(?!(?:kB|MB|ms|min|Parley|config\.json)\b)[A-Za-z]{2,}/;

/** Literals that an expression shows unchanged: not what is passed to a function. */
function literalsIn(node: Node | null | undefined): string[] {
  switch (node?.type) {
    case 'StringLiteral':
      return [node.value];
    case 'TemplateLiteral':
      return [...node.quasis.map(({ value }) => value.raw), ...node.expressions.flatMap(literalsIn)];
    case 'ConditionalExpression':
      return [...literalsIn(node.consequent), ...literalsIn(node.alternate)];
    case 'LogicalExpression':
    case 'BinaryExpression':
      return /^[!=<>]/.test(node.operator) ? [] : [...literalsIn(node.left), ...literalsIn(node.right)];
    case 'SpreadElement':
      return literalsIn(node.argument);
    case 'ArrayExpression':
      return node.elements.flatMap((one) => literalsIn(one));
    default:
      return [];
  }
}

/** What a node of a script shows. */
function shownBy(node: Node): string[] {
  if (node.type === 'CallExpression' && node.callee.type === 'Identifier' && node.callee.name === 'h')
    return node.arguments.slice(2).flatMap((child) => literalsIn(child as Node));
  if (node.type === 'JSXElement' || node.type === 'JSXFragment')
    return node.children.flatMap((child) =>
      child.type === 'JSXExpressionContainer'
        ? literalsIn(child.expression)
        : child.type === 'JSXText'
          ? [child.value]
          : [],
    );
  if (node.type === 'JSXAttribute') {
    const { name, value } = node;
    const shown = value?.type === 'JSXExpressionContainer' ? value.expression : value;
    return name.type === 'JSXIdentifier' && SAYING.has(name.name) ? literalsIn(shown) : [];
  }
  if (node.type === 'ObjectProperty') {
    const name = node.key.type === 'StringLiteral' ? node.key.value : 'name' in node.key ? node.key.name : '';
    return typeof name === 'string' && SAYING.has(name) ? literalsIn(node.value) : [];
  }
  if (node.type === 'AssignmentExpression' && node.left.type === 'MemberExpression') {
    const { property } = node.left;
    return property.type === 'Identifier' && property.name === 'textContent' ? literalsIn(node.right) : [];
  }
  return [];
}

/** Texts that a script shows and no table has. */
function textsIn(code: string): string[] {
  const found: string[] = [];
  traverseFast(
    parse(code, { sourceType: 'module', createImportExpressions: true, plugins: ['typescript', 'jsx'] }),
    (node) => {
      found.push(...shownBy(node).filter((text) => WORD.test(text)));
    },
  );
  return found;
}

describe('the scripts of the page', () => {
  const scripts = readSources(['channels/http/page']).filter(({ path }) => !path.endsWith('.d.ts'));

  it('show no texts of their own', () => {
    expect(scripts.length).toBeGreaterThan(50);
    const found = scripts.flatMap(({ path, text }) => textsIn(text).map((one) => `${path}: ${one}`));
    expect(found).toEqual([]);
  });

  it('write times and numbers in the language of the page, which one module knows', () => {
    const strays = scripts.filter(
      ({ path, text }) => !/\/texts\.(js|ts)$/.test(path) && /\.toLocale(?!Lower|Upper)/.test(text),
    );
    expect(strays.map(({ path }) => path)).toEqual([]);
  });

  it('would be detected', () => {
    expect(
      textsIn("h('p', { title: 'Go on' }, isOpen ? 'open' : '', `${3} chats`, say('page.close'))"),
    ).toEqual(['open', ' chats', 'Go on']);
    expect(textsIn("field.textContent = count + ' left'; h('p', { class: 'quiet row' }, `${1} kB`)")).toEqual(
      [' left'],
    );
    expect(
      textsIn("<p class='quiet row' title='Go on'>Parley {say('page.close')} is {isOpen ? 'open' : ''}</p>"),
    ).toEqual([' is ', 'open', 'Go on']);
  });
});
