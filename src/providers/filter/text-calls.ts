/** Reads tool calls that a model wrote as text, in any of the forms that its family uses. */
import { type Fields, fieldsOf, listOf, wordOf } from '../answers/read-fields.ts';
import { firstJson, type OfferedTools, readName, type TextCall } from '../answers/tool-calls.ts';
import { parseJson } from '../../lib/json/json.ts';
import { nameAt, readLoose, skipBlanks } from '../../lib/json/loose-json.ts';
import {
  ATTRIBUTED,
  attributedCalls,
  BETWEEN,
  bracedCalls,
  nameIn,
  pairedCalls,
  TAG_FORMS,
  taggedCalls,
} from './tag-calls.ts';

const PRINT = 'print(';

/** Llama 3.1 writes `list_dir.call(path=".")`. */
const CALL_SUFFIX = /\.call$/;

const CONTENT = '<|content|>';

/** Fields that hold the arguments of a call, by model. */
const ARGUMENT_FIELDS = ['arguments', 'parameters', 'args', 'input', 'tool_input', 'kwargs'] as const;
/** First fields of a call; an object that begins with another field is not one. */
const CALL_FIELDS = new Set([
  'name',
  'type',
  'function',
  'id',
  'tool',
  'tool_name',
  'tool_calls',
  ...ARGUMENT_FIELDS,
]);

/** Where the next call begins in a block of several. */
const NEXT_CALL = /<｜tool▁call▁begin｜>|<\|tool_call_begin\|>|\[TOOL_CALLS\]/;
/** Where the next call begins among several written in pairs. */
const NEXT_PAIRED_CALL = /<tool_call>|<\|tool_call:start\|>/;

/** How some families spell what others write: each is read as the latter. */
const SPELLINGS: readonly (readonly [RegExp, string])[] = [
  // DeepSeek V3.2 and V4, GigaChat 3.5, Step 3, MiniMax M3, LongCat.
  [/｜(?:DSML|GCML)｜|(?<=<\/?)(?:steptml:|longcat_)|\]<\]minimax\[>\[/g, ''],
  // DeepSeek’s tokens, spelled.
  [/<｜tool(?:_|\\_| )(call|calls)(?:_|\\_| )(begin|end)｜>/g, '<｜tool▁$1▁$2｜>'],
  [/<｜tool(?:_|\\_| )sep｜>/g, '<｜tool▁sep｜>'],
  // Hunyuan 3; Solar.
  [/<tool_sep>/g, ''],
  [/<\|tool_arg:start\|>/g, '<arg_key>'],
  [/<\|tool_arg:value\|>/g, '</arg_key><arg_value>'],
  [/<\|tool_arg:end\|>/g, '</arg_value>'],
];

/**
 * The calls in a marked block (`begin` is its mark, `inside` what it marks); undefined without any of an offered tool.
 * Broken arguments are returned as text: the model gets an error. Never throws.
 */
export function readMarkedCalls(
  block: string,
  begin: string,
  inside: string,
  offered: OfferedTools,
): TextCall[] | undefined {
  const spelled = (text: string): string =>
    SPELLINGS.reduce((all, [from, to]) => all.replace(from, to), text);
  const code = readCodeCalls(inside.trim().replaceAll(/^```[a-z]{0,12}\s|```$/g, ''), offered);
  const calls =
    code ?? (isTag(begin) ? callsInBlock(spelled(block), offered) : callsInBlock(spelled(inside), offered));
  return offeredOnly(calls, offered);
}

/** True for the beginning of a tag that has the name of the tool. */
function isTag(begin: string): boolean {
  return TAG_FORMS.some(({ call }) => call === begin);
}

/**
 * Whether calls may follow a mark, by the first characters: a bracket, a tag, or the name of an offered tool. An answer
 * about markup goes on in other ways.
 */
