/**
 * Checks a JSON value against a JSON Schema (draft 2020-12, as in OpenAI's structured outputs) in bounded time. `pattern`
 * and `format` are not checked: a regular expression from outside can take forever.
 */
import { isJsonObject } from './json.ts';

/** Keyword evaluations of one check; references and alternatives can multiply them endlessly. */
export const MAX_SCHEMA_STEPS = 100_000;

/** Deepest nesting of schemas that is followed, references included. */
export const MAX_SCHEMA_DEPTH = 200;

/** How the problem starts when the schema is at issue. */
export const UNFOLLOWABLE = 'the schema cannot be followed';

type Schema = Record<string, unknown>;

/** One check; `problem` returns the first failure at a place in the value, or undefined. */
interface Check {
  root: Schema;
  steps: number;
}

/** A value inside the checked one: where it is, and how many schemas deep. */
interface Spot {
  value: unknown;
  at: string;
  depth: number;
}

/** Thrown inside a check that exceeds its limits or meets a schema it cannot follow. */
class Unfollowable extends Error {}

/**
 * The first problem (`/items/0: must be a string`); undefined if the value matches. Names a schema that cannot be
 * followed (a foreign `$ref`, too many steps). Never throws.
 */
export function schemaProblem(schema: Schema, value: unknown): string | undefined {
  const check: Check = { root: schema, steps: 0 };
  try {
    return problemAt(check, schema, { value, at: '', depth: 0 });
  } catch (error) {
    if (error instanceof Unfollowable) return `${UNFOLLOWABLE}: ${error.message}`;
    throw error;
  }
}

function problemAt(check: Check, schema: unknown, spot: Spot): string | undefined {
  const { value, at, depth } = spot;
  check.steps += 1;
  if (check.steps > MAX_SCHEMA_STEPS) throw new Unfollowable(`more than ${MAX_SCHEMA_STEPS} steps`);
  if (depth > MAX_SCHEMA_DEPTH) throw new Unfollowable(`deeper than ${MAX_SCHEMA_DEPTH} levels`);
  if (schema === false) return wrong(at, 'is not allowed');
  if (!isJsonObject(schema)) return undefined;
  const { $ref: reference } = schema;
  if (typeof reference === 'string') {
    const problem = problemAt(check, resolve(check.root, reference), { value, at, depth: depth + 1 });
    if (problem !== undefined) return problem;
  }
  const { type, const: constant, enum: choices } = schema;
  if (type !== undefined && !list(type).some((name) => isOfType(value, name))) {
    return wrong(at, `must be of type ${list(type).join(' or ')}`);
  }
  if ('const' in schema && !isSame(value, constant)) return wrong(at, `must be ${show(constant)}`);
  if (Array.isArray(choices) && !choices.some((one) => isSame(value, one))) {
    return wrong(at, `must be one of ${show(choices)}`);
  }
  return (
    numberProblem(schema, value, at) ??
    lengthProblem(schema, value, at) ??
    itemsProblem(check, schema, spot) ??
    propertiesProblem(check, schema, spot) ??
    combinedProblem(check, schema, spot)
  );
}

function numberProblem(schema: Schema, value: unknown, at: string): string | undefined {
  if (typeof value !== 'number') return undefined;
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (typeof minimum === 'number' && value < minimum) return wrong(at, `must be at least ${minimum}`);
  if (typeof maximum === 'number' && value > maximum) return wrong(at, `must be at most ${maximum}`);
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) {
    return wrong(at, `must be more than ${exclusiveMinimum}`);
  }
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) {
    return wrong(at, `must be less than ${exclusiveMaximum}`);
  }
  if (typeof multipleOf !== 'number' || multipleOf <= 0) return undefined;
  const quotient = value / multipleOf;
  const isMultiple = Math.abs(quotient - Math.round(quotient)) < 1e-9;
  return isMultiple ? undefined : wrong(at, `must be a multiple of ${multipleOf}`);
}

/** String lengths are counted in code points. */
function lengthProblem(schema: Schema, value: unknown, at: string): string | undefined {
  const [least, most, length] =
    typeof value === 'string'
      ? [schema['minLength'], schema['maxLength'], Array.from(value).length]
      : Array.isArray(value)
        ? [schema['minItems'], schema['maxItems'], value.length]
        : isJsonObject(value)
          ? [schema['minProperties'], schema['maxProperties'], Object.keys(value).length]
          : [undefined, undefined, 0];
  if (typeof least === 'number' && length < least)
    return wrong(at, `must have a length of at least ${least}`);
  if (typeof most === 'number' && length > most) return wrong(at, `must have a length of at most ${most}`);
  return undefined;
}

