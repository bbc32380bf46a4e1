/**
 * JSON with the slips of language models: Python's literals and quotes, raw line breaks, names without quotes, extra
 * commas. What is cut off or ambiguous is no value.
 */
import { MAX_JSON_DEPTH } from './json.ts';

/** A value, and where the text goes on after it. */
export interface LooseValue {
  value: unknown;
  end: number;
}

/** What encloses a text that has no escapes; Gemma writes the last two (its chat templates). */
const RAW_QUOTES = ['<|"|>', '<escape>'];
/** What encloses a text with escapes; the longer ones are Python's. */
const QUOTES = ['"""', "'''", '"', "'"];
const CLOSING: Readonly<Record<string, string>> = { '{': '}', '[': ']', '(': ')' };
const WORDS: Readonly<Record<string, unknown>> = {
  true: true,
  false: false,
  null: null,
  True: true,
  False: false,
  None: null,
};
const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  '0': '\0',
  '\n': '',
};

const BLANKS = /\s*/y;
const NAME = /[A-Za-z_$][\w$.-]*/y;
const NUMBER = /[+-]?(?:\d[\d_]*)?(?:\.\d*)?(?:[eE][+-]?\d+)?/y;
const CODE_ESCAPE = /x([\dA-Fa-f]{2})|u([\dA-Fa-f]{4})|U([\dA-Fa-f]{8})/y;

/** The value that begins at `from`, after blanks; undefined for anything else. Takes linear time. Never throws. */
export function readLoose(text: string, from = 0): LooseValue | undefined {
  return valueAt(text, skipBlanks(text, from), MAX_JSON_DEPTH);
}

/** The values that a text consists of, with nothing but blanks between them; undefined for any other text, and for more than `most`. */
export function readLooseValues(text: string, most = Infinity): unknown[] | undefined {
  const values: unknown[] = [];
  for (let at = skipBlanks(text, 0); at < text.length;) {
    const match = values.length < most ? readLoose(text, at) : undefined;
    if (match === undefined) return undefined;
    values.push(match.value);
    at = skipBlanks(text, match.end);
  }
  return values;
}

/** Where the blanks at `from` end. */
export function skipBlanks(text: string, from: number): number {
  return from + (matchAt(BLANKS, text, from)?.length ?? 0);
}

/** The name at `from`, as a programming language would have it; empty for none. */
export function nameAt(text: string, from: number): string {
  return matchAt(NAME, text, from) ?? '';
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

function valueAt(text: string, at: number, depth: number): LooseValue | undefined {
  const first = text[at];
  if (first === undefined) return undefined;
  if (first === '{') return depth === 0 ? undefined : objectAt(text, at, depth);
  if (first === '[' || first === '(') return depth === 0 ? undefined : listAt(text, at, depth);
  return stringAt(text, at) ?? wordAt(text, at) ?? numberAt(text, at);
}

function objectAt(text: string, start: number, depth: number): LooseValue | undefined {
  const entries: [string, unknown][] = [];
  let at = skipBlanks(text, start + 1);
  while (text[at] !== '}') {
    const key = keyAt(text, at);
    if (key === undefined) return undefined;
    const colon = skipBlanks(text, key.end);
    if (text[colon] !== ':') return undefined;
    const match = valueAt(text, skipBlanks(text, colon + 1), depth - 1);
    if (match === undefined) return undefined;
    entries.push([key.name, match.value]);
    const next = afterItem(text, match.end, '}');
    if (next === undefined) return undefined;
    at = next;
  }
  return { value: Object.fromEntries(entries), end: at + 1 };
}

function keyAt(text: string, at: number): { name: string; end: number } | undefined {
  const quoted = stringAt(text, at);
  if (quoted !== undefined) return { name: quoted.value, end: quoted.end };
  const name = nameAt(text, at);
  return name === '' ? undefined : { name, end: at + name.length };
}

function listAt(text: string, start: number, depth: number): LooseValue | undefined {
  const close = CLOSING[text[start] ?? ''] ?? '';
  const items: unknown[] = [];
  let at = skipBlanks(text, start + 1);
  while (text[at] !== close) {
    const match = valueAt(text, at, depth - 1);
    if (match === undefined) return undefined;
    items.push(match.value);
    const next = afterItem(text, match.end, close);
    if (next === undefined) return undefined;
    at = next;
  }
  return { value: items, end: at + 1 };
}

/** Where the next item or the closing bracket is; undefined when neither follows. */
function afterItem(text: string, end: number, close: string): number | undefined {
  const at = skipBlanks(text, end);
  if (text[at] === ',') return skipBlanks(text, at + 1);
  return text[at] === close ? at : undefined;
}

function stringAt(text: string, at: number): { value: string; end: number } | undefined {
  const raw = RAW_QUOTES.find((quote) => text.startsWith(quote, at));
  if (raw !== undefined) {
    const close = text.indexOf(raw, at + raw.length);
    return close === -1 ? undefined : { value: text.slice(at + raw.length, close), end: close + raw.length };
  }
  const quote = QUOTES.find((each) => text.startsWith(each, at));
  return quote === undefined ? undefined : quotedAt(text, at + quote.length, quote);
}

function quotedAt(text: string, start: number, quote: string): { value: string; end: number } | undefined {
  const pieces: string[] = [];
  let from = start;
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === '\\') {
      const { meaning, length } = escapeAt(text, at);
      pieces.push(text.slice(from, at), meaning);
      at += length - 1;
      from = at + 1;
    } else if (text.startsWith(quote, at)) {
      pieces.push(text.slice(from, at));
      return { value: pieces.join(''), end: at + quote.length };
    }
  }
  return undefined;
}

/** An escape that neither JSON nor Python knows means itself (`\d` of a regular expression). */
function escapeAt(text: string, at: number): { meaning: string; length: number } {
  const code = matchAt(CODE_ESCAPE, text, at + 1);
  const point = code === undefined ? Number.NaN : Number.parseInt(code.slice(1), 16);
  if (code !== undefined && point <= 0x10_ff_ff) {
    // UTF-16 units may come in pairs of escapes.
    const meaning = point > 0xff_ff ? String.fromCodePoint(point) : String.fromCharCode(point);
    return { meaning, length: 1 + code.length };
  }
  const next = text[at + 1] ?? '';
  if ('"\'\\/'.includes(next)) return { meaning: next, length: 2 };
  return { meaning: ESCAPES[next] ?? `\\${next}`, length: 2 };
}

function wordAt(text: string, at: number): LooseValue | undefined {
  const word = nameAt(text, at);
  return Object.hasOwn(WORDS, word) ? { value: WORDS[word], end: at + word.length } : undefined;
}

function numberAt(text: string, at: number): LooseValue | undefined {
  const digits = matchAt(NUMBER, text, at) ?? '';
  const value =
    /\d/.test(digits) && !/^[+-]?0\d/.test(digits) ? Number(digits.replaceAll('_', '')) : Number.NaN;
  const next = text[at + digits.length] ?? '';
  if (!Number.isFinite(value) || /[\w.]/.test(next)) return undefined;
  return { value, end: at + digits.length };
}
