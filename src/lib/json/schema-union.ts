/** Alternatives among schemas that model servers read. */
import { isJsonObject } from './json.ts';
import { listOf, type Schema } from './flat-schema.ts';

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
  const joined = joinChoices(different);
  const [first = ANY, ...others] = joined;
  return others.length === 0 ? first : { anyOf: joined };
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
 * One object for all of these: servers want no alternatives at the top. `join` makes the schema of a property from those
 * that it has; `isFree`: one of the objects may have it with any value.
 */
export function unionOfObjects(
  objects: readonly Schema[],
  join: (schemas: readonly Schema[], isFree: boolean) => Schema,
): Schema {
  const propertiesOf = ({ properties }: Schema): Schema => (isJsonObject(properties) ? properties : {});
  const names = [...new Set(objects.flatMap((one) => Object.keys(propertiesOf(one))))];
  const properties = names.map((name): [string, Schema] => {
    const having = objects.filter((one) => Object.hasOwn(propertiesOf(one), name));
    const isFree = objects.some((one) => !having.includes(one) && one['additionalProperties'] !== false);
    return [name, join(having.map((one) => propertiesOf(one)[name]).filter(isJsonObject), isFree)];
  });
  const required = names.filter((name) => objects.every((one) => listOf(one['required']).includes(name)));
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    ...(objects.every((one) => one['additionalProperties'] === false) && { additionalProperties: false }),
  };
}
