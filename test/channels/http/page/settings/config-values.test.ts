/** The fields of settings: which control each has, its text and its value, and where an error is said. */
import { expect, it } from 'vitest';
import {
  firstEntry,
  problemsByField,
  type Schema,
  settingsIn,
  textOf,
  valueOf,
} from '../../../../../channels/http/page/settings/config-values.ts';
import { inEnglish, textRef } from '../../../../../src/protocol/texts/say.ts';
import { problemAt } from '../../../../../src/protocol/settings.ts';

const schema: Schema = {
  type: 'object',
  properties: {
    $schema: { type: 'string' },
    limits: {
      type: 'object',
      properties: {
        rate: { type: 'integer', default: 10 },
        strict: { type: 'boolean', default: true },
        daily: { type: 'boolean' },
        mode: { type: 'string', enum: ['soft', 'hard'], default: 'soft' },
      },
    },
    persona: { type: 'string', maxLength: 20_000 },
    hosts: { type: 'array', items: { type: 'string' }, default: [] },
    servers: { type: 'object', default: {} },
  },
};
const values = {
  limits: { rate: 20, strict: true, mode: 'soft' },
  hosts: ['a.example', 'b.example'],
  servers: { notes: { headers: { authorization: '(set)' } } },
};
const all = settingsIn({ schema, written: { limits: { rate: 20 } }, values });
const setting = (name: string) => all.find((one) => one.name === name)!;

it('shows each value of the schema in a control of its kind, and hides what may be a secret', () => {
  expect(all.map(({ name, kind }) => `${name}: ${kind}`)).toEqual([
    'limits.rate: number',
    'limits.strict: switch',
    'limits.daily: choice',
    'limits.mode: choice',
    'persona: long',
    'hosts: list',
    'servers: json',
  ]);
  expect(all.filter(({ isHidden }) => isHidden).map(({ name }) => name)).toEqual(['servers']);
  expect(all.filter(({ written }) => written !== undefined).map(({ name }) => name)).toEqual(['limits.rate']);
  expect(settingsIn({ schema, written: {}, values }, ['limits']).map(({ name }) => name)).toHaveLength(4);
  expect(settingsIn({ schema, written: {}, values }, ['nothing'])).toEqual([]);
  expect(settingsIn({ schema: {}, written: {}, values })).toEqual([]);
});

it('reads from the text of a field the value that it showed', () => {
  for (const one of all.filter(({ value }) => value !== undefined))
    expect([one.name, valueOf(one, textOf(one))]).toEqual([one.name, one.value]);
  expect(textOf(setting('limits.daily'))).toBe('');
  expect(valueOf(setting('limits.daily'), 'true')).toBe(true);
  expect(valueOf(setting('hosts'), ' a \n\n b ')).toEqual(['a', 'b']);
  expect(valueOf(setting('servers'), '{')).toBeUndefined();
});

it('says at its field what is wrong, and above the form what belongs to no field', () => {
  const least = textRef('problem.least', { least: 1 });
  const inFile = problemAt('/home/config.json:3:14', problemAt('limits.rate', least));
  const inList = problemAt('/home/config.json:5:2', problemAt('hosts.1', textRef('problem.unknown_field')));
  const elsewhere = problemAt('TELEGRAM_BOT_TOKEN', textRef('problem.detail', { detail: 'must be a token' }));
  const names = all.map(({ name }) => name);
  const found = problemsByField([inFile, inList, elsewhere], names, (text) => inEnglish.text(text));
  expect(found).toEqual({
    'limits.rate': 'must be at least 1',
    hosts: inEnglish('problem.unknown_field'),
    '': 'TELEGRAM_BOT_TOKEN: must be a token',
  });
});

it('begins a record or a list with an entry of what its entries must have', () => {
  const entry: Schema = {
    type: 'object',
    properties: {
      kind: { const: 'openai' },
      url: { type: 'string' },
      tries: { type: 'integer', minimum: 1 },
      mode: { enum: ['soft', 'hard'] },
      note: { type: 'string' },
    },
    required: ['kind', 'url', 'tries', 'mode'],
  };
  const outline = { kind: 'openai', url: '', tries: 1, mode: 'soft' };
  expect(firstEntry({ type: 'object', additionalProperties: entry })).toEqual({ name: outline });
  expect(firstEntry({ type: 'object', additionalProperties: { oneOf: [entry, {}] } })).toEqual({
    name: outline,
  });
  expect(firstEntry({ type: 'array', items: entry })).toEqual([outline]);
});
