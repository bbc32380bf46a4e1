/**
 * Tool schemas as every model server reads them. Servers know a part of JSON Schema and refuse the rest, and with it
 * every call: Ollama reads properties into a struct that takes no booleans (ollama/ollama api/types.go, ToolProperty),
 * llama.cpp makes a grammar that takes no references outside, few patterns and no long repetitions (ggml-org/llama.cpp
 * common/json-schema-to-grammar.cpp, src/llama-grammar.cpp), OpenAI and Gemini want the items of every array.
 *
 * The result accepts what the original accepts, and more: arguments are checked against the original. One exception:
 * an optional field that may be null is never null, because it may be absent.
 */
import { isJsonObject } from './json.ts';
import { referredTo } from './json-schema.ts';
import {
  ANY,
  branchesOf,
  choicesOf,
  type Flat,
  flattened,
  isAny,
  itemsOf,
  listOf,
  type Schema,
  typesOf,
  union,
  unionOfObjects,
  withNull,
} from './flat-schema.ts';

/** Largest result, in bytes of JSON: inlined references can multiply a schema. */
export const MAX_WIRE_BYTES = 32 * 1024;
/** How many levels deep a result may be, tried in this order until it is small enough. */
const DEPTHS = [12, 6, 3, 1];
/** Schemas within one result. */
const MAX_NODES = 2_000;
/** Longest string and array that a grammar counts: llama.cpp refuses 2,000 repetitions, nested ones multiplied. */
const MAX_COUNTED_CHARS = 1_000;
const MAX_COUNTED_ITEMS = 64;

/** A schema for model servers. */
export interface WireSchema {
  schema: Schema;
  /** What it lacks of the original, in words, for operators; empty if it says the same. */
  losses: readonly string[];
}

/**
 * The schema of a tool's arguments for model servers. `reduced` leaves only types, properties, items, required fields,
 * choices of texts and descriptions. Never throws.
 */
export function wireSchema(original: Schema, { reduced = false } = {}): WireSchema {
  let result: WireSchema = { schema: emptyObject(), losses: ['all of it: it is too large'] };
  for (const depth of DEPTHS) {
    const build = new Build(original, depth, reduced);
    const schema = build.root();
    if (Buffer.byteLength(JSON.stringify(schema)) > MAX_WIRE_BYTES) continue;
    result = { schema, losses: [...build.losses] };
    break;
  }
  return result;
}

function emptyObject(): Schema {
  return { type: 'object', properties: {} };
}

/** Where a schema stands: how deep, and which references led to it. */
interface Place {
  depth: number;
  refs: readonly string[];
}

/** A converted schema; `nullable`: it may also be null. */
interface Converted {
  schema: Schema;
  nullable: boolean;
}

/** Keywords that are read, or say nothing about values. */
const QUIET = new Set(
  '$schema $id $anchor $comment $defs definitions $ref allOf anyOf oneOf type nullable const enum title description default examples example deprecated readOnly writeOnly properties required additionalProperties items prefixItems additionalItems minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems minLength maxLength'.split(
    ' ',
  ),
);

/** One conversion. */
class Build {
  readonly losses = new Set<string>();
  readonly #original: Schema;
  readonly #maxDepth: number;
  readonly #reduced: boolean;
  #nodes = 0;

  constructor(original: Schema, maxDepth: number, reduced: boolean) {
    this.#original = original;
    this.#maxDepth = maxDepth;
    this.#reduced = reduced;
  }

