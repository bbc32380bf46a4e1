/** Requests that cost a route as much as possible: what its record allows, filled to its limits in ways chosen by a seed. */
import { z } from 'zod';
import type { Route } from '../../../channels/http/route.ts';

/** The parts of a route from which its requests are made. */
export type TriedRoute = Pick<Route, 'method' | 'path' | 'body' | 'query'>;

/** A repeatable random whole number from 0 up to `below`. */
export type Choose = (below: number) => number;

/** Texts that parsers, renderers, searches and patterns find hard: each is repeated. */
const FILLINGS = [
  'x',
  'word ',
  'é',
  '"',
  '\\',
  '\n',
  '*_',
  '[',
  '](',
  '`',
  '<b',
  '&',
  '👩‍👩‍👧 ',
  '\u200b',
  ' ',
  '\t|',
  '$',
  'http://a.b/',
  '{"a":',
  '-',
  '1,',
  '%2e',
  '@a ',
  "'",
];

/** The parts of a JSON schema that say how much a value may hold. */
interface Node {
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Node[];
  oneOf?: Node[];
  allOf?: Node[];
  items?: Node | boolean;
  prefixItems?: Node[];
  properties?: Record<string, Node>;
  required?: string[];
  additionalProperties?: Node | boolean;
  maxLength?: number;
  minLength?: number;
  maxItems?: number;
  minItems?: number;
  minimum?: number;
  maximum?: number;
}

/** A whole body of the routes that do most: without one, a filled body is mostly refused for its other fields. */
export const USUAL: Readonly<Record<string, object>> = {
  '/v1/sessions/:key/messages': { content: 'hello' },
  '/v1/chat/completions': { model: 'default', messages: [{ role: 'user', content: 'hello' }] },
  '/v1/responses': { model: 'default', input: 'hello' },
  '/v1/completions': { model: 'default', prompt: 'hello' },
  '/v1/embeddings': { model: 'fake', input: 'hello' },
  '/api/chat': { model: 'default', stream: false, messages: [{ role: 'user', content: 'hello' }] },
  '/api/generate': { model: 'default', stream: false, prompt: 'hello' },
  '/api/embed': { model: 'fake', input: 'hello' },
  '/v1/sessions/:key/plans': { request: 'paint it' },
  '/v1/sessions/delete': { keys: ['http:s9'] },
  '/v1/tokens': { name: 'one', scopes: ['chat'] },
  '/v1/sessions/:key': { title: 'one' },
};

/** Makes one body for a route, of about `bytes`; undefined when it reads none. */
export function costlyBody(route: TriedRoute, bytes: number, choose: Choose): unknown {
  if (route.body === undefined) return undefined;
  const schema: Node = JSON.parse(
    JSON.stringify(z.toJSONSchema(route.body, { io: 'input', unrepresentable: 'any' })),
  );
  const usual = USUAL[route.path];
  const names = Object.keys(schema.properties ?? {});
  if (usual === undefined || names.length === 0 || choose(6) === 0) return fill(schema, bytes, choose, 0);
  // Its own fields are the ones that are worked on most.
  const own = Object.keys(usual);
  const hot = choose(2) === 0 ? own[choose(own.length)] : names[choose(names.length)];
  if (hot === 'messages') return { ...usual, messages: dialogue(bytes, choose) };
  if (hot === 'response_format' || hot === 'format' || hot === 'text')
    return { ...usual, ...answerFormat(hot, bytes, choose) };
  return { ...usual, [hot ?? '']: fill(schema.properties?.[hot ?? ''] ?? {}, bytes, choose, 0) };
}

/** One long message, or many short ones. */
function dialogue(bytes: number, choose: Choose): object[] {
  const count = [1, 50, 3_000][choose(3)] ?? 1;
  return Array.from({ length: count }, (_, n) => ({
    role: n % 2 === 0 || n === count - 1 ? 'user' : 'assistant',
    content: textOf({}, Math.floor(bytes / count / 1.5), choose),
  }));
}

/** A schema whose parts refer to each other, with long lists of values, in the place where that API has it. */
function answerFormat(field: string, bytes: number, choose: Choose): object {
  const values = Array.from({ length: Math.min(20_000, Math.floor(bytes / 20)) }, (_, n) => `value ${n}`);
  const links = (to: string): object => ({
    anyOf: Array.from({ length: 1 + choose(30) }, () => ({ $ref: `#/$defs/${to}` })),
  });
  const schema = {
    $ref: '#/$defs/a',
    $defs: { a: links('b'), b: links('c'), c: links('d'), d: { enum: values } },
  };
  if (field === 'format') return { format: schema };
  if (field === 'text') return { text: { format: { type: 'json_schema', name: 'one', schema } } };
  return { response_format: { type: 'json_schema', json_schema: { name: 'one', schema } } };
}

