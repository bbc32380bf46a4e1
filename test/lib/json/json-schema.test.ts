/** The check of JSON values against a JSON Schema: the same verdicts as another checker, in limited time. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { MAX_SCHEMA_DEPTH, MAX_SCHEMA_STEPS, schemaProblem } from '../../../src/lib/json/json-schema.ts';

describe('a value and its schema', () => {
  const person = {
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 1 },
      age: { type: ['integer', 'null'], minimum: 0 },
      tags: { type: 'array', items: { enum: ['a', 'b'] }, maxItems: 2 },
      friend: { anyOf: [{ $ref: '#' }, { type: 'null' }] },
    },
    required: ['name', 'friend'],
    additionalProperties: false,
  };

  it.each([
    [{ name: 'x', friend: null }, undefined],
    [{ name: 'x', age: 3, tags: ['a', 'b'], friend: { name: 'y', friend: null } }, undefined],
    [[], 'it must be of type object'],
    [{ friend: null }, '/name is missing'],
    [{ name: '', friend: null }, '/name must have a length of at least 1'],
    [{ name: 'x', age: 1.5, friend: null }, '/age must be of type integer or null'],
    [{ name: 'x', age: -1, friend: null }, '/age must be at least 0'],
    [{ name: 'x', tags: ['a', 'c'], friend: null }, '/tags/1 must be one of ["a","b"]'],
    [{ name: 'x', tags: ['a', 'a', 'a'], friend: null }, '/tags must have a length of at most 2'],
    [{ name: 'x', friend: { name: 1, friend: null } }, '/friend matches none of the alternatives'],
    [{ name: 'x', friend: null, more: 1 }, '/more is not allowed'],
  ])('%j: %s', (value, problem) => {
    expect(schemaProblem(person, value)).toBe(problem);
  });

  it.each([
    [{ const: { a: [1] } }, { a: [1] }, undefined],
    [{ const: { a: [1] } }, { a: [2] }, 'it must be {"a":[1]}'],
    [
      { oneOf: [{ type: 'number' }, { type: 'integer' }] },
      1,
      'it must match exactly one of the alternatives',
    ],
    [{ allOf: [{ type: 'number' }, { maximum: 3 }] }, 4, 'it must be at most 3'],
    [{ not: { type: 'string' } }, 'x', 'it matches what is excluded'],
    [{ prefixItems: [{ type: 'string' }], items: false }, ['x', 1], '/1 is not allowed'],
    [{ multipleOf: 0.1 }, 0.3, undefined],
    [{ exclusiveMinimum: 1 }, 1, 'it must be more than 1'],
    [{ $ref: '#/$defs/a~1b', $defs: { 'a/b': { type: 'string' } } }, 1, 'it must be of type string'],
    [{ type: 'object', properties: {} }, JSON.parse('{"__proto__": 1}'), undefined],
  ])('%j and %j: %s', (schema, value, problem) => {
    expect(schemaProblem(schema, value)).toBe(problem);
  });

  it('counts characters, not surrogate halves', () => {
    expect(schemaProblem({ maxLength: 1 }, '👩')).toBeUndefined();
  });
});

describe('external schemas', () => {
  it('are refused when they cannot be followed', () => {
    expect(schemaProblem({ $ref: 'https://example.org/x' }, 1)).toMatch(/cannot be followed.*outside/);
    expect(schemaProblem({ $ref: '#/$defs/x' }, 1)).toMatch(/leads nowhere/);
    expect(schemaProblem({ $ref: '#/__proto__/constructor' }, 1)).toMatch(/leads nowhere/);
  });

  it('end within limits, however much they multiply', () => {
    const endless = { $ref: '#' };
    expect(schemaProblem(endless, 1)).toContain(`${MAX_SCHEMA_DEPTH} levels`);
    const names = Array.from({ length: 40 }, (_, index) => `d${index}`);
    const twice = (name: string) => ({ allOf: [{ $ref: `#/$defs/${name}` }, { $ref: `#/$defs/${name}` }] });
    const defs = names.map((name, index) => [name, index === 39 ? true : twice(names[index + 1] ?? '')]);
    const startedAt = process.cpuUsage();
    expect(schemaProblem({ $ref: '#/$defs/d0', $defs: Object.fromEntries(defs) }, 1)).toContain(
      `${MAX_SCHEMA_STEPS} steps`,
    );
    expect(process.cpuUsage(startedAt).user / 1_000).toBeLessThan(1_000);
  });

  it('cannot run a pattern: an external regular expression could take forever', () => {
    expect(schemaProblem({ type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(40)}!`)).toBeUndefined();
  });

  it('give the same verdicts as zod, for any schema and any value', () => {
    const leaf = fc.constantFrom<Record<string, unknown>>(
      { type: 'string' },
      { type: 'integer' },
      { type: 'null' },
      { type: 'boolean' },
      { type: 'number', minimum: 0 },
      { enum: ['a', 'b'] },
      { type: 'string', maxLength: 2 },
    );
    const { schema } = fc.letrec<{ schema: Record<string, unknown> }>((tie) => ({
      schema: fc.oneof(
        { depthSize: 'small' },
        leaf,
        tie('schema').map((items) => ({ type: 'array', items })),
        fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
        fc.tuple(tie('schema'), tie('schema'), fc.boolean()).map(([a, b, open]) => ({
          type: 'object',
          properties: { a, b },
          required: ['a'],
          ...(!open && { additionalProperties: false }),
        })),
      ),
    }));
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom(null, true, 0, -1, 1.5, 'a', 'b', 'long'),
        fc.array(tie('value'), { maxLength: 2 }),
        fc.record({ a: tie('value'), b: tie('value'), c: tie('value') }, { requiredKeys: [] }),
      ),
    }));
    fc.assert(
      fc.property(schema, value, (one, given) => {
        const other = z.fromJSONSchema(one).safeParse(given).success;
        expect(schemaProblem(one, given) === undefined).toBe(other);
      }),
      { numRuns: 2_000 },
    );
  });
});