  /** The arguments themselves: always an object with properties. */
  root(): Schema {
    const flat = this.#flatten(this.#original, { depth: 0, refs: [] });
    const branches = this.#branchesOf(flat);
    if (branches === undefined) return { ...emptyObject(), ...this.#object(flat) };
    const objects = branches
      .map((branch) => this.#flatten(branch, flat))
      .filter(
        (branch) => typesOf(branch.raw).types.includes('object') || isJsonObject(branch.raw['properties']),
      );
    return objects.length === 0 ? emptyObject() : this.#oneOfObjects(objects.map((one) => this.#object(one)));
  }

  #flatten(schema: unknown, place: Place): Flat {
    const flat = flattened(schema, place, (reference) => referredTo(this.#original, reference));
    if (flat.isCut) this.losses.add('recursive or unknown references');
    for (const keyword of Object.keys(flat.raw)) if (!QUIET.has(keyword)) this.losses.add(`"${keyword}"`);
    return flat;
  }

  #convert(input: unknown, { depth, refs }: Place): Converted {
    this.#nodes += 1;
    if (depth > this.#maxDepth || this.#nodes > MAX_NODES) {
      this.losses.add('what is nested deeper');
      return { schema: this.#any(input), nullable: false };
    }
    const flat = this.#flatten(input, { depth, refs });
    const { description } = flat.raw;
    const { schema, nullable } = this.#kind(flat);
    if (isAny(schema)) return { schema: this.#any(flat.raw), nullable: false };
    const initial = flat.raw['default'];
    return {
      schema: {
        ...(typeof description === 'string' && description !== '' && { description }),
        ...schema,
        ...(!this.#reduced &&
          ['string', 'number', 'boolean'].includes(typeof initial) && { default: initial }),
      },
      nullable,
    };
  }

  /** Any value. A schema with nothing in it is an object for llama.cpp, one with a description is any value. */
  #any(schema: unknown): Schema {
    const text = isJsonObject(schema) ? schema['description'] : undefined;
    const description = typeof text === 'string' && text !== '' ? text : ANY.description;
    return this.#reduced ? { type: 'string', description } : { description };
  }

  #kind(flat: Flat): Converted {
    const { raw } = flat;
    const { types, nullable } = typesOf(raw);
    const choices = choicesOf(raw);
    if (choices !== undefined) return this.#choice(choices, types, nullable);
    const branches = this.#branchesOf(flat);
    if (branches !== undefined) {
      return this.#union(
        branches.map((branch) => this.#convert(branch, { depth: flat.depth + 1, refs: flat.refs })),
        nullable,
      );
    }
    const [type, ...others] = types;
    if (others.length > 0) {
      const each = types.map((one) => this.#typed(one, flat));
      return this.#union(
        each.map((schema) => ({ schema, nullable: false })),
        nullable,
      );
    }
    if (type === undefined) return { schema: nullable ? { type: 'null' } : ANY, nullable };
    return { schema: this.#typed(type, flat), nullable };
  }

  #choice(choices: readonly unknown[], types: readonly string[], mayBeNull: boolean): Converted {
    const values = choices.filter((value) => value !== null);
    const nullable = mayBeNull || values.length < choices.length;
    if (values.length === 0) return { schema: { type: 'null' }, nullable: true };
    const [type, ...others] = [
      ...new Set(values.map((value) => (Array.isArray(value) ? 'array' : typeof value))),
    ];
    const one = others.length === 0 && type !== 'object' && type !== 'array' ? type : undefined;
    const typeName = one === 'number' && types.includes('integer') ? 'integer' : one;
    if (this.#reduced && one !== 'string')
      return { schema: typeName === undefined ? ANY : { type: typeName }, nullable };
    return { schema: { ...(typeName !== undefined && { type: typeName }), enum: values }, nullable };
  }

  #union(members: readonly Converted[], mayBeNull: boolean): Converted {
    const schemas = members.map(({ schema }) => schema).filter(({ type }) => type !== 'null');
    const nullable = mayBeNull || members.some((one) => one.nullable || one.schema['type'] === 'null');
    if (schemas.length === 0) return { schema: { type: 'null' }, nullable: true };
    return { schema: this.#reduced ? this.#common(schemas) : union(schemas), nullable };
  }

  /** What reduced schemas of alternatives have in common. */
  #common(schemas: readonly Schema[]): Schema {
    const one = union(schemas);
    if (!Array.isArray(one['anyOf'])) return one;
    if (schemas.every(({ type }) => type === 'object')) return this.#oneOfObjects(schemas);
    const [first, ...others] = new Set(schemas.map(({ type }) => type));
    return others.length === 0 && typeof first === 'string' && first !== 'array' ? { type: first } : ANY;
  }

  #typed(type: string, flat: Flat): Schema {
    switch (type) {
      case 'object':
        return this.#object(flat);
      case 'array':
        return this.#array(flat);
      case 'string':
        return {
          type,
          ...this.#limits(flat, ['minLength', 'maxLength'], (n) => n >= 0 && n <= MAX_COUNTED_CHARS),
        };
      case 'integer':
      case 'number':
        return {
          type,
          ...this.#limits(flat, ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'], (n) =>
            type === 'number' ? Number.isFinite(n) : Number.isSafeInteger(n),
          ),
        };
      default:
        return { type };
    }
  }