function itemsProblem(check: Check, schema: Schema, { value, at, depth }: Spot): string | undefined {
  if (!Array.isArray(value)) return undefined;
  const first: unknown[] = Array.isArray(schema['prefixItems']) ? schema['prefixItems'] : [];
  for (const [index, item] of value.entries()) {
    const itemSchema = index < first.length ? first[index] : schema['items'];
    const problem = problemAt(check, itemSchema, { value: item, at: `${at}/${index}`, depth: depth + 1 });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function propertiesProblem(check: Check, schema: Schema, { value, at, depth }: Spot): string | undefined {
  if (!isJsonObject(value)) return undefined;
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  for (const name of required) {
    if (typeof name === 'string' && !Object.hasOwn(value, name)) return wrong(`${at}/${name}`, 'is missing');
  }
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  for (const [name, field] of Object.entries(value)) {
    const isDeclared = Object.hasOwn(properties, name);
    // Which names a pattern matches is unknown here: with patterns, no name counts as extra.
    if (!isDeclared && schema['patternProperties'] !== undefined) continue;
    const valueSchema = isDeclared ? properties[name] : schema['additionalProperties'];
    const problem = problemAt(check, valueSchema, { value: field, at: `${at}/${name}`, depth: depth + 1 });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function combinedProblem(check: Check, schema: Schema, { value, at, depth }: Spot): string | undefined {
  const problemOf = (one: unknown): string | undefined =>
    problemAt(check, one, { value, at, depth: depth + 1 });
  const { allOf, anyOf, oneOf, not } = schema;
  for (const one of Array.isArray(allOf) ? allOf : []) {
    const problem = problemOf(one);
    if (problem !== undefined) return problem;
  }
  if (Array.isArray(anyOf) && anyOf.every((one) => problemOf(one) !== undefined)) {
    return wrong(at, 'matches none of the alternatives');
  }
  if (Array.isArray(oneOf) && oneOf.filter((one) => problemOf(one) === undefined).length !== 1) {
    return wrong(at, 'must match exactly one of the alternatives');
  }
  return not !== undefined && problemOf(not) === undefined
    ? wrong(at, 'matches what is excluded')
    : undefined;
}

/** A reference within the same schema: `#`, or followed by a JSON pointer (RFC 6901). */
/** The schema that a `$ref` leads to; undefined when it leads outside or nowhere. Never throws. */
export function referenced(root: Schema, reference: string): unknown {
  try {
    return resolve(root, reference);
  } catch (error) {
    if (error instanceof Unfollowable) return undefined;
    throw error;
  }
}

function resolve(root: Schema, reference: string): unknown {
  if (!reference.startsWith('#')) throw new Unfollowable(`$ref ${show(reference)} leads outside`);
  const target = referredTo(root, reference);
  if (target === undefined) throw new Unfollowable(`$ref ${show(reference)} leads nowhere`);
  return target;
}

/** What a reference within a schema leads to; undefined if it leads nowhere, or outside. Never throws. */
export function referredTo(root: Schema, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined;
  let target: unknown = root;
  for (const part of reference.slice(1).split('/').slice(1)) {
    const name = decodePointer(part);
    const holder: unknown = target;
    if (Array.isArray(holder)) target = holder[Number(name)];
    else target = isJsonObject(holder) && Object.hasOwn(holder, name) ? holder[name] : undefined;
  }
  return target;
}

function decodePointer(part: string): string {
  const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
  try {
    return decodeURIComponent(name);
  } catch {
    // A lone "%" stands for itself.
    return name;
  }
}

function isOfType(value: unknown, name: unknown): boolean {
  switch (name) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isJsonObject(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === name;
  }
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isSame(item, b[index]));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isSame(a[name], b[name]))
  );
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [value];
}

/** Longest quotation of a schema in a message, in characters. */
const MAX_SHOWN = 100;

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN).toWellFormed()}…`;
}

function wrong(at: string, problem: string): string {
  return `${at === '' ? 'it' : at.slice(0, MAX_SHOWN).toWellFormed()} ${problem}`;
}
