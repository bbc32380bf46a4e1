/** Reads tool calls that a model wrote as text, in any of the forms that its family uses. */
import { fieldsOf, listOf, wordOf } from '../answers/read-fields.ts';
import type { Fields } from '../answers/read-fields.ts';
import { firstJson, readName } from '../answers/tool-calls.ts';
import type { OfferedTools } from '../answers/tool-calls.ts';
import { parseJson } from '../../lib/json/json.ts';

/** A call before its name and arguments are checked; arguments may be text. */
export interface TextCall {
  name: string;
  args: unknown;
}

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

/** Marks between the parts of a call. */
const BETWEEN =
  /<｜tool▁sep｜>|<\|tool_call_argument_begin\|>|```[a-z]{0,12}|<｜tool▁calls?▁(?:begin|end)｜>|<\|tool_calls?_(?:section_)?(?:begin|end)\|>|<\|?\/?tool_calls?\|?>/g;
/** Where the next call begins in a block of several. */
const NEXT_CALL = /<｜tool▁call▁begin｜>|<\|tool_call_begin\|>|\[TOOL_CALLS\]/;

/**
 * The calls in a marked block; undefined when there are none, or none of an offered tool. A call that names a tool but
 * whose JSON is broken is returned with the text as its arguments: the model gets an error. Never throws.
 */
export function readMarkedCalls(block: string, offered: OfferedTools): TextCall[] | undefined {
  const text = block.replaceAll('｜DSML｜', '');
  return offeredOnly(callsInBlock(text, offered), offered);
}

/** How a family writes calls in tags: `<function=name><parameter=key>value</parameter></function>`. */
interface TagForm {
  call: string;
  parameter: string;
}

const TAG_FORMS: readonly TagForm[] = [
  { call: '<function=', parameter: '<parameter=' },
  { call: '<invoke name=', parameter: '<parameter name=' },
];

function callsInBlock(text: string, offered: OfferedTools): TextCall[] {
  const form = TAG_FORMS.find(({ call }) => text.includes(call));
  if (form !== undefined) return taggedCalls(text, form, offered);
  if (text.includes('<arg_key>')) return pairedCalls(text, offered);
  // Mistral's brackets between a name and its arguments would be mistaken for JSON.
  const parts = text.split(NEXT_CALL).map((part) => part.replace(/(\[CALL_ID\][\w-]{1,64})?\[ARGS\]/, ' '));
  return parts.flatMap((part) => jsonCalls(part, offered) ?? codeCalls(part, offered));
}

/** The calls that a text consists of, JSON only and with their arguments; undefined when it is anything else. Never throws. */
export function readBareCalls(text: string, offered: OfferedTools): TextCall[] | undefined {
  const json = firstJson(text, 0);
  if (json === undefined || text.slice(0, json.start).trim() !== '' || text.slice(json.end).trim() !== '')
    return undefined;
  const calls = callsIn(parseJson(text.slice(json.start, json.end)));
  return calls.every(({ args }) => args !== undefined) ? offeredOnly(calls, offered) : undefined;
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
    const value = parseJson(text.slice(json.start, json.end));
    const named = callsIn(value);
    const before = nameIn(text.slice(from, json.start), offered);
    if (named.length > 0 && before === undefined) calls.push(...named);
    else if (before !== undefined)
      calls.push({ name: before, args: value ?? text.slice(json.start, json.end) });
    from = json.end;
  }
  if (calls.length > 0) return calls;
  const [, name] = /"name"\s{0,8}:\s{0,8}"([^"\n]{1,64})"/.exec(text) ?? [];
  return name === undefined ? undefined : [{ name, args: text.replaceAll(BETWEEN, '').trim() }];
}

/** The offered tool named last in the text before its arguments; undefined when there is none. */
function nameIn(text: string, offered: OfferedTools): string | undefined {
  const plain = text.slice(-300).replaceAll(BETWEEN, ' ');
  const names = plain.match(/[A-Za-z_][\w.:-]{0,80}/g) ?? [];
  return names.findLast((name) => offered.has(readName(name, offered)));
}

/** The calls that a JSON value represents: one, a list, or OpenAI's shapes around them. */
function callsIn(value: unknown): TextCall[] {
  return listOf(value).flatMap((item) => {
    const fields = fieldsOf(item);
    if (fields === undefined) return [];
    if (Array.isArray(fields['tool_calls'])) return callsIn(fields['tool_calls']);
    const inner = fieldsOf(fields['function']) ?? fields;
    const name = wordOf(inner['name'] ?? fields['function'] ?? fields['tool'] ?? fields['tool_name']);
    return name === '' ? [] : [{ name, args: argumentsIn(inner) }];
  });
}

function argumentsIn(fields: Fields): unknown {
  const field = ARGUMENT_FIELDS.find((each) => fields[each] !== undefined);
  return field === undefined ? undefined : fields[field];
}

/** `list_dir.call(path=".")` and `list_dir(path=".")`, as models that know Python write calls. */
function codeCalls(text: string, offered: OfferedTools): TextCall[] {
  const open = text.indexOf('(');
  const close = text.lastIndexOf(')');
  const name = open === -1 ? undefined : nameIn(text.slice(0, open).replace(/\.call$/, ''), offered);
  if (name === undefined || close < open) return [];
  const args: Record<string, unknown> = {};
  for (const [, key = '', value = ''] of text
    .slice(open + 1, close)
    .matchAll(/([A-Za-z_]\w{0,63})\s?=\s?("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^,\s"']{1,100})/g)) {
    const quoted = value.startsWith("'")
      ? JSON.stringify(value.slice(1, -1).replaceAll(String.raw`\'`, "'"))
      : value;
    args[key] = parseJson(quoted) ?? value;
  }
  return [{ name, args }];
}

