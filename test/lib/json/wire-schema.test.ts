/** Schemas of tools for model servers: what servers refuse is gone, and nothing that was allowed is forbidden. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isJsonObject } from '../../../src/lib/json/json.ts';
import { MAX_WIRE_BYTES, wireSchema } from '../../../src/lib/json/wire-schema.ts';
import { serverProblem } from '../../fakes/model/schema-rules.ts';
import { ODD_SCHEMAS } from '../../fixtures/odd-schemas.ts';

type Schema = Record<string, unknown>;

/** The schema of one property `a`. */
const property = (schema: unknown, more: Schema = {}): unknown => {
  const { properties } = wireSchema({ type: 'object', properties: { a: schema }, ...more }).schema;
  return isJsonObject(properties) ? properties['a'] : undefined;
};

describe('a schema for model servers', () => {
  it.each<[string, unknown, unknown]>([
    ['any value, as Rust servers write it', true, { description: 'Any JSON value.' }],
    ['any value with a description', { description: 'What to store.' }, { description: 'What to store.' }],
    [
      'an optional text as pydantic writes it',
      { anyOf: [{ type: 'string' }, { type: 'null' }], default: null, title: 'A' },
      { type: 'string' },
    ],
    [
      'a nullable list of types',
      { type: ['string', 'null'], description: 'x' },
      { description: 'x', type: 'string' },
    ],
    ['two types', { type: ['string', 'number'] }, { anyOf: [{ type: 'string' }, { type: 'number' }] }],
    ['a constant', { const: 'on' }, { type: 'string', enum: ['on'] }],
    [
      'a union of constants',
      { anyOf: [{ const: 'on' }, { const: 'off' }] },
      { type: 'string', enum: ['on', 'off'] },
    ],
    [
      'a pattern and a format',
      { type: 'string', pattern: '^[a-z]', format: 'uri', examples: ['a'] },
      { type: 'string' },
    ],
    ['a long text', { type: 'string', minLength: 1, maxLength: 4_000 }, { type: 'string', minLength: 1 }],
    ['a list of anything', { type: 'array' }, { type: 'array', items: { description: 'Any JSON value.' } }],
    [
      'a pair',
      { type: 'array', prefixItems: [{ type: 'number' }, { type: 'string' }], minItems: 2, maxItems: 2 },
      { type: 'array', items: { anyOf: [{ type: 'number' }, { type: 'string' }] }, minItems: 2, maxItems: 2 },
    ],
    [
      'an intersection',
      { allOf: [{ type: 'object', properties: { b: { type: 'number' } } }, { required: ['b'] }] },
      { type: 'object', properties: { b: { type: 'number' } }, required: ['b'] },
    ],
    ['an unknown type', { type: 'any', description: 'x' }, { description: 'x' }],
    ['no choice', { type: 'string', enum: [] }, { type: 'string' }],
    ['nothing but null', { type: 'null' }, { type: 'null' }],
  ])('has %s as servers read it', (_what, given, wanted) => {
    expect(property(given)).toEqual(wanted);
  });

  it('keeps null where the field must be there', () => {
    expect(property({ type: ['string', 'null'], description: 'x' }, { required: ['a'] })).toEqual({
      description: 'x',
      anyOf: [{ type: 'string' }, { type: 'null' }],
    });
  });

  it('keeps the names of properties, whatever they are', () => {
    const properties = {
      $ref: { type: 'string' },
      title: { type: 'string' },
      pattern: { type: 'number' },
      type: { type: 'string' },
    };
    expect(wireSchema({ type: 'object', properties }).schema).toEqual({ type: 'object', properties });
  });

  it('has references in place, and cuts those that lead to themselves', () => {
    const node = {
      type: 'object',
      properties: { next: { $ref: '#/$defs/node' }, at: { $ref: '#/$defs/at' } },
    };
    const at = { type: 'string', description: 'Where.' };
    const { schema, losses } = wireSchema({
      type: 'object',
      properties: { first: { $ref: '#/$defs/node', description: 'The first.' } },
      $defs: { node, at },
    });
    expect(schema).toEqual({
      type: 'object',
      properties: {
        first: {
          description: 'The first.',
          type: 'object',
          properties: { next: { description: 'Any JSON value.' }, at },
        },
      },
    });
    expect(losses).toEqual(['recursive or unknown references']);
  });

  it('is one object also where the original has alternatives at its top', () => {
    const add = z.strictObject({ action: z.literal('add'), text: z.string() });
    const drop = z.strictObject({ action: z.literal('drop'), id: z.number().optional() });
    const { schema } = wireSchema(z.toJSONSchema(z.discriminatedUnion('action', [add, drop])));
    expect(schema).toEqual({
      type: 'object',
      properties: {
        action: { type: 'string', enum: ['add', 'drop'] },
        text: { type: 'string' },
        id: { type: 'number' },
      },
      required: ['action'],
      additionalProperties: false,
    });
  });

  it('in its reduced form has types, fields and choices only', () => {
    const { schema } = wireSchema(
      {
        type: 'object',
        properties: {
          any: true,
          mode: { enum: ['a', 'b'], description: 'How.' },
          level: { type: 'integer', enum: [1, 2], minimum: 1 },
          either: { anyOf: [{ type: 'string' }, { type: 'array', items: {} }] },
          list: { type: 'array', items: { type: ['string', 'null'] }, maxItems: 3 },
        },
        required: ['mode'],
        additionalProperties: false,
      },
      { reduced: true },
    );
    expect(schema).toEqual({
      type: 'object',
      properties: {
        any: { type: 'string', description: 'Any JSON value.' },
        mode: { description: 'How.', type: 'string', enum: ['a', 'b'] },
        level: { type: 'integer' },
        either: { type: 'string', description: 'Any JSON value.' },
        list: { type: 'array', items: { type: 'string' } },
      },
      required: ['mode'],
    });
  });

  it('is bounded, however often references multiply it', () => {
    const $defs: Schema = { l0: { type: 'string', description: 'x'.repeat(200) } };
    for (let n = 1; n < 12; n += 1) {
      const half = { $ref: `#/$defs/l${n - 1}` };
      $defs[`l${n}`] = { type: 'object', properties: { a: half, b: half, c: half } };
    }
    const { schema, losses } = wireSchema({
      type: 'object',
      properties: { top: { $ref: '#/$defs/l11' } },
      $defs,
    });
    expect(Buffer.byteLength(JSON.stringify(schema))).toBeLessThanOrEqual(MAX_WIRE_BYTES);
    expect(losses).toContain('what is nested deeper');
    expect(serverProblem(schema)).toBeUndefined();
  });

  it.each(Object.entries(ODD_SCHEMAS))('is accepted by Ollama and llama.cpp: %s', (_name, original) => {
    for (const reduced of [false, true])
      expect(serverProblem(wireSchema(original, { reduced }).schema)).toBeUndefined();
  });

  it('is accepted whatever the original is', () => {
    fc.assert(
      fc.property(fc.oneof(schemas, anything), fc.boolean(), (original, reduced) => {
        expect(serverProblem(wireSchema(original, { reduced }).schema)).toBeUndefined();
      }),
      { numRuns: 600 },
    );
  });

  it('accepts every value that the original accepts, but for nulls that may be absent', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });
    let accepted = 0;
    fc.assert(
      fc.property(schemas, fc.array(values, { minLength: 60, maxLength: 60 }), (original, candidates) => {
        const isValid = ajv.compile(original);
        const wired = ajv.compile(wireSchema(original).schema);
        for (const value of candidates) {
          if (!isValid(value)) continue;
          accepted += 1;
          expect(wired(value), `${JSON.stringify(value)}: ${JSON.stringify(wired.errors)}`).toBe(true);
        }
      }),
      { numRuns: 150 },
    );
    expect(accepted).toBeGreaterThan(500);
  });
});

