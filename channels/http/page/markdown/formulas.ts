/**
 * Formulas of an answer while its Markdown is parsed: each is replaced by characters that no markup contains, which hold
 * what was written, and is found again in the parsed texts. Pure.
 */
import type { Inline } from './nodes.ts';
import { replaceFormulas } from '../../../../src/lib/markdown/formulas.ts';

/** Private-use characters around a formula, and the first of the 65,536 that stand for the units of its text. */
const BEGIN = '\uE010';
const END = '\uE011';
const UNITS = 0xf0000;
const MARKED = /\uE010([\u{f0000}-\u{fffff}]*)\uE011/gu;
const DELIMITED = /^(?:\$\$([^]*)\$\$|\\\[([^]*)\\\]|\$([^]*)\$|\\\(([^]*)\\\))$/;

/** The text with its formulas replaced. One that has such characters itself keeps its formulas as they are written. */
export function markFormulas(text: string): string {
  if (text.includes(BEGIN)) return text;
  return replaceFormulas(text, (_, written) => {
    const units = Array.from({ length: written.length }, (_unit, at) => UNITS + written.charCodeAt(at));
    return BEGIN + units.map((unit) => String.fromCodePoint(unit)).join('') + END;
  });
}

/** The text as it was written, before `markFormulas`. */
export function writtenText(text: string): string {
  return text.includes(BEGIN) ? text.replaceAll(MARKED, (_, units: string) => decoded(units)) : text;
}

function decoded(units: string) {
  return Array.from(units, (unit) => String.fromCharCode((unit.codePointAt(0) ?? UNITS) - UNITS)).join('');
}

/** Parsed nodes with the formulas of their texts as nodes, at every depth; code has its formulas as they were written. */
export function withFormulas(nodes: Inline[]): Inline[] {
  return nodes.flatMap((node): Inline | Inline[] => {
    if (node.type === 'text') return textAndFormulas(node.text);
    if (node.type === 'code') return { ...node, text: writtenText(node.text) };
    return 'children' in node ? { ...node, children: withFormulas(node.children) } : node;
  });
}

function textAndFormulas(text: string): Inline[] {
  // Every second piece is what a formula was replaced by.
  return text.split(MARKED).flatMap((piece, index): Inline[] => {
    if (index % 2 === 1) return [formulaOf(decoded(piece))];
    return piece === '' ? [] : [{ type: 'text', text: piece }];
  });
}

function formulaOf(written: string): Inline {
  const [, dollars, brackets, dollar, parentheses = ''] = DELIMITED.exec(written) ?? [];
  const displayed = dollars ?? brackets;
  const source = withoutQuoteMarks(displayed ?? dollar ?? parentheses).trim();
  return { type: 'formula', text: written, source, isDisplayed: displayed !== undefined };
}

/** In a quote, each line of a formula begins with its mark. */
function withoutQuoteMarks(source: string) {
  const [first = '', ...lines] = source.split('\n');
  const isQuoted = lines.length > 0 && lines.every((line) => /^[ \t]*>/.test(line));
  return isQuoted ? [first, ...lines.map((line) => line.replace(/^(?:[ \t]*>)+/, ''))].join('\n') : source;
}
