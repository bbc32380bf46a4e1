/** The check of JSON values against a JSON Schema: the same verdicts as another checker, in limited time. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  checkSchema,
  MAX_SCHEMA_DEPTH,
  MAX_SCHEMA_WORK,
  schemaProblem,
} from '../../../src/lib/json/json-schema.ts';

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

  it('end when they refer to themselves', () => {
    const endless = { $ref: '#' };
    expect(schemaProblem(endless, 1)).toContain(`${MAX_SCHEMA_DEPTH} levels`);
  });

  const refs = (to: string, count: number) => ({
    anyOf: Array.from({ length: count }, () => ({ $ref: `#/$defs/${to}` })),
  });
  const words = (count: number) => Array.from({ length: count }, (_, index) => `w${index}`);
  const numbers = (count: number) => Array.from({ length: count }, (_, index) => index % 10);

  it.each([
    [
      'an enum below three levels of ten references',
      { ...refs('b', 10), $defs: { b: refs('a', 10), a: refs('e', 10), e: { enum: words(500) } } },
      'x',
    ],
    ['a long enum, 1,500 times', { ...refs('e', 1_500), $defs: { e: { enum: words(10_000) } } }, 'x'],
    [
      'a long text, 2,000 times',
      { ...refs('e', 2_000), $defs: { e: { minLength: 300_000 } } },
      'é'.repeat(130_000),
    ],
    ['lengths of a long text', { anyOf: words(20_000).map(() => ({ maxLength: 3 })) }, 'y'.repeat(250_000)],
    ['enums of a long text', { anyOf: words(30_000).map(() => ({ enum: ['a'] })) }, 'y'.repeat(250_000)],
    ['the longest enum for every item', { items: { enum: words(98_000) } }, numbers(120_000)],
    [
      'lists in an enum',
      { items: { enum: numbers(90_000).map((n) => [[n]]) } },
      numbers(20_000).map(() => [[-1]]),
    ],
    ['types for every item', { items: { type: words(98_000) } }, numbers(120_000)],
    [
      'required fields',
      { items: { required: words(98_000).map(() => 'a') } },
      numbers(20_000).map(() => ({ a: 1 })),
    ],
    ['a long reference', { $ref: `#${'/a'.repeat(400_000)}` }, 1],
  ])('cost limited work: %s', (_what, schema, value) => {
    const startedAt = process.cpuUsage();
    const { problem, work } = checkSchema(schema, value);
    expect(problem).toBeDefined();
    expect(work).toBeLessThan(MAX_SCHEMA_WORK * 2);
    // 50 ms on a quiet machine, ten times as long on the busiest.
    expect(process.cpuUsage(startedAt).user / 1_000).toBeLessThan(500);
  });

  it('are followed once for each value, so doubling references cost no more than their number', () => {
    const defs = words(40).map((name, index) => [
      name,
      index === 39 ? { type: 'string' } : { allOf: [...refs(`w${index + 1}`, 2).anyOf] },
    ]);
    const { problem, work } = checkSchema({ $ref: '#/$defs/w0', $defs: Object.fromEntries(defs) }, 1);
    expect(problem).toBe('it must be of type string');
    expect(work).toBeLessThan(10_000);
  });

  it('are checked up to the last unit of work, and no further', () => {
    const listOf = (count: number) => checkSchema({ items: { type: 'number' } }, numbers(count));
    const each = listOf(2).work - listOf(1).work;
    const most = Math.floor((MAX_SCHEMA_WORK - listOf(0).work) / each);
    expect(listOf(most).problem).toBeUndefined();
    expect(listOf(most + 1).problem).toBe(
      'the schema cannot be followed: more than 2000000 units of work for this answer',
    );
  });

  it('cost limited work, whatever they are and whatever is checked', () => {
    const keyword = fc.constantFrom('allOf', 'anyOf', 'oneOf');
    const { schema } = fc.letrec<{ schema: Record<string, unknown> }>((tie) => ({
      schema: fc.oneof(
        { depthSize: 'medium' },
        fc.nat(4).map((n) => ({ $ref: `#/$defs/${n}` })),
        fc.integer({ min: 1, max: 20_000 }).map((count) => ({ enum: words(count), minLength: count })),
        tie('schema').map((items) => ({ items, additionalProperties: items })),
        fc.tuple(keyword, fc.nat(300), tie('schema')).map(([name, count, one]) => ({
          [name]: Array.from({ length: count }, () => one),
        })),
        fc.tuple(tie('schema'), tie('schema')).map(([a, not]) => ({ properties: { a }, not })),
      ),
    }));
    const value = fc
      .tuple(fc.nat(20_000), fc.constantFrom('text', 'list', 'objects'))
      .map(([count, kind]) => {
        if (kind === 'text') return 'x'.repeat(count * 10);
        return kind === 'list' ? numbers(count) : numbers(count).map((a) => ({ a }));
      });
    fc.assert(
      fc.property(fc.array(schema, { minLength: 5, maxLength: 5 }), value, ($defs, given) => {
        const startedAt = process.cpuUsage();
        const { work } = checkSchema({ $ref: '#/$defs/0', $defs }, given);
        expect(work).toBeLessThan(MAX_SCHEMA_WORK * 2);
        expect(process.cpuUsage(startedAt).user / 1_000).toBeLessThan(500);
      }),
      { numRuns: 200 },
    );
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