function fill(node: Node, bytes: number, choose: Choose, depth: number): unknown {
  if (node.const !== undefined) return node.const;
  if (node.enum !== undefined) return node.enum[choose(node.enum.length)];
  const kinds = node.anyOf ?? node.oneOf;
  if (kinds !== undefined) return fill(kinds[choose(kinds.length)] ?? {}, bytes, choose, depth);
  const type = Array.isArray(node.type) ? node.type[choose(node.type.length)] : node.type;
  if (type === 'string') return textOf(node, bytes, choose);
  if (type === 'integer' || type === 'number')
    return choose(2) === 0 ? Math.min(node.maximum ?? 1e9, 1e9) : Math.max(node.minimum ?? 0, 0);
  if (type === 'boolean') return choose(2) === 0;
  if (type === 'null') return null;
  if (type === 'array') return listOf(node, bytes, choose, depth);
  if (type === 'object') return objectOf(node, bytes, choose, depth);
  return anything(bytes, choose);
}

function textOf({ maxLength = Infinity, minLength = 0 }: Node, bytes: number, choose: Choose): string {
  const filling = FILLINGS[choose(FILLINGS.length)] ?? 'x';
  const length = Math.max(minLength, Math.min(maxLength, Math.floor(bytes / Buffer.byteLength(filling))));
  return filling
    .repeat(Math.ceil(length / filling.length))
    .slice(0, length)
    .toWellFormed();
}

/** Many small values, or few large ones. */
function listOf(node: Node, bytes: number, choose: Choose, depth: number): unknown[] {
  const items = typeof node.items === 'object' ? node.items : (node.prefixItems?.[0] ?? {});
  const wanted = depth > 6 ? 1 : ([1, 20, 1_000, 8_000][choose(4)] ?? 1);
  const count = Math.max(node.minItems ?? 0, Math.min(node.maxItems ?? Infinity, wanted));
  const share = Math.floor(bytes / Math.max(1, count));
  return Array.from({ length: count }, () => fill(items, share, choose, depth + 1));
}

/** What is required, and of the rest most; one of the fields gets most of the bytes. */
function objectOf(node: Node, bytes: number, choose: Choose, depth: number): object {
  const required = new Set(node.required);
  const names = Object.keys(node.properties ?? {}).filter((name) => required.has(name) || choose(3) > 0);
  const hot = names[choose(Math.max(1, names.length))];
  const entries = names.map((name): [string, unknown] => [
    name,
    fill(node.properties?.[name] ?? {}, name === hot ? bytes * 0.9 : 16, choose, depth + 1),
  ]);
  const more = node.additionalProperties;
  if (typeof more === 'object' && depth < 4) {
    const count = [0, 3, 300][choose(3)] ?? 0;
    const share = Math.floor(bytes / Math.max(1, count));
    for (let n = 0; n < count; n += 1) entries.push([`field${n}`, fill(more, share, choose, depth + 1)]);
  }
  return Object.fromEntries(entries);
}

/** Deep, wide or long, where a schema allows everything. */
function anything(bytes: number, choose: Choose): unknown {
  const kind = choose(4);
  if (kind === 0) return textOf({}, bytes, choose);
  if (kind === 1) return Array.from({ length: Math.min(90_000, Math.floor(bytes / 3)) }, (_, n) => n % 10);
  if (kind === 2) {
    const count = Math.min(40_000, Math.floor(bytes / 12));
    return Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, n]));
  }
  return Array.from({ length: 60 }).reduce<unknown>((inner) => ({ anyOf: [inner, inner === 0] }), 0);
}

/** Values for a field of a query. */
export function costlyQuery(name: string, choose: Choose): string {
  if (name === 'limit') return ['200', '100', '1', '999999999'][choose(4)] ?? '';
  if (name === 'before' && choose(2) === 0) return ['2999-01-01T00:00:00.000Z', '999999'][choose(2)] ?? '';
  if (name === 'from') return '2024-12-01';
  if (name === 'to') return '2025-11-30';
  const known: Record<string, string[]> = {
    archived: ['true', 'false'],
    include: ['steps', 'prompt'],
    format: ['md', 'json'],
    by: ['day', 'session', 'user', 'model', 'purpose'],
    q: [
      'word',
      'word1 word2 word3 word4',
      'needle',
      'a or b or c or d or word',
      '"word word word"',
      '-word x',
    ],
    session: ['http:heavy'],
  };
  const values = known[name];
  if (values !== undefined && choose(4) > 0) return values[choose(values.length)] ?? '';
  const filling = FILLINGS[choose(FILLINGS.length)] ?? 'x';
  return filling.repeat(Math.floor(6_000 / encodeURIComponent(filling).length)).toWellFormed();
}
