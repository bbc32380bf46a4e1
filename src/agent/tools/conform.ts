/**
 * Values brought into the types of a JSON Schema where nothing is lost: models write numbers as text, JSON as text, and
 * null for what they leave out.
 */
import { isJsonObject, MAX_JSON_DEPTH } from '../../lib/json/json.ts';
import { referredTo } from '../../lib/json/json-schema.ts';
import { readLooseValues } from '../../lib/json/loose-json.ts';
import type { z } from 'zod';

type Schema = Record<string, unknown>;

/** Schemas that are looked at for one value with all that is in it; a short schema can lead to endlessly many. */
export const MAX_CONFORM_STEPS = 100_000;

/**
 * The value with these changes: null for an optional property that cannot be null is left out; a text becomes the number,
 * boolean, list or object that it says, if the schema allows no text. The rest stays as it is, also where it is wrong,
 * and what is left when the steps are used up. Never throws.
 */
export function conform(value: unknown, schema: Schema): unknown {
  return conformTo(
    { root: schema, depth: MAX_JSON_DEPTH, steps: { left: MAX_CONFORM_STEPS } },
    value,
    schema,
  );
}

/** Where the references of a schema lead, how much deeper it is followed, and how many steps are left for the whole value. */
interface Place {
  root: Schema;
  depth: number;
  steps: { left: number };
}

function conformTo(place: Place, value: unknown, schema: unknown): unknown {
  if (place.depth === 0 || place.steps.left <= 0) return value;
  const inner = { ...place, depth: place.depth - 1 };
  const variants = variantsOf(place, schema);
  const types = new Set(variants.flatMap(typesOf));
  const read = typeof value === 'string' && !types.has('string') ? fromText(value, types) : value;
  if (Array.isArray(read)) return conformItems(inner, read, variants);
  return isJsonObject(read) ? conformProperties(inner, read, variants) : read;
}

function conformItems(place: Place, items: readonly unknown[], variants: readonly Schema[]): unknown[] {
  const lists = variants.filter((variant) => typesOf(variant).includes('array'));
  const [only] = lists;
  return lists.length === 1 ? items.map((item) => conformTo(place, item, only?.['items'])) : [...items];
}

function conformProperties(
  place: Place,
  fields: Record<string, unknown>,
  variants: readonly Schema[],
): Record<string, unknown> {
  const objects = variants.filter((variant) => typesOf(variant).includes('object'));
  const [only = {}] = objects;
  if (objects.length > 1) return fields;
  const properties = isJsonObject(only['properties']) ? only['properties'] : {};
  const required = new Set(listOf(only['required']));
  const entries = Object.entries(fields).filter(
    ([key, value]) =>
      value !== null ||
      required.has(key) ||
      !Object.hasOwn(properties, key) ||
      takesNull(place, properties[key]),
  );
  return Object.fromEntries(
    entries.map(([key, value]) => {
      const schema = Object.hasOwn(properties, key) ? properties[key] : only['additionalProperties'];
      return [key, conformTo(place, value, schema)];
    }),
  );
}

function takesNull(place: Place, schema: unknown): boolean {
  return variantsOf(place, schema).some((variant) => typesOf(variant).includes('null'));
}

/** The schemas of which a value must match one, as far as they can be told apart by their types. */
function variantsOf({ root, depth, steps }: Place, schema: unknown): Schema[] {
  if (!isJsonObject(schema) || depth === 0 || steps.left <= 0) return [{}];
  const { $ref: reference, anyOf, oneOf, enum: choices, required } = schema;
  steps.left -= 1 + listOf(choices).length + listOf(required).length;
  const place = { root, depth: depth - 1, steps };
  if (typeof reference === 'string') {
    steps.left -= reference.length;
    return variantsOf(place, referredTo(root, reference));
  }
  const alternatives = [...listOf(anyOf), ...listOf(oneOf)];
  return alternatives.length === 0 ? [schema] : alternatives.flatMap((each) => variantsOf(place, each));
}

const ANY = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

/** The types that a schema allows: those it names, or those of the values it lists. */
function typesOf(schema: Schema): string[] {
  const { type, const: constant, enum: choices, nullable } = schema;
  const values = 'const' in schema ? [constant] : listOf(choices);
  const names =
    type === undefined && values.length > 0 ? values.map(typeOf) : listOf(type ?? ANY).map(String);
  return nullable === true ? [...names, 'null'] : names;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined ? [] : [value];
}

/** A number that stays the same when it is written again. */
const PLAIN_NUMBER = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,10})?$/;

/** What a text says, as one of the types; the text itself when it says none of them. */
function fromText(text: string, types: ReadonlySet<string>): unknown {
  const word = text.trim();
  if (
    PLAIN_NUMBER.test(word) &&
    (types.has('number') || (types.has('integer') && Number.isInteger(Number(word))))
  )
    return Number(word);
  if (types.has('boolean') && /^(true|false)$/i.test(word)) return word.toLowerCase() === 'true';
  const [value, ...more] = (/^[[{]/.test(word) ? readLooseValues(word) : undefined) ?? [];
  return more.length === 0 && value !== undefined && types.has(typeOf(value)) ? value : text;
}

/** Most issues reported; a value may have thousands. */
const MAX_REPORTED = 8;

const MAX_PATH_CHARS = 100;

/** One line per issue, each beginning with the field. Never throws. */
export function describeIssues({ issues }: z.ZodError): string {
  const lines = issues
    .slice(0, MAX_REPORTED)
    .map((issue) => `- ${placeOf(issue.path)} ${describeIssue(issue)}`);
  const more = issues.length > MAX_REPORTED ? [`- and ${issues.length - MAX_REPORTED} more`] : [];
  return [...lines, ...more].join('\n');
}

function placeOf(path: readonly PropertyKey[]): string {
  return path.length === 0 ? 'the value' : path.map(String).join('.').slice(0, MAX_PATH_CHARS);
}

function describeIssue(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.message.endsWith('received undefined')
        ? `is missing (${issue.expected})`
        : `must be of type ${issue.expected}`;
    case 'invalid_value':
      return `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`;
    case 'too_small':
      return `must be at least ${issue.minimum}${unitOf(issue.origin)}`;
    case 'too_big':
      return `must be at most ${issue.maximum}${unitOf(issue.origin)}`;
    case 'unrecognized_keys':
      return `has unknown fields: ${issue.keys.join(', ').slice(0, MAX_PATH_CHARS)}`;
    case 'custom':
      return `is refused: ${issue.message}`;
    default:
      return issue.message.startsWith('Invalid') ? 'is not valid' : issue.message;
  }
}

function unitOf(origin: string): string {
  if (origin === 'string') return ' characters long';
  return origin === 'array' || origin === 'set' || origin === 'map' ? ' items long' : '';
}
