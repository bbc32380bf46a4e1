/** What is wrong with a value, in plain words. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { describeIssues } from '../../../src/agent/tools/conform.ts';

const schema = z.strictObject({
  path: z.string().max(3),
  depth: z.int().min(1).optional(),
  kind: z.enum(['file', 'folder']).optional(),
  names: z.array(z.string()).min(1).optional(),
  odd: z
    .number()
    .refine((value) => value % 2 === 1, 'must be odd')
    .optional(),
});

it.each([
  [{}, '- path is missing (string)'],
  [{ path: 7 }, '- path must be of type string'],
  [{ path: 'long' }, '- path must be at most 3 characters long'],
  [{ path: 'a', depth: 0 }, '- depth must be at least 1'],
  [{ path: 'a', kind: 'x' }, '- kind must be "file" or "folder"'],
  [{ path: 'a', names: [] }, '- names must be at least 1 items long'],
  [{ path: 'a', odd: 2 }, '- odd is refused: must be odd'],
  [{ path: 'a', more: 1 }, '- the value has unknown fields: more'],
  [7, '- the value must be of type object'],
])('describes %j: %s', (value, told) => {
  const { error } = schema.safeParse(value);
  expect(error && describeIssues(error)).toBe(told);
});

it('reports the first issues of many, and how many there are', () => {
  const { error } = z.array(z.string()).safeParse(Array.from({ length: 20 }, () => 7));
  const lines = (error && describeIssues(error))?.split('\n') ?? [];
  expect(lines).toHaveLength(9);
  expect(lines.at(-1)).toBe('- and 12 more');
});
