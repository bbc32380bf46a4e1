/** Tool schemas that every server can compile: a plain subset of JSON Schema. */
import type { ToolSchema } from '../../contracts/model/provider.ts';
import { isJsonObject } from '../../lib/json/json.ts';

/** Deeper parts of a schema become a plain object. */
const MAX_DEPTH = 8;

type Schema = Record<string, unknown>;

/** The schemas are prepared once per profile, and so is what they are reduced to. */
const reduced = new WeakMap<readonly ToolSchema[], readonly ToolSchema[]>();

/**
 * The tools with schemas of types, properties, required, enum and description; of alternatives, the first that is not
 * null. Arguments are still checked against the tools' own schemas. Never throws.
 */
export function reduceSchemas(tools: readonly ToolSchema[]): readonly ToolSchema[] {
  const known = reduced.get(tools);
  if (known !== undefined) return known;
  const plain = tools.map(({ strict: _, ...tool }) => ({
    ...tool,
    parameters: { ...reduceSchema(tool.parameters, tool.parameters, 0), type: 'object' },
  }));
  reduced.set(tools, plain);
  return plain;
}

function reduceSchema(value: unknown, root: Schema, depth: number): Schema {
  if (!isJsonObject(value)) return { type: 'string' };
  if (depth > MAX_DEPTH) return { type: 'object' };
  const schema = chooseOne(value, root, depth);
  const type = typeOf(schema);
  const { description, enum: values, properties, items } = schema;
  return {
    type,
    ...(typeof description === 'string' && { description }),
    ...(Array.isArray(values) && type === 'string' && { enum: values.filter((each) => typeof each === 'string') }),
    ...(type === 'object' && propertiesOf(isJsonObject(properties) ? properties : {}, schema, root, depth)),
    ...(type === 'array' && { items: reduceSchema(items, root, depth + 1) }),
  };
}

function propertiesOf(properties: Schema, { required }: Schema, root: Schema, depth: number): Schema {
  const names = Object.keys(properties);
  return {
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, value]) => [name, reduceSchema(value, root, depth + 1)]),
    ),
    ...(Array.isArray(required) && { required: required.filter((name) => names.includes(String(name))) }),
  };
}

/** Follows a reference, and takes the first alternative that is not null. */
function chooseOne(schema: Schema, root: Schema, depth: number): Schema {
  if (depth > MAX_DEPTH) return {};
  const { $ref: reference, anyOf, oneOf, allOf, ...own } = schema;
  const alternatives = [anyOf, oneOf, allOf].find((each) => Array.isArray(each)) ?? [];
  const target =
    typeof reference === 'string'
      ? follow(reference, root)
      : alternatives.find((each: unknown) => isJsonObject(each) && each['type'] !== 'null');
  return isJsonObject(target) ? { ...chooseOne(target, root, depth + 1), ...own } : own;
}

/** The part of a schema that a reference within it names (RFC 6901). */
function follow(reference: string, root: Schema): unknown {
  let found: unknown = root;
  for (const step of reference.replace(/^#\/?/, '').split('/')) {
    if (step === '') continue;
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    found = isJsonObject(found) ? found[name] : undefined;
  }
  return found;
}

const TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array']);

/** One type; that of a schema without one is inferred, else a text, which every value can be written as. */
function typeOf({ type, properties, items, enum: values, const: only }: Schema): string {
  const named = (Array.isArray(type) ? type : [type]).find((each) => TYPES.has(each));
  if (typeof named === 'string') return named;
  if (properties !== undefined) return 'object';
  if (items !== undefined) return 'array';
  const sample: unknown = only ?? (Array.isArray(values) ? values[0] : undefined);
  return typeof sample === 'number' || typeof sample === 'boolean' ? typeof sample : 'string';
}
