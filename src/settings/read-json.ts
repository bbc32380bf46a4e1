/** JSON as people write it, with comments and trailing commas; finds every error, with its line and column. */
import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import type { FieldPath, JsonText } from '../protocol/settings.ts';
import { textRef, type TextRef } from '../protocol/texts/say.ts';

/** Longest file that is read, in UTF-16 units. */
export const MAX_FILE_CHARS = 1_000_000;
/** Deepest nesting that is read: real files have fewer than ten levels. */
export const MAX_DEPTH = 64;

/** What each of the parser's errors means. */
const MEANING: Readonly<Record<string, TextRef>> = {
  InvalidSymbol: textRef('json.no_value'),
  InvalidNumberFormat: textRef('json.no_number'),
  PropertyNameExpected: textRef('json.name_expected'),
  ValueExpected: textRef('json.value_expected'),
  ColonExpected: textRef('json.colon_expected'),
  CommaExpected: textRef('json.comma_missing'),
  CloseBraceExpected: textRef('json.bracket_missing', { bracket: '}' }),
  CloseBracketExpected: textRef('json.bracket_missing', { bracket: ']' }),
  EndOfFileExpected: textRef('json.end_expected'),
  InvalidCommentToken: textRef('json.no_comment'),
  UnexpectedEndOfComment: textRef('json.open_comment'),
  UnexpectedEndOfString: textRef('json.open_text'),
  UnexpectedEndOfNumber: textRef('json.short_number'),
  InvalidUnicode: textRef('json.bad_unicode'),
  InvalidEscapeCharacter: textRef('json.bad_escape'),
  InvalidCharacter: textRef('json.control_character'),
};

/** Parses as much of a text as possible. Never throws. */
export function readJson(input: string): JsonText {
  // Some editors start a file with a byte order mark.
  const text = input.replace(/^\uFEFF/, ' ');
  const refuse = (problem: TextRef): JsonText => ({
    value: {},
    errors: [{ place: '', what: problem }],
    placeOf: () => '',
  });
  if (text.trim() === '') return refuse(textRef('json.empty', { braces: '{}' }));
  if (text.length > MAX_FILE_CHARS) return refuse(textRef('json.too_long', { most: MAX_FILE_CHARS }));
  if (depthOf(text) > MAX_DEPTH) return refuse(textRef('json.too_deep', { most: MAX_DEPTH }));
  const parseErrors: ParseError[] = [];
  const root = parseTree(text, parseErrors, { allowTrailingComma: true });
  // A file that ends too early lacks each of its brackets at the same place: that is one error to its writer.
  const distinct = parseErrors.filter(
    ({ error, offset }, index) =>
      parseErrors[index - 1]?.error !== error || parseErrors[index - 1]?.offset !== offset,
  );
  const errors = distinct.map(({ error, offset }) => {
    const name = printParseErrorCode(error);
    return { offset, what: MEANING[name] ?? textRef('problem.other', { detail: name }) };
  });
  errors.push(...repeatedFields(root));
  const starts = [0, ...[...text.matchAll(/\r\n|\r|\n/g)].map(({ index, 0: end }) => index + end.length)];
  return {
    value: root === undefined ? {} : valueOf(root),
    errors: errors
      .toSorted((a, b) => a.offset - b.offset)
      .map(({ offset, what: problem }) => ({ place: placeAt(starts, offset), what: problem })),
    placeOf: (path) => (root === undefined ? '' : placeAt(starts, nearest(root, path).offset)),
  };
}

/** The most brackets open at once. Those in strings count too, which does not affect real files. */
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
function repeatedFields(node: Node | undefined): { offset: number; what: TextRef }[] {
  if (node === undefined) return [];
  const names = new Set<string>();
  const problems = (node.type === 'object' ? fieldsOf(node) : []).flatMap(({ name, property }) => {
    const isNew = !names.has(name);
    names.add(name);
    return isNew
      ? []
      : [{ offset: property.offset, what: textRef('json.twice', { name: name.slice(0, 80) }) }];
  });
  return [...problems, ...(node.children ?? []).flatMap(repeatedFields)];
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

function placeAt(starts: readonly number[], offset: number): string {
  const line = starts.findLastIndex((start) => start <= offset);
  return `:${line + 1}:${offset - (starts[line] ?? 0) + 1}`;
}