function taggedCalls(text: string, form: TagForm, offered: OfferedTools): TextCall[] {
  return text
    .split(form.call)
    .slice(1)
    .map((part) => {
      const [head, body] = cutAt(part, '>');
      const name = unquoted(head);
      const [first = '', ...parameters] = body.split(form.parameter);
      if (parameters.length === 0) {
        const json = firstJson(first, 0);
        // Everything in braces, whatever surrounds it.
        return { name, args: json === undefined ? undefined : first.slice(json.start, json.end) };
      }
      const read = parameters.map((parameter): [string, string] => {
        const [key, rest] = cutAt(parameter, '>');
        // `<parameter name="key" string="true">`
        return [unquoted(key.replace(/^"([^"]*)".*$/s, '$1')), cutAt(rest, '</parameter>')[0]];
      });
      return { name, args: typed(readName(name, offered), read, offered) };
    });
}

/** `name <arg_key>key</arg_key> <arg_value>value</arg_value>`, as GLM writes calls. */
function pairedCalls(text: string, offered: OfferedTools): TextCall[] {
  const [head = '', ...pairs] = text.split('<arg_key>');
  const name = nameIn(head, offered) ?? '';
  const read = pairs.map((pair): [string, string] => {
    const [key, rest] = cutAt(pair, '</arg_key>');
    return [key.trim(), cutAt(cutAt(rest, '<arg_value>')[1], '</arg_value>')[0]];
  });
  return [{ name, args: typed(readName(name, offered), read, offered) }];
}

/** Values of tags are text; those that the tool's schema wants as something else are read as JSON if they are JSON. */
function typed(
  name: string,
  values: readonly (readonly [string, string])[],
  offered: OfferedTools,
): Record<string, unknown> {
  const properties = fieldsOf(offered.get(name)?.parameters['properties']) ?? {};
  return Object.fromEntries(
    values.map(([key, raw]) => {
      const value = raw.replace(/^\r?\n/, '').replace(/\r?\n$/, '');
      const type = fieldsOf(properties[key])?.['type'];
      if (type === 'string' || type === undefined) return [key, value];
      return [key, parseJson(value.trim()) ?? value];
    }),
  );
}

function cutAt(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + mark.length)];
}

function unquoted(word: string): string {
  return word.trim().replace(/^["']/, '').replace(/["']$/, '');
}