  /** The limits that are numbers a grammar can count. */
  #limits({ raw }: Flat, names: readonly string[], fits: (limit: number) => boolean): Schema {
    if (this.#reduced) return {};
    const limits = names.filter((name) => typeof raw[name] === 'number' && fits(raw[name]));
    if (names.some((name) => raw[name] !== undefined && !limits.includes(name))) this.losses.add('limits');
    return Object.fromEntries(limits.map((name) => [name, raw[name]]));
  }

  #object(flat: Flat): Schema {
    const { raw } = flat;
    const inner = { depth: flat.depth + 1, refs: flat.refs };
    const fields = isJsonObject(raw['properties']) ? raw['properties'] : undefined;
    const names = Object.keys(fields ?? {}).filter((name) => fields?.[name] !== false);
    const required = listOf(raw['required']).filter(
      (name) => typeof name === 'string' && names.includes(name),
    );
    const properties = names.map((name): [string, Schema] => {
      const { schema, nullable } = this.#convert(fields?.[name], inner);
      return [name, nullable && required.includes(name) ? this.#withNull(schema) : schema];
    });
    const others = this.#reduced ? undefined : this.#others(raw, inner);
    return {
      type: 'object',
      ...(fields !== undefined && { properties: Object.fromEntries(properties) }),
      ...(required.length > 0 && { required }),
      ...(others !== undefined && { additionalProperties: others }),
    };
  }

  /** Whether there may be other properties, and of which kind; undefined for whatever is usual. */
  #others(raw: Schema, place: Place): unknown {
    const { additionalProperties: others } = raw;
    if (isJsonObject(raw['patternProperties']) || others === undefined) return undefined;
    if (!isJsonObject(others)) return others !== false;
    const { schema, nullable } = this.#convert(others, place);
    return isAny(schema) ? true : nullable ? this.#withNull(schema) : schema;
  }

  #array(flat: Flat): Schema {
    const limits = this.#limits(flat, ['minItems', 'maxItems'], (n) => n >= 0 && n <= MAX_COUNTED_ITEMS);
    const inner = { depth: flat.depth + 1, refs: flat.refs };
    const items = itemsOf(flat.raw).map((item) => this.#convert(item, inner));
    const { schema, nullable } = this.#union(
      items.length === 0 ? [{ schema: this.#any(undefined), nullable: false }] : items,
      false,
    );
    return {
      type: 'array',
      items: nullable ? this.#withNull(this.#anyNamed(schema)) : this.#anyNamed(schema),
      ...limits,
    };
  }

  #anyNamed(schema: Schema): Schema {
    return isAny(schema) ? this.#any(schema) : schema;
  }

  #withNull(schema: Schema): Schema {
    return this.#reduced ? schema : withNull(schema);
  }

  #branchesOf({ raw }: Flat): Schema[] | undefined {
    const branches = branchesOf(raw);
    if (branches !== 'conditions') return branches;
    this.losses.add(branches);
    return undefined;
  }

  #oneOfObjects(objects: readonly Schema[]): Schema {
    return unionOfObjects(objects, (schemas, isFree) => {
      const merged = this.#reduced ? this.#common(schemas) : union(schemas);
      return isFree && !this.#reduced ? this.#any(schemas[0]) : this.#anyNamed(merged);
    });
  }
}
