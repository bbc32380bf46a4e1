/**
 * The reference of the HTTP API: a page under docs/api for each group of routes, made of the description that
 * `GET /v1/openapi.json` serves. The paragraph below a route may be edited on its page, which then keeps it: pages say
 * more than the description, with examples and links.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { API } from '../../../channels/http/app.ts';
import { makeDocument } from '../../../channels/http/openapi.ts';
import { TAGS } from '../../../channels/http/route.ts';
import { readText, ROOT } from '../pages.ts';

type Tag = keyof typeof TAGS;

/** Longest list of values in a cell, in characters. */
const MAX_TYPE = 160;

const schemaShape = z.looseObject({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  description: z.string().optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
  items: z.unknown().optional(),
  anyOf: z.array(z.unknown()).optional(),
  oneOf: z.array(z.unknown()).optional(),
  allOf: z.array(z.unknown()).optional(),
});
type Schema = z.output<typeof schemaShape>;

const contentShape = z.record(z.string(), z.looseObject({ schema: z.unknown().optional() }));
const operationShape = z.looseObject({
  tags: z.array(z.string()),
  summary: z.string(),
  description: z.string().optional(),
  security: z.array(z.unknown()),
  'x-scope': z.string().optional(),
  parameters: z.array(
    z.looseObject({ name: z.string(), in: z.string(), description: z.string().optional() }),
  ),
  requestBody: z.looseObject({ content: contentShape }).optional(),
  responses: z.record(z.string(), z.looseObject({ content: contentShape.optional() })),
});
type Operation = z.output<typeof operationShape>;

const documentShape = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
  components: z.looseObject({ schemas: z.record(z.string(), z.unknown()) }),
});
const { paths, components } = documentShape.parse(makeDocument(API, ''));

/** The pages: their files, and the group that each is about. */
export const API_PAGES = Object.entries(TAGS).map(([tag, about]) => ({
  tag: tag as Tag,
  about,
  file: `docs/api/${tag}.md`,
  routes: API.filter((route) => route.tag === tag),
}));

/** A page as the code has it now, with the paragraphs of its present text. */
export function renderApiPage({ tag, about, file, routes }: (typeof API_PAGES)[number]): string {
  const paragraphs = paragraphsOf(existsSync(path.join(ROOT, file)) ? readText(file) : '');
  const sections = routes.map((route) => {
    const name = `${route.method} ${route.path}`;
    return sectionOf(name, operationOf(route), paragraphs.get(name));
  });
  const text = sections.join('\n');
  return `# HTTP API: ${tag}

<!-- Written by "npm run docs". The paragraph below a route may be edited here. -->

${about}. [HTTP API](../http-api.md) explains tokens, sessions and streams, and \`GET /v1/openapi.json\` describes the same for programs. Any route may answer 4XX or 5XX, with ${ERRORS[tag === 'ollama' ? 'ollama' : 'others']}.

${text}${typesOn(text)}`;
}

/** The bodies of errors. */
const ERRORS = {
  ollama: '`{"error": "…"}`, as Ollama does',
  others: '`{"error": {"message", "type", "code", "param"}}`, as OpenAI does; `code` is for programs',
};

/** The types that a page names, with those that these name; events are described elsewhere. */
function typesOn(page: string): string {
  const types = new Map<string, string>();
  const collect = (text: string): void => {
    for (const name of Object.keys(components.schemas)) {
      const isNamed = new RegExp(`\\| (?:[^|\\n]* )?${name}[ ,|]`).test(text);
      if (!isNamed || types.has(name) || name === 'Event') continue;
      const fields = table(['field', 'type', 'meaning'], fieldsOf(components.schemas[name]));
      types.set(name, `### ${name}\n\n${fields}\n`);
      collect(fields);
    }
  };
  collect(page);
  return types.size === 0 ? '' : `\n## Types\n\n${[...types.values()].join('\n')}`;
}

/** The first paragraph below each heading. */
function paragraphsOf(page: string): Map<string, string> {
  return new Map(
    [...page.matchAll(/^## `([^`\n]+)`\n\n(?!\|)([^\n]+)\n/gm)].map(([, name = '', text = '']) => [
      name,
      text,
    ]),
  );
}

function operationOf({ method, path: route }: (typeof API)[number]): Operation {
  const place = route.replaceAll(/:(\w+)/g, '{$1}').replaceAll('*', '{path}');
  return operationShape.parse(paths[place]?.[method.toLowerCase()]);
}

