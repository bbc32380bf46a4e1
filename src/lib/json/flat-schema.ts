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

/**
 * Merges them. Where two parts disagree the outer one counts, so the result accepts at least what the parts accept
 * together. Never throws.
 */
export function flattened(
  given: unknown,
  { depth, refs }: { depth: number; refs: readonly string[] },
  follow: (reference: string) => unknown,
): Flat {
  let isCut = false;
  const path = new Set(refs);
  let followed = 0;
  const flatten = (one: unknown, above: ReadonlySet<string>): Schema => {
    if (!isJsonObject(one)) return {};
    const { $ref: reference, allOf, ...rest } = one;
    const parts: Schema[] = [rest];
    followed += 1;
    if (followed > MAX_FOLLOWED) {
      isCut ||= reference !== undefined || allOf !== undefined;
      return rest;
    }
    if (typeof reference === 'string') {
      const target = above.has(reference) ? undefined : follow(reference);
      if (target === undefined) isCut = true;
      else {
        path.add(reference);
        parts.push(flatten(target, new Set([...above, reference])));
      }
    }
    for (const part of listOf(allOf)) parts.push(flatten(part, above));
    return parts.reduce(merged);
  };
  const raw = flatten(given, path);
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

/**
 * The types that a schema names or implies, without null and without those that JSON Schema does not know; `nullable`:
 * it may be null (also as OpenAPI 3.0 says it).
 */
export function typesOf(raw: Schema): { types: string[]; nullable: boolean } {
  const named: unknown[] = Array.isArray(raw['type']) ? raw['type'] : [raw['type']];
  const nullable = named.includes('null') || raw['nullable'] === true;
  const known = new Set(named.filter((type): type is string => typeof type === 'string' && TYPES.has(type)));
  // A whole number is a number.
  if (known.has('number')) known.delete('integer');
  if (known.size > 0 || raw['type'] !== undefined) return { types: [...known], nullable };
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
  const { anyOf, oneOf, description: _, default: _default, ...beside } = raw;
  const alternatives = [anyOf, oneOf].map(listOf).find((list) => list.length > 0);
  if (alternatives === undefined) return undefined;
  const isAlone = Object.keys(beside).length === 0;
  if (!isAlone && alternatives.some(isCondition)) return 'conditions';
  // `allOf` is how both are joined again.
  return alternatives
    .filter((one) => one !== false)
    .map((one) => (isAlone && isJsonObject(one) ? one : { allOf: [one, beside] }));
}

function isCondition(schema: unknown): boolean {
  return isJsonObject(schema) && Object.keys(schema).every((key) => CONDITIONS.has(key));
}
