/** Values brought into the types of a schema, where nothing is lost. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { conform, MAX_CONFORM_STEPS } from '../../../src/agent/tools/conform.ts';

const schema = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    limit: { type: 'integer' },
    ratio: { type: ['number', 'null'] },
    deep: { type: 'boolean', default: false },
    tags: { type: 'array', items: { type: 'integer' } },
    range: { $ref: '#/$defs/range' },
    either: { anyOf: [{ type: 'string' }, { type: 'number' }] },
    count: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
    level: { enum: [1, 2, 3] },
    any: {},
  },
  required: ['name'],
  $defs: { range: { type: 'object', properties: { from: { type: 'number' }, to: { type: 'number' } } } },
};

describe('arguments of a call', () => {
  it.each([
    ['null of an optional property', { name: 'a', limit: null, tags: null }, { name: 'a' }],
    [
      'null where it is allowed',
      { ratio: null, count: null, any: null },
      { ratio: null, count: null, any: null },
    ],
    ['null of a required property', { name: null }, { name: null }],
    ['null of an unknown property', { other: null }, { other: null }],
    ['a number as text', { limit: '5', ratio: '-0.25' }, { limit: 5, ratio: -0.25 }],
    ['a number as text in a union', { count: '7', level: '2' }, { count: 7, level: 2 }],
    ['a boolean as text', { deep: 'True' }, { deep: true }],
    ['a list as text', { tags: '["1", 2]' }, { tags: [1, 2] }],
    ['an object as text, behind a reference', { range: '{"from": "1"}' }, { range: { from: 1 } }],
    ['null within an object', { range: { from: 1, to: null } }, { range: { from: 1 } }],
  ])('%s', (_what, given, wanted) => {
    expect(conform(given, schema)).toEqual(wanted);
  });

  it.each([
    { name: '5' },
    { either: '5' },
    { limit: '5 files' },
    { limit: '5.5' },
    { limit: '007' },
    { limit: '12345678901234567890' },
    { deep: 'yes' },
    { tags: 'a, b' },
    { tags: '[1' },
    { range: '[1]' },
    { name: 5 },
    { any: '{"a": 1}' },
  ])('%j stay as they are, because text is allowed or something would be lost', (given) => {
    expect(conform(given, schema)).toEqual(given);
  });

  it('are not followed into a schema that refers to itself without end', () => {
    const endless = { properties: { a: { $ref: '#/properties/a' } } };
    expect(conform({ a: { b: null } }, endless)).toEqual({ a: { b: null } });
    const tree = { type: 'object', properties: { n: { type: 'number' }, next: { $ref: '#' } } };
    expect(conform({ n: '1', next: { n: '2', next: null } }, tree)).toEqual({ n: 1, next: { n: 2 } });
  });

  it('take limited work, however much references multiply', () => {
    const twice = (name: string) => ({ anyOf: [{ $ref: `#/$defs/${name}` }, { $ref: `#/$defs/${name}` }] });
    const defs = Array.from({ length: 40 }, (_, n) => [`d${n}`, n === 39 ? {} : twice(`d${n + 1}`)]);
    const doubling = { properties: { a: { $ref: '#/$defs/d0' } }, $defs: Object.fromEntries(defs) };
    const startedAt = process.cpuUsage();
    expect(conform({ a: '5', b: null }, doubling)).toEqual({ a: '5', b: null });
    expect(process.cpuUsage(startedAt).user / 1_000).toBeLessThan(1_000);
  });

  it('stay as they are from the last step on', () => {
    const numbers = { properties: { list: { type: 'array', items: { type: 'number' } } } };
    const texts = Array.from({ length: MAX_CONFORM_STEPS + 10 }, () => '1');
    const { list } = z.object({ list: z.array(z.unknown()) }).parse(conform({ list: texts }, numbers));
    expect([list[0], list.at(-1)]).toEqual([1, '1']);
  });
});
