/** Tool calls written as code: `[list_dir(path=".", depth=2)]`, as Llama 3.2 and 4, Gemma, LFM2 and Olmo write them. */
import { fieldsOf } from '../answers/read-fields.ts';
import { type OfferedTools, readName, type TextCall } from '../answers/tool-calls.ts';
import { nameAt, readLoose, skipBlanks } from '../../lib/json/loose-json.ts';

const PRINT = 'print(';
/** Llama 3.1 writes `list_dir.call(path=".")`. */
const CALL_SUFFIX = /\.call$/;

/**
 * The calls that a text consists of; undefined for any other text, and for a function that is not an offered tool. A call
 * whose arguments are broken has their text instead. Never throws.
 */
export function readCodeCalls(text: string, offered: OfferedTools): TextCall[] | undefined {
  const calls: TextCall[] = [];
  const start = skipBlanks(text, 0);
  const isList = text[start] === '[';
  let at = skipBetween(text, isList ? start + 1 : start);
  const end = isList ? ']' : undefined;
  while (at < text.length && text[at] !== end) {
    const isPrinted = text.startsWith(PRINT, at);
    const nameStart = isPrinted ? at + PRINT.length : at;
    const written = nameAt(text, nameStart);
    const open = nameStart + written.length;
    const name = written.replace(CALL_SUFFIX, '');
    if (text[open] !== '(' || !offered.has(readName(name, offered))) return undefined;
    const found = argumentsAt(text, open + 1, propertiesOf(name, offered));
    if (found === undefined) return [...calls, { name, args: text.slice(open) }];
    calls.push({ name, args: found.args });
    at = skipBetween(text, isPrinted && text[found.end] === ')' ? found.end + 1 : found.end);
  }
  const rest = isList ? at + 1 : at;
  return calls.length > 0 && skipBlanks(text, rest) >= text.length ? calls : undefined;
}

/**
 * Whether a text that begins like this may be code that calls an offered tool, or the name of one on a line of its own
 * before its arguments (GLM-4, Functionary): `open` while that is undecided.
 */
export function beginsCode(text: string, offered: OfferedTools): 'code' | 'named' | 'no' | 'open' {
  const [, list = '', printed = '', name = '', rest = ''] =
    /^(\[?\s{0,8})(print\()?([\w.-]{0,80})([^]{0,32})$/.exec(text) ?? [];
  if (list + printed + name + rest !== text) return 'no';
  const isBare = list === '' && printed === '';
  if (rest === '') return name === '' || isBeginOfName(name, offered) || isBeginOfPrint(name) ? 'open' : 'no';
  if (!offered.has(readName(name.replace(CALL_SUFFIX, ''), offered))) return 'no';
  if (rest.startsWith('(')) return 'code';
  if (!isBare || !/^[ \t]*\n/.test(rest)) return /^[ \t]{1,8}$/.test(rest) && isBare ? 'open' : 'no';
  const after = rest.trimStart();
  if (after.startsWith('{')) return 'named';
  // Functionary 2 has a mark between them.
  if (after.startsWith(CONTENT))
    return after.slice(CONTENT.length).trimStart().startsWith('{') ? 'named' : 'open';
  return CONTENT.startsWith(after) ? 'open' : 'no';
}

const CONTENT = '<|content|>';

function isBeginOfName(part: string, offered: OfferedTools): boolean {
  const name = part.replace(/\.(c(al?|all)?)?$/, '');
  for (const each of offered.keys()) if (each.startsWith(name)) return true;
  return offered.has(readName(name, offered)) || 'functions.'.startsWith(part);
}

function isBeginOfPrint(part: string): boolean {
  return 'print'.startsWith(part);
}

/** Between two calls. */
function skipBetween(text: string, from: number): number {
  let at = skipBlanks(text, from);
  while (text[at] === ',' || text[at] === ';') at = skipBlanks(text, at + 1);
  return at;
}

function propertiesOf(name: string, offered: OfferedTools): string[] {
  return Object.keys(fieldsOf(offered.get(readName(name, offered))?.parameters['properties']) ?? {});
}

/** Arguments up to their closing bracket; those without a name have the names of the tool, in its order. */
function argumentsAt(
  text: string,
  from: number,
  names: readonly string[],
): { args: Record<string, unknown>; end: number } | undefined {
  const args: [string, unknown][] = [];
  let at = skipBlanks(text, from);
  while (text[at] !== ')') {
    const word = nameAt(text, at);
    const equals = skipBlanks(text, at + word.length);
    const isNamed = word !== '' && text[equals] === '=';
    const key = isNamed ? word : names[args.length];
    const found = readLoose(text, isNamed ? equals + 1 : at);
    if (found === undefined || key === undefined) return undefined;
    args.push([key, found.value]);
    at = skipBlanks(text, found.end);
    if (text[at] === ',') at = skipBlanks(text, at + 1);
    else if (text[at] !== ')') return undefined;
  }
  return { args: Object.fromEntries(args), end: at + 1 };
}
