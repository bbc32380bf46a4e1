/** JSON as people write it, with comments and trailing commas; finds every error, with its line and column. */
import { parseTree, printParseErrorCode } from 'jsonc-parser';
import type { Node, ParseError } from 'jsonc-parser';
import type { FieldPath, JsonText } from '../contracts/settings.ts';

/** Longest file that is read, in UTF-16 units. */
export const MAX_FILE_CHARS = 1_000_000;
/** Deepest nesting that is read: real files have fewer than ten levels. */
export const MAX_DEPTH = 64;

/** What each of the parser's errors means. */
const MEANING: Readonly<Record<string, string>> = {
  InvalidSymbol:
    'this is not a value: a text goes in double quotes, others are numbers, true, false and null',
  InvalidNumberFormat: 'this is not a number',
  PropertyNameExpected: 'the name of a field is expected here, in double quotes',
  ValueExpected: 'a value is expected here',
  ColonExpected: 'a colon is expected here',
  CommaExpected: 'a comma is missing before this',
  CloseBraceExpected: 'a closing } is missing',
  CloseBracketExpected: 'a closing ] is missing',
  EndOfFileExpected: 'the file should end before this',
  InvalidCommentToken: 'this is no comment: write // or /* … */',
  UnexpectedEndOfComment: 'a comment is not closed: write */ at its end',
  UnexpectedEndOfString: 'a text is not closed: write " at its end, on the same line',
  UnexpectedEndOfNumber: 'a number ends too early',
  InvalidUnicode: 'after \\u come four hexadecimal digits',
  InvalidEscapeCharacter: 'a backslash in a text is written \\\\',
  InvalidCharacter: 'a text may hold no control character: write \\n for a line break, \\t for a tab',
};

/** Parses as much of a text as possible. Never throws. */
export function readJson(given: string): JsonText {
  // Some editors start a file with a byte order mark.
  const text = given.replace(/^\uFEFF/, ' ');
  const refuse = (message: string): JsonText => ({
    value: {},
    errors: [{ place: '', message }],
    placeOf: () => '',
  });
  if (text.trim() === '') return refuse('is empty: write {} for no settings');
  if (text.length > MAX_FILE_CHARS)
    return refuse(`is too long: at most ${MAX_FILE_CHARS} characters are read`);
  if (depthOf(text) > MAX_DEPTH) return refuse(`is nested too deep: at most ${MAX_DEPTH} levels are read`);
  const found: ParseError[] = [];
  const root = parseTree(text, found, { allowTrailingComma: true });
  const errors = found.map(({ error, offset }) => {
    const name = printParseErrorCode(error);
    return { offset, message: MEANING[name] ?? name };
  });
  errors.push(...repeatedFields(root));
  const starts = lineStarts(text);
  return {
    value: root === undefined ? {} : valueOf(root),
    errors: errors
      .toSorted((a, b) => a.offset - b.offset)
      .map(({ offset, message }) => ({ place: placeAt(starts, offset), message })),
    placeOf: (path) => (root === undefined ? '' : placeAt(starts, nearest(root, path).offset)),
  };
}

/**
 * The most brackets that are open at once; those in strings and comments count, too, which does not affect real files.
 */
function depthOf(text: string): number {
  let depth = 0;
  let most = 0;
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    depth += bracket === '[' || bracket === '{' ? 1 : -1;
    most = Math.max(most, depth);
  }
  return most;
}

/** The value of a node. Unlike the package's own function, it treats a field `__proto__` like any other. */
function valueOf(node: Node): unknown {
  if (node.type === 'array') return (node.children ?? []).map(valueOf);
  if (node.type !== 'object') return node.value;
  return Object.fromEntries(
    fieldsOf(node).flatMap(({ name, value }) => (value === undefined ? [] : [[name, valueOf(value)]])),
  );
}

interface Field {
  name: string;
  property: Node;
  value: Node | undefined;
}

function fieldsOf(node: Node): Field[] {
  return (node.children ?? []).map((property) => {
    const [name, value] = property.children ?? [];
    return { name: String(name?.value), property, value };
  });
}

/** Finds fields that are written twice: no one should have to know which of them counts. */
function repeatedFields(node: Node | undefined): { offset: number; message: string }[] {
  if (node === undefined) return [];
  const seen = new Set<string>();
  const own = (node.type === 'object' ? fieldsOf(node) : []).flatMap(({ name, property }) => {
    const isNew = !seen.has(name);
    seen.add(name);
    return isNew ? [] : [{ offset: property.offset, message: `"${name.slice(0, 80)}" is written twice` }];
  });
  return [...own, ...(node.children ?? []).flatMap(repeatedFields)];
}

/** The node of a field, or of the nearest one around it. */
function nearest(root: Node, path: FieldPath): Node {
  let place = root;
  let node: Node | undefined = root;
  for (const key of path) {
    if (node?.type === 'array') {
      const item: Node | undefined = node.children?.[Number(key)];
      if (item === undefined) return place;
      place = node = item;
    } else if (node?.type === 'object') {
      const field: Field | undefined = fieldsOf(node).findLast(({ name }) => name === String(key));
      if (field === undefined) return place;
      place = field.property;
      node = field.value;
    } else return place;
  }
  return place;
}

/** Offsets at which the lines begin. */
function lineStarts(text: string): number[] {
  return [0, ...[...text.matchAll(/\r\n|\r|\n/g)].map(({ index, 0: end }) => index + end.length)];
}

function placeAt(starts: readonly number[], offset: number): string {
  const line = starts.findLastIndex((start) => start <= offset);
  return `:${line + 1}:${offset - (starts[line] ?? 0) + 1}`;
}
