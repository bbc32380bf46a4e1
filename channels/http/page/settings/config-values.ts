/** Settings as values and as texts of their fields: pure functions between the API's answers and the forms. */
import type { TextRef } from '../texts.ts';

/** The part of JSON Schema that the forms read. */
export interface Schema {
  type?: string;
  title?: string;
  description?: string;
  default?: unknown;
  const?: unknown;
  enum?: (string | number)[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  additionalProperties?: Schema | boolean;
}

/** One setting. */
export interface Setting {
  path: string[];
  /** The path as people write it: `limits.messagesPerMinute`. */
  name: string;
  schema: Schema;
  /** What the file says; undefined = the default counts. */
  written: unknown;
  value: unknown;
  /** How it is edited; `choice` also has what may be unset. */
  kind: 'switch' | 'choice' | 'number' | 'text' | 'long' | 'list' | 'json';
  /** It may be a secret, which is not shown and not edited here. */
  isHidden: boolean;
}

/** Stands for a text that may be a secret. */
const SET_SECRET = '(set)';
/** A text that may be longer is edited in several lines. */
const LONG_TEXT = 5_000;

/** The settings at a path, in the order of the schema: one for each value; none if there is no such path. */
export function settingsIn(
  { schema, written, values }: { schema: Schema; written: unknown; values: unknown },
  path: readonly string[] = [],
): Setting[] {
  let [inner, inFile, value]: [Schema | undefined, unknown, unknown] = [schema, written, values];
  for (const name of path)
    [inner, inFile, value] = [inner?.properties?.[name], childOf(inFile, name), childOf(value, name)];
  if (inner === undefined || (path.length === 0 && inner.properties === undefined)) return [];
  if (inner.type === 'object' && inner.properties !== undefined)
    return Object.keys(inner.properties)
      .filter((name) => name !== '$schema')
      .flatMap((name) => settingsIn({ schema, written, values }, [...path, name]));
  const kind = kindOf(inner, value);
  const isHidden = JSON.stringify(value ?? '').includes(`"${SET_SECRET}"`);
  return [{ path: [...path], name: path.join('.'), schema: inner, written: inFile, value, kind, isHidden }];
}

function childOf(parent: unknown, name: string): unknown {
  return typeof parent === 'object' && parent !== null
    ? Object.getOwnPropertyDescriptor(parent, name)?.value
    : undefined;
}

function kindOf(schema: Schema, value: unknown): Setting['kind'] {
  if (schema.enum !== undefined) return 'choice';
  switch (schema.type) {
    case 'boolean':
      return typeof schema.default === 'boolean' ? 'switch' : 'choice';
    case 'integer':
    case 'number':
      return 'number';
    case 'string':
      return (schema.maxLength ?? 0) > LONG_TEXT ? 'long' : 'text';
    case 'array': {
      const takesText =
        schema.items?.type === 'string' ||
        schema.items?.anyOf?.some(({ type }) => type === 'string') === true;
      const hasTexts =
        value === undefined || (Array.isArray(value) && value.every((one) => typeof one === 'string'));
      return takesText && hasTexts ? 'list' : 'json';
    }
    default:
      return 'json';
  }
}

/** A record or a list with one entry to fill in: what the entry must have, with defaults where there are some. */
export function firstEntry({ items, additionalProperties }: Schema): unknown {
  if (items !== undefined) return [outlineOf(items)];
  return { name: typeof additionalProperties === 'object' ? outlineOf(additionalProperties) : {} };
}

function outlineOf(schema: Schema): unknown {
  const { type, properties = {}, required = [], anyOf, oneOf } = schema;
  const [kind] = anyOf ?? oneOf ?? [];
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (kind !== undefined) return outlineOf(kind);
  if (type === 'object')
    return Object.fromEntries(required.map((name) => [name, outlineOf(properties[name] ?? {})]));
  if (type === 'array') return [];
  if (type === 'boolean') return false;
  return type === 'number' || type === 'integer' ? (schema.minimum ?? 0) : '';
}

/** The text of a setting's field. */
export function textOf({ kind, value }: Pick<Setting, 'kind' | 'value'>): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return value;
  return kind === 'list' && Array.isArray(value) ? value.join('\n') : JSON.stringify(value, undefined, 2);
}

/** The value of a text in its field; undefined for a text that is not JSON where that is needed. */
export function valueOf({ kind, schema }: Pick<Setting, 'kind' | 'schema'>, text: string): unknown {
  switch (kind) {
    case 'number':
      return Number(text);
    case 'choice':
      return schema.enum?.find((one) => String(one) === text) ?? text === 'true';
    case 'switch':
      return text === 'true';
    case 'list':
      return text
        .split('\n')
        .map((line) => line.trim())
        .filter(Boolean);
    case 'json':
      try {
        return JSON.parse(text);
      } catch {
        return undefined;
      }
    default:
      return text;
  }
}

/**
 * What is wrong, in words, by the field that it is about; what is about none of these fields is under the empty name, a line
 * for each.
 */
export function problemsByField(
  problems: readonly TextRef[],
  names: readonly string[],
  word: (text: TextRef) => string,
): Record<string, string> {
  const byField: Record<string, string> = {};
  for (const problem of problems) {
    const { field, what } = innermost(problem);
    const name = names.find((one) => field === one || field.startsWith(`${one}.`)) ?? '';
    const text = word(name === '' ? problem : what);
    byField[name] = byField[name] === undefined ? text : `${byField[name]}\n${text}`;
  }
  return byField;
}

/** A problem names its file with the line, then its field. */
function innermost(problem: TextRef): { field: string; what: TextRef } {
  let [field, what] = ['', problem];
  while (what.key === 'problem.at') {
    const { place, what: inner } = what.values ?? {};
    if (typeof inner !== 'object') break;
    field = typeof place === 'string' ? place : '';
    what = inner;
  }
  return { field, what };
}
