/** Tool calls written in tags, pairs and braces instead of JSON, as the families of models write them. */
import { fieldsOf } from '../answers/read-fields.ts';
import { firstJson, type OfferedTools, readName, type TextCall } from '../answers/tool-calls.ts';
import { parseJson } from '../../lib/json/json.ts';
import { readLoose } from '../../lib/json/loose-json.ts';

/** Marks between the parts of a call. */
export const BETWEEN =
  /<｜tool▁sep｜>|<\|tool_call_argument_begin\|>|```[a-z]{0,12}|<｜tool▁calls?▁(?:begin|end)｜>|<\|tool_calls?_(?:section_)?(?:begin|end)\|>|<\|?\/?tool_calls?\|?>/g;
/** How a family writes calls in tags: `<function=name><parameter=key>value</parameter></function>`. */
interface TagForm {
  call: string;
  parameter: string;
  end: string;
}

export const TAG_FORMS: readonly TagForm[] = [
  { call: '<function=', parameter: '<parameter=', end: '</parameter>' },
  { call: '<function name=', parameter: '<param name=', end: '</param>' },
  { call: '<invoke name=', parameter: '<parameter name=', end: '</parameter>' },
];

/** The offered tool named last in the text before its arguments; undefined when there is none. */
export function nameIn(text: string, offered: OfferedTools): string | undefined {
  const plain = text.slice(-300).replaceAll(BETWEEN, ' ');
  const names = plain.match(/[A-Za-z_][\w.:-]{0,80}/g) ?? [];
  return names.findLast((name) => offered.has(readName(name, offered)));
}

/** Calls in tags of one form; values are text or JSON, as the tool wants them. */
export function taggedCalls(text: string, form: TagForm, offered: OfferedTools): TextCall[] {
  return text
    .split(form.call)
    .slice(1)
    .map((part) => {
      const [head, body] = cutAt(part, '>');
      const name = unquoted(head);
      const [first = '', ...parameters] = body.split(form.parameter);
      if (parameters.length === 0) {
        const children = childTags(first, name, offered);
        if (children.length > 0) return { name, args: typed(readName(name, offered), children, offered) };
        const json = firstJson(first, 0);
        // Everything in braces, whatever surrounds it.
        return { name, args: json === undefined ? undefined : first.slice(json.start, json.end) };
      }
      const read = parameters.map((parameter): [string, string] => {
        const [key, rest] = cutAt(parameter, '>');
        // `<parameter name="key" string="true">`
        const value = cutAt(rest, form.end)[0];
        return [
          unquoted(key.replace(/^"([^"]*)".*$/s, '$1')),
          value.replace(/^<!\[CDATA\[([^]*)\]\]>$/, '$1'),
        ];
      });
      return { name, args: typed(readName(name, offered), read, offered) };
    });
}

/** `<path>value</path>`, as MiniMax M3 writes parameters: those that the tool has. */
function childTags(text: string, name: string, offered: OfferedTools): [string, string][] {
  const properties = fieldsOf(offered.get(readName(name, offered))?.parameters['properties']) ?? {};
  return Object.keys(properties).flatMap((key): [string, string][] => {
    const [, rest] = cutAt(text, `<${key}>`);
    return text.includes(`<${key}>`) ? [[key, cutAt(rest, `</${key}>`)[0]]] : [];
  });
}

/** `name <arg_key>key</arg_key> <arg_value>value</arg_value>`, as GLM writes calls. */
export function pairedCalls(text: string, offered: OfferedTools): TextCall[] {
  const [head = '', ...pairs] = text.split('<arg_key>');
  if (head.trim() === '') return [];
  const name = nameIn(head, offered) ?? '';
  const read = pairs.map((pair): [string, string] => {
    const [key, rest] = cutAt(pair, '</arg_key>');
    return [key.trim(), cutAt(cutAt(rest, '<arg_value>')[1], '</arg_value>')[0]];
  });
  return [{ name, args: typed(readName(name, offered), read, offered) }];
}

/** Begins each call of Kimi K3. */
export const ATTRIBUTED = '<|open|>call ';

/** `<|open|>call tool="name"<|sep|><|open|>argument key="key" type="string"<|sep|>value<|close|>argument<|sep|>` (Kimi K3). */
export function attributedCalls(text: string, offered: OfferedTools): TextCall[] {
  return text
    .split(ATTRIBUTED)
    .slice(1)
    .map((part) => {
      const [head, ...parts] = part.split('<|open|>');
      const name = attribute(head, 'tool');
      const read = parts.map((each): [string, string] => {
        const [start, rest] = cutAt(each, '<|sep|>');
        return [attribute(start, 'key'), cutAt(rest, '<|close|>')[0]];
      });
      const [first] = read;
      if (first?.[0] === '') return { name, args: first[1] };
      return { name, args: typed(readName(name, offered), read, offered) };
    });
}

function attribute(tag: string | undefined, name: string): string {
  const [, value = ''] = new RegExp(`\\b${name}="([^"]{0,200})"`).exec(tag ?? '') ?? [];
  return value.replaceAll('&quot;', '"').replaceAll('&amp;', '&');
}

/** `call:name{key:value}` with texts between marks of their own, as Gemma writes calls. */
export function bracedCalls(text: string): TextCall[] {
  return text
    .split(/\bcall:(?=[\w.-]{1,80}\{)/)
    .slice(1)
    .map((part) => {
      const [name] = cutAt(part, '{');
      const args = part.slice(name.length);
      return { name, args: readLoose(args)?.value ?? args };
    });
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