const NAMES = ['a', 'b', 'c'];
const names = fc.constantFrom(...NAMES);

/** Schemas of values without null in optional places: what such a value says can also be said by leaving it out. */
const { schema: part } = fc.letrec<{ schema: unknown }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom<unknown>(
      true,
      {},
      { type: 'string', pattern: '^[ab]', format: 'x' },
      { type: 'string', maxLength: 1 },
      { type: 'integer', minimum: 0 },
      { type: 'number', exclusiveMaximum: 3.5 },
      { type: 'boolean' },
      { const: 1 },
      { enum: ['a', 2, null] },
      { type: ['string', 'integer', 'null'] },
      { $ref: '#/$defs/a' },
      { $ref: '#/$defs/b' },
    ),
    fc.record(
      { type: fc.constant('array'), items: tie('schema'), maxItems: fc.constantFrom(2, 100) },
      { requiredKeys: ['type'] },
    ),
    fc.record(
      {
        type: fc.constant('array'),
        prefixItems: fc.tuple(tie('schema'), tie('schema')),
        items: fc.constantFrom<unknown>(false, true, { type: 'string' }),
      },
      { requiredKeys: ['type', 'prefixItems'] },
    ),
    objectOf(tie('schema')),
    fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
  ),
}));

function objectOf(inner: fc.Arbitrary<unknown>): fc.Arbitrary<Schema> {
  return fc.record(
    {
      type: fc.constant('object'),
      properties: fc.dictionary(names, inner),
      required: fc.uniqueArray(names, { maxLength: 1 }),
      additionalProperties: fc.oneof(fc.boolean(), inner),
      patternProperties: fc.constant({ '^c': true }),
      anyOf: fc.constant([{ required: ['a'] }, { required: ['b'] }]),
      description: fc.constant('An object.'),
    },
    { requiredKeys: ['type'] },
  );
}

const schemas: fc.Arbitrary<Schema> = fc.tuple(objectOf(part), part, part).map(([root, a, b]) => ({
  ...root,
  $defs: { a: cut(a), b: { type: 'object', properties: { a: cut(b), next: { $ref: '#/$defs/b' } } } },
}));

/** Ajv follows no circle of references without a value between them. */
function cut(schema: unknown): unknown {
  return JSON.stringify(schema).includes('$ref') ? { type: 'string' } : schema;
}

/** What people write into schemas by mistake. */
const anything: fc.Arbitrary<Schema> = fc.dictionary(
  fc.constantFrom(
    'type',
    'properties',
    'items',
    'anyOf',
    'allOf',
    'oneOf',
    'enum',
    '$ref',
    'required',
    'description',
    'additionalProperties',
    'minimum',
    '$defs',
    'default',
  ),
  fc.jsonValue({ maxDepth: 3 }).filter((value): value is NonNullable<typeof value> => value !== undefined),
);

const values: fc.Arbitrary<unknown> = fc
  .letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom<unknown>('a', 'b1', '', 0, 1, 2, -1, 3.4, true, {}, []),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...NAMES, 'next', 'd'), tie('value'), { maxKeys: 3 }),
    ),
  }))
  .value.filter(isJsonObject);