export function mayBeCalls(head: string, offered: OfferedTools): 'yes' | 'no' | 'open' {
  const text = head.replace(/^[\s"':]{1,64}/, '');
  if (text === '') return head.length > MAX_HEAD_CHARS ? 'no' : 'open';
  if (/^[[{(<`✿]|^\]</.test(text)) return 'yes';
  if (text === ']') return 'open';
  const [name = ''] = /^[\w.:/-]{0,80}/.exec(text) ?? [];
  if (name === '') return 'no';
  if (name.length === text.length) return text.length > MAX_HEAD_CHARS ? 'no' : 'open';
  const toolName = name.replace(/^call:/, '').replace(/\.call$/, '');
  return HEAD_WORDS.has(toolName) || offered.has(readName(toolName, offered)) ? 'yes' : 'no';
}

const MAX_HEAD_CHARS = 80;
/** What some families write before the name. */
const HEAD_WORDS = new Set(['function', 'print', 'tool', 'json']);

function callsInBlock(text: string, offered: OfferedTools): TextCall[] {
  const form = TAG_FORMS.find(({ call }) => text.includes(call));
  if (form !== undefined) return taggedCalls(text, form, offered);
  if (text.includes('<arg_key>'))
    return text.split(NEXT_PAIRED_CALL).flatMap((part) => pairedCalls(part, offered));
  if (text.includes(ATTRIBUTED)) return attributedCalls(text, offered);
  if (/\bcall:[\w.-]{1,80}\{/.test(text)) return bracedCalls(text);
  // Mistral's brackets between a name and its arguments would be mistaken for JSON.
  const parts = text.split(NEXT_CALL).map((part) => part.replace(/(\[CALL_ID\][\w-]{1,64})?\[ARGS\]/, ' '));
  return parts.flatMap((part) => jsonCalls(part, offered) ?? []);
}

/** The calls that a text consists of, JSON only and with their arguments; undefined when it is anything else. Never throws. */
export function readBareCalls(text: string, offered: OfferedTools): TextCall[] | undefined {
  const json = firstJson(text, 0);
  if (json === undefined || text.slice(0, json.start).trim() !== '' || text.slice(json.end).trim() !== '')
    return undefined;
  const calls = callsIn(jsonIn(text.slice(json.start, json.end)), offered);
  return calls.every(({ args }) => args !== undefined) ? offeredOnly(calls, offered) : undefined;
}

/** The call in a text that consists of the name of an offered tool and its arguments; undefined for any other. Never throws. */
export function readNamedCall(text: string, offered: OfferedTools): TextCall[] | undefined {
  const calls = jsonCalls(text, offered);
  return calls?.length === 1 ? offeredOnly(calls, offered) : undefined;
}

/** A JSON text, also with the usual slips. */
function jsonIn(text: string): unknown {
  return parseJson(text) ?? readLoose(text)?.value;
}

/** Whether JSON that begins like this may be a call: `open` while that is undecided. */
export function beginsCall(text: string): 'yes' | 'no' | 'open' {
  const [, field] = /^\s{0,32}\[?\s{0,32}\{\s{0,32}"([a-z_]{0,16})"/.exec(text) ?? [];
  if (field !== undefined) return CALL_FIELDS.has(field) ? 'yes' : 'no';
  return /^\s{0,32}(\[\s{0,32})?(\{\s{0,32}("[a-z_]{0,16})?)?$/.test(text) ? 'open' : 'no';
}

function offeredOnly(calls: readonly TextCall[], offered: OfferedTools): TextCall[] | undefined {
  return calls.some(({ name }) => offered.has(readName(name, offered))) ? [...calls] : undefined;
}

/** JSON objects with a name in them, or with a name before them. */
function jsonCalls(text: string, offered: OfferedTools): TextCall[] | undefined {
  const calls: TextCall[] = [];
  let from = 0;
  for (let json = firstJson(text, 0); json !== undefined; json = firstJson(text, from)) {
    const value = jsonIn(text.slice(json.start, json.end));
    const calledTools = callsIn(value, offered);
    const nameBefore = nameIn(text.slice(from, json.start), offered);
    const isCall = calledTools.some(
      ({ name, args }) => args !== undefined && offered.has(readName(name, offered)),
    );
    if (isCall || (calledTools.length > 0 && nameBefore === undefined)) calls.push(...calledTools);
    else if (nameBefore !== undefined)
      calls.push({ name: nameBefore, args: value ?? text.slice(json.start, json.end) });
    from = json.end;
  }
  if (calls.length > 0) return calls;
  const [, name] = /"name"\s{0,8}:\s{0,8}"([^"\n]{1,64})"/.exec(text) ?? [];
  return name === undefined ? undefined : [{ name, args: text.replaceAll(BETWEEN, '').trim() }];
}

/** The calls that a JSON value represents: one, a list, or OpenAI's shapes around them. */
function callsIn(value: unknown, offered: OfferedTools): TextCall[] {
  return listOf(value).flatMap((item) => {
    const fields = fieldsOf(item);
    if (fields === undefined) return [];
    if (Array.isArray(fields['tool_calls'])) return callsIn(fields['tool_calls'], offered);
    // Apertus: the name is the only field.
    const [[key, only] = ['', undefined], ...others] = Object.entries(fields);
    if (others.length === 0 && offered.has(key) && fieldsOf(only) !== undefined)
      return [{ name: key, args: only }];
    const inner = fieldsOf(fields['function']) ?? fields;
    const name = wordOf(inner['name'] ?? fields['function'] ?? fields['tool'] ?? fields['tool_name']);
    return name === '' ? [] : [{ name, args: argumentsIn(inner) }];
  });
}

function argumentsIn(fields: Fields): unknown {
  const field = ARGUMENT_FIELDS.find((each) => fields[each] !== undefined);
  return field === undefined ? undefined : fields[field];
}

/**
 * The calls that a text of code consists of; undefined for any other text or tool. Broken arguments are returned as
 * text. Never throws.
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
    const word = nameAt(text, nameStart);
    const open = nameStart + word.length;
    const name = word.replace(CALL_SUFFIX, '');
    if (text[open] !== '(' || !offered.has(readName(name, offered))) return undefined;
    const match = argumentsAt(text, open + 1, propertiesOf(name, offered));
    if (match === undefined) return [...calls, { name, args: text.slice(open) }];
    calls.push({ name, args: match.args });
    at = skipBetween(text, isPrinted && text[match.end] === ')' ? match.end + 1 : match.end);
  }
  const rest = isList ? at + 1 : at;
  return calls.length > 0 && skipBlanks(text, rest) >= text.length ? calls : undefined;
}

/**
 * Whether text that begins like this may call an offered tool in code, or names one on a line before its arguments
 * (GLM-4, Functionary); `open` while undecided.
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
  const remainder = rest.trimStart();
  if (remainder.startsWith('{')) return 'named';
  // Functionary 2 has a mark between them.
  if (remainder.startsWith(CONTENT))
    return remainder.slice(CONTENT.length).trimStart().startsWith('{') ? 'named' : 'open';
  return CONTENT.startsWith(remainder) ? 'open' : 'no';
}

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
    const match = readLoose(text, isNamed ? equals + 1 : at);
    if (match === undefined || key === undefined) return undefined;
    args.push([key, match.value]);
    at = skipBlanks(text, match.end);
    if (text[at] === ',') at = skipBlanks(text, at + 1);
    else if (text[at] !== ')') return undefined;
  }
  return { args: Object.fromEntries(args), end: at + 1 };
}
