/** Tool calls as models write them: common slips in names and arguments are repaired where that takes no guessing. */
import { isDeepStrictEqual } from 'node:util';
import type { OpaqueFields, ToolCall, ToolSchema } from '../../protocol/agent/provider.ts';
import { newId } from '../../lib/ids.ts';
import { isTooDeep } from '../../lib/json/json.ts';
import { readLooseValues } from '../../lib/json/loose-json.ts';
import { type Fields, fieldsOf } from './read-fields.ts';

/** JSON within a JSON text within a JSON text: it is unpacked this many times. */
const MAX_ENCODINGS = 3;
/** How often arguments may be sent again while they grow. */
const MAX_REPEATS = 256;
/** Name of a call that came without one; no tool has this name, and the model gets an error. */
const UNNAMED = 'unnamed';
const MAX_NAME_CHARS = 64;

/** The tools of a request by name. */
export type OfferedTools = ReadonlyMap<string, ToolSchema>;

/** Makes the tool calls of one answer, each with a unique id. */
export type MakeToolCall = (given: GivenCall) => ToolCall;

/** A call before its name and arguments are checked; arguments may be text. */
export interface TextCall {
  name: string;
  args: unknown;
}

interface GivenCall extends TextCall {
  id?: string;
  /** The rest of a name that may have arrived in pieces. */
  moreName?: string;
  /** Goes back to the server with the call. */
  extra?: OpaqueFields | undefined;
}

/** The tools of a request by name. */
export function offeredTools(tools: readonly ToolSchema[] | undefined): OfferedTools {
  return new Map((tools ?? []).map((tool) => [tool.name, tool]));
}

/** Duplicate and missing ids are replaced. `args` may be an object or text with JSON in it. */
export function createCallMaker(offered: OfferedTools): MakeToolCall {
  const usedIds = new Set<string>();
  return ({ id = '', name, moreName = '', args, extra }) => {
    const uniqueId = id !== '' && !usedIds.has(id) ? id : `call_${newId()}`;
    usedIds.add(uniqueId);
    const first = readName(name, offered);
    const wholeName = readName(name + moreName, offered);
    const toolName = offered.has(first) ? first : wholeName;
    const call = { id: uniqueId, name: toolName, extra };
    const read = readArguments(args, offered.get(toolName));
    return 'malformed' in read
      ? { ...call, args: {}, malformed: read.malformed }
      : { ...call, args: read.args };
  };
}

/**
 * The offered tool that a name means, without markup after it (`list_dir<|channel|>commentary`) and a namespace before
 * it (`functions.list_dir:0`). Any other name stays, in characters that every server accepts in a history.
 */
export function readName(writtenName: string, offered: OfferedTools): string {
  const name = writtenName.trim();
  if (offered.has(name)) return name;
  const bare = name.slice(0, indexOrEnd(name, '<')).trim();
  const local = bare.slice(Math.max(bare.lastIndexOf('.'), bare.lastIndexOf('/')) + 1);
  const short = [bare, local, local.slice(0, indexOrEnd(local, ':'))].find((each) => offered.has(each));
  if (short !== undefined) return short;
  const safe = bare.slice(0, MAX_NAME_CHARS).replaceAll(/[^A-Za-z0-9_-]/g, '_');
  return safe === '' ? UNNAMED : safe;
}

function indexOrEnd(text: string, part: string): number {
  const at = text.indexOf(part);
  return at === -1 ? text.length : at;
}

/** Arguments as an object, empty if there are none. `malformed` is the text of anything else. Never throws. */
function readArguments(
  input: unknown,
  tool: ToolSchema | undefined,
): { args: Record<string, unknown> } | { malformed: string } {
  let value = input;
  for (let encoding = 0; encoding < MAX_ENCODINGS && typeof value === 'string'; encoding += 1) {
    if (value.trim() === '') return { args: {} };
    value = parseText(value);
  }
  if (value === undefined || value === null) return { args: {} };
  const fields = fieldsOf(value);
  if (fields !== undefined && !isTooDeep(fields)) {
    const inner = wrappedArguments(fields, tool);
    return inner === undefined ? { args: { ...fields } } : readArguments(inner, undefined);
  }
  if (typeof input === 'string') return { malformed: input };
  return { malformed: jsonText(input) };
}