function sectionOf(name: string, operation: Operation, paragraph: string | undefined): string {
  const { summary, description = '', parameters, requestBody, responses } = operation;
  const own = `${summary}. ${description}`.trim();
  const query = parameters.filter((one) => one.in === 'query');
  const parts = [
    `## \`${name}\``,
    paragraph ?? (/[.!?]$/.test(own) ? own : `${own}.`),
    rightsOf(operation),
    table(
      ['query', 'meaning'],
      query.map((one) => [`\`${one.name}\``, one.description ?? '']),
    ),
    bodyOf(requestBody?.content),
    answersOf(responses),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function rightsOf({ security, 'x-scope': scope }: Operation): string {
  if (scope === undefined) return 'Needs no token.';
  return security.length > 1
    ? `A token is optional; with one, the scope \`${scope}\`.`
    : `Scope: \`${scope}\`.`;
}

function bodyOf(content: Operation['responses'][string]['content']): string {
  return Object.entries(content ?? {})
    .map(([type, { schema }]) => {
      const fields = fieldsOf(schema);
      const title = type === 'application/json' ? 'Body, as JSON' : `Body, as \`${type}\``;
      return fields.length === 0
        ? `${title}.`
        : `${title}:\n\n${table(['field', 'type', 'meaning'], fields)}`;
    })
    .join('\n\n');
}

/** What comes back, by status; errors are the same everywhere. */
function answersOf(responses: Operation['responses']): string {
  const successes = Object.entries(responses).filter(([status]) => /^[123]\d\d$/.test(status));
  const parts = successes.map(([status, { content = {} }]) => {
    const [[type, body] = ['', {}]] = Object.entries(content);
    const fields = fieldsOf(body.schema);
    const types = Object.keys(content).map((one) => `\`${one}\``);
    const title =
      types.length === 0 ? `Answers ${status}, without a body` : `Answers ${status}, ${types.join(' or ')}`;
    if (type !== 'application/json' || fields.length === 0) return `${title}.`;
    return `${title}:\n\n${table(['field', 'type', 'meaning'], fields)}`;
  });
  return parts.join('\n\n');
}

function table(head: string[], rows: string[][]): string {
  if (rows.length === 0) return '';
  const line = (cells: string[]): string => `| ${cells.map(escapeCell).join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

function escapeCell(text: string): string {
  return text.replaceAll('|', String.raw`\|`).replaceAll(/\s+/g, ' ');
}

/** The fields of an object, or of all objects that it may be: name, type and meaning. */
function fieldsOf(value: unknown): string[][] {
  const fields = new Map<string, string[]>();
  for (const schema of objectsIn(value)) {
    for (const [name, field] of Object.entries(schema.properties ?? {})) {
      const optional = schema.required?.includes(name) === true ? '' : ', optional';
      const { description = '' } = resolved(field);
      if (!fields.has(name)) fields.set(name, [`\`${name}\``, `${typeOf(field)}${optional}`, description]);
    }
  }
  return [...fields.values()];
}

function objectsIn(value: unknown): Schema[] {
  const schema = resolved(value);
  const parts = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  return [...(schema.properties === undefined ? [] : [schema]), ...parts.flatMap(objectsIn)];
}

/** The schema itself, or the one that it refers to. */
function resolved(value: unknown): Schema {
  const schema = schemaShape.safeParse(value).data ?? {};
  const name = schema.$ref?.split('/').at(-1);
  return name === undefined ? schema : (schemaShape.safeParse(components.schemas[name]).data ?? {});
}

function typeOf(value: unknown): string {
  const schema = schemaShape.safeParse(value).data ?? {};
  const name = schema.$ref?.split('/').at(-1);
  if (name !== undefined) return name;
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum !== undefined) return clip(schema.enum.map(code).join(', '));
  const parts = schema.anyOf ?? schema.oneOf;
  if (parts !== undefined) return clip([...new Set(parts.map(typeOf))].join(' or '));
  if (schema.type === 'array') return `list of ${typeOf(schema.items)}`;
  return [schema.type ?? 'any'].flat().join(' or ');
}

function code(value: unknown): string {
  return `\`${JSON.stringify(value)}\``;
}

function clip(list: string): string {
  return list.length <= MAX_TYPE ? list : `${list.slice(0, list.lastIndexOf(',', MAX_TYPE))}, …`;
}
