/** A JSON Schema without references and intersections at its top: what they lead to is merged into it. */
import { isJsonObject } from './json.ts';

/** Any JSON Schema that is an object. */
export type Schema = Record<string, unknown>;

/** The merged schema. */
export interface Flat {
  raw: Schema;
  /** How deep it stands in its schema. */
  depth: number;
  /** The references that led to it. */
  refs: readonly string[];
  /** A reference was not followed: it leads nowhere, or in a circle. */
  isCut: boolean;
}

/** Most references and intersections that are followed for one schema. */
const MAX_FOLLOWED = 32;

/** Merges them. The outer part wins, so the result accepts at least what the parts accept. Never throws. */
export function flattened(
  schema: unknown,
  { depth, refs }: { depth: number; refs: readonly string[] },
  follow: (reference: string) => unknown,
): Flat {
  let isCut = false;
  const path = new Set(refs);
  let followed = 0;
  const flatten = (one: unknown, ancestors: ReadonlySet<string>): Schema => {
    if (!isJsonObject(one)) return {};
    const { $ref: reference, allOf, ...rest } = one;
    const parts: Schema[] = [rest];
    followed += 1;
    if (followed > MAX_FOLLOWED) {
      isCut ||= reference !== undefined || allOf !== undefined;
      return rest;
    }
    if (typeof reference === 'string') {
      const target = ancestors.has(reference) ? undefined : follow(reference);
      if (target === undefined) isCut = true;
      else {
        path.add(reference);
        parts.push(flatten(target, new Set([...ancestors, reference])));
      }
    }
    for (const part of listOf(allOf)) parts.push(flatten(part, ancestors));
    return parts.reduce(merged);
  };
  const raw = flatten(schema, path);
  return { raw, depth, refs: [...path], isCut };
}

/** Two schemas that a value must both match, as one that accepts at least the same. */
function merged(outer: Schema, inner: Schema): Schema {
  const properties = { ...objectIn(inner, 'properties'), ...objectIn(outer, 'properties') };
  const required = [...new Set([...listOf(outer['required']), ...listOf(inner['required'])])];
  return {
    ...inner,
    ...outer,
    ...(('properties' in inner || 'properties' in outer) && { properties }),
    ...(required.length > 0 && { required }),
  };
}

function objectIn(schema: Schema, key: string): Schema {
  const value = schema[key];
  return isJsonObject(value) ? value : {};
}

/** The value if it is a list, else an empty one. */
export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

const TYPES = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean']);

/** The types that a schema names or implies, without null; `nullable`: it may be null (also as OpenAPI 3.0 says it). */
export function typesOf(raw: Schema): { types: string[]; nullable: boolean } {
  const names: unknown[] = Array.isArray(raw['type']) ? raw['type'] : [raw['type']];
  const nullable = names.includes('null') || raw['nullable'] === true;
  const types = new Set(names.filter((type): type is string => typeof type === 'string' && TYPES.has(type)));
  // A whole number is a number.
  if (types.has('number')) types.delete('integer');
  if (types.size > 0 || raw['type'] !== undefined) return { types: [...types], nullable };
  if (isJsonObject(raw['properties'])) return { types: ['object'], nullable };
  return { types: isJsonObject(raw['items']) ? ['array'] : [], nullable };
}

/** Keywords that only set conditions for a value that is described elsewhere. */
const CONDITIONS = new Set([
  'required',
  'not',
  'if',
  'then',
  'else',
  'dependentRequired',
  'minProperties',
  'title',
  'description',
]);

/** The values to choose from; undefined without such a list. */
export function choicesOf(raw: Schema): readonly unknown[] | undefined {
  if ('const' in raw) return [raw['const']];
  const { enum: choices } = raw;
  return Array.isArray(choices) && choices.length > 0 ? choices : undefined;
}

/** The schemas of the items, in any place; none if an item may be anything. */
export function itemsOf(raw: Schema): unknown[] {
  const { items, prefixItems, additionalItems, maxItems } = raw;
  const tuple = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : undefined;
  if (tuple === undefined) return isJsonObject(items) ? [items] : [];
  const rest = Array.isArray(prefixItems) ? items : additionalItems;
  const isClosed = rest === false || (typeof maxItems === 'number' && maxItems <= tuple.length);
  if (isClosed) return tuple;
  return isJsonObject(rest) ? [...tuple, rest] : [];
}