/** Fields around the arguments of a call, with which some models begin its arguments. */
const WRAPPING_FIELDS = ['arguments', 'parameters'];
const BESIDE_ARGUMENTS = new Set(['name', 'type', 'function', 'id']);

/** The arguments of a whole call in their place (`{"name": …, "arguments": {…}}`), unless the tool has these fields. */
function wrappedArguments(fields: Fields, tool: ToolSchema | undefined): unknown {
  const properties = fieldsOf(tool?.parameters['properties']) ?? {};
  const field = WRAPPING_FIELDS.find(
    (each) => fields[each] !== undefined && !Object.hasOwn(properties, each),
  );
  if (field === undefined || Object.keys(properties).length === 0) return undefined;
  const otherFields = Object.keys(fields).filter((each) => each !== field);
  const isCall = otherFields.every(
    (each) => BESIDE_ARGUMENTS.has(each) && (!Object.hasOwn(properties, each) || fields[each] === tool?.name),
  );
  return isCall ? fields[field] : undefined;
}

/** A value that came as JSON, as JSON again; one that is nested too deeply is only named. Never throws. */
export function jsonText(value: unknown): string {
  return isTooDeep(value) ? '(nested too deep)' : (JSON.stringify(value) ?? '');
}

/**
 * Text that is JSON, also in a fence, with excess brackets, or with usual slips; otherwise a symbol that no caller
 * takes for arguments.
 */
function parseText(text: string): unknown {
  const whole = parseJson(text);
  if (whole !== UNREADABLE) return whole;
  const json = firstJson(text, 0);
  const first = json === undefined ? UNREADABLE : parseWithin(text, json.start, json.end, parseJson);
  return first === UNREADABLE
    ? parseWithin(text, text.indexOf('{'), text.lastIndexOf('}') + 1, parseLoose)
    : first;
}

/** What a part of a text says, if there is nothing but wrapping around it. */
function parseWithin(text: string, start: number, end: number, parse: (part: string) => unknown): unknown {
  if (start === -1 || end <= start) return UNREADABLE;
  return ONLY_WRAPPING.test(text.slice(0, start) + text.slice(end))
    ? parse(text.slice(start, end))
    : UNREADABLE;
}

/**
 * The object in a text with models' slips. Some servers send it again while it grows, or an empty one first: the last
 * counts, if it has all that the others have.
 */
function parseLoose(text: string): unknown {
  const values = readLooseValues(text, MAX_REPEATS)?.map(fieldsOf);
  const last = values?.at(-1);
  if (values === undefined || last === undefined) return UNREADABLE;
  const filled = values.findLast((value) => value !== undefined && Object.keys(value).length > 0) ?? last;
  const isAll = values.every(
    (value) =>
      value !== undefined &&
      Object.entries(value).every(([key, field]) => isDeepStrictEqual(field, filled[key])),
  );
  return isAll ? filled : UNREADABLE;
}

const UNREADABLE = Symbol('unreadable');
/** What may surround the JSON of arguments: fences, excess brackets, the model's own marks. */
const ONLY_WRAPPING = /^(?:[\s`}\]);]|json|<[a-z_|/]{1,33}>)*$/;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: the caller repairs it or tells the model.
    return UNREADABLE;
  }
}

/** Where the first object or array of a text begins and ends, by brackets outside strings, if it ends. */
export function firstJson(text: string, from: number): { start: number; end: number } | undefined {
  const start = text.slice(from).search(/[{[]/);
  if (start === -1) return undefined;
  const closes = createBracketScan();
  for (let at = from + start; at < text.length; at += 1) {
    if (closes(text[at] ?? ' ')) return { start: from + start, end: at + 1 };
  }
  return undefined;
}

/** Counts brackets (by default JSON's) outside quotes: returns true for the character that closes the first bracket. */
export function createBracketScan(quotes = '"', open = '{[', close = '}]'): (character: string) => boolean {
  let depth = 0;
  let quote = '';
  let isEscaped = false;
  return (character) => {
    if (quote !== '') {
      if (isEscaped) isEscaped = false;
      else if (character === '\\') isEscaped = true;
      else if (character === quote) quote = '';
    } else if (quotes.includes(character)) quote = character;
    else if (open.includes(character)) depth += 1;
    else if (close.includes(character)) {
      depth -= 1;
      return depth === 0;
    }
    return false;
  };
}
