/** Alternatives among schemas that model servers read. */
import { isJsonObject } from './json.ts';
import type { Schema } from './flat-schema.ts';

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