/** The alternatives of a schema, each with what stands beside them; `conditions` where they describe no values. */
export function branchesOf(raw: Schema): Schema[] | 'conditions' | undefined {
  const { anyOf, oneOf, description: _, default: _default, ...siblings } = raw;
  const alternatives = [anyOf, oneOf].map(listOf).find((list) => list.length > 0);
  if (alternatives === undefined) return undefined;
  const isAlone = Object.keys(siblings).length === 0;
  if (!isAlone && alternatives.some(isCondition)) return 'conditions';
  // `allOf` is how both are joined again.
  return alternatives
    .filter((one) => one !== false)
    .map((one) => (isAlone && isJsonObject(one) ? one : { allOf: [one, siblings] }));
}

function isCondition(schema: unknown): boolean {
  return isJsonObject(schema) && Object.keys(schema).every((key) => CONDITIONS.has(key));
}

/** A schema of any value. */
export const ANY = { description: 'Any JSON value.' } as const;

/** True for a schema that accepts any value. */
export function isAny(schema: Schema): boolean {
  return Object.keys(schema).every((key) => key === 'description' || key === 'default');
}

/** What accepts a value that one of these accepts; at least one. Equal ones count once, lists of choices become one list. */
export function union(schemas: readonly Schema[]): Schema {
  const flat = schemas.flatMap((schema) => (isPlainUnion(schema) ? schema['anyOf'] : [schema]));
  if (flat.some(isAny)) return ANY;
  const different = [...new Map(flat.map((schema) => [JSON.stringify(schema), schema])).values()];
  const choices = joinChoices(different);
  const [first = ANY, ...others] = choices;
  return others.length === 0 ? first : { anyOf: choices };
}

/** The same, or null. */
export function withNull(schema: Schema): Schema {
  if (isAny(schema) || schema['type'] === 'null') return schema;
  const { description, default: initial, ...rest } = schema;
  return {
    ...(description !== undefined && { description }),
    ...(initial !== undefined && { default: initial }),
    ...union([rest, { type: 'null' }]),
  };
}

function isPlainUnion(schema: Schema): schema is { anyOf: Schema[] } {
  return (
    Object.keys(schema).length === 1 && Array.isArray(schema['anyOf']) && schema['anyOf'].every(isJsonObject)
  );
}

/** Texts to choose from are one list, whatever alternatives they came from. */
function joinChoices(schemas: readonly Schema[]): Schema[] {
  const isChoice = (schema: Schema): boolean => schema['type'] === 'string' && Array.isArray(schema['enum']);
  const choices = schemas.filter(
    (schema) => isChoice(schema) && !('description' in schema) && !('default' in schema),
  );
  if (choices.length < 2) return [...schemas];
  const values = new Set(
    choices.flatMap((schema): unknown[] => (Array.isArray(schema['enum']) ? schema['enum'] : [])),
  );
  const one = { type: 'string', enum: [...values] };
  return [one, ...schemas.filter((schema) => !choices.includes(schema))];
}

/**
 * One object for all: servers want no alternatives at the top. `join` makes a property's schema from those that it has;
 * `isFree`: one of the objects may have it with any value.
 */
export function unionOfObjects(
  objects: readonly Schema[],
  join: (schemas: readonly Schema[], isFree: boolean) => Schema,
): Schema {
  const propertiesOf = ({ properties }: Schema): Schema => (isJsonObject(properties) ? properties : {});
  const names = [...new Set(objects.flatMap((one) => Object.keys(propertiesOf(one))))];
  const properties = names.map((name): [string, Schema] => {
    const owners = objects.filter((one) => Object.hasOwn(propertiesOf(one), name));
    const isFree = objects.some((one) => !owners.includes(one) && one['additionalProperties'] !== false);
    return [name, join(owners.map((one) => propertiesOf(one)[name]).filter(isJsonObject), isFree)];
  });
  const required = names.filter((name) => objects.every((one) => listOf(one['required']).includes(name)));
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    ...(objects.every((one) => one['additionalProperties'] === false) && { additionalProperties: false }),
  };
}
