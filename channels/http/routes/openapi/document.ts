/** `GET /v1/openapi.json`: the API described in OpenAPI 3.1, from the schemas that check its requests. */
import { z } from 'zod';
import type { Handler, Route } from '../../route.ts';
import { ADMIN_OPERATIONS } from './administration.ts';
import { error, ollamaError } from './answers.ts';
import { agentEvent } from './events.ts';
import { SESSION_OPERATIONS } from './conversations.ts';
import { MODEL_API_OPERATIONS } from './model-apis.ts';
import type { Operation, Operations } from './operation.ts';
import { WORK_OPERATIONS } from './work.ts';

type Json = Record<string, unknown>;

/** All operations of the API. */
export const OPERATIONS: Operations = {
  ...SESSION_OPERATIONS,
  ...MODEL_API_OPERATIONS,
  ...WORK_OPERATIONS,
  ...ADMIN_OPERATIONS,
};

/** What the operations are about. */
const TAGS: Readonly<Record<Operation['tag'], string>> = {
  gateway: 'The gateway itself: its health, sign-in, commands, languages, webhooks',
  openai: 'The API of OpenAI, over the sessions and models of the gateway',
  ollama: 'The API of Ollama, over the same sessions and models',
  sessions: 'Conversations: their messages, turns, events and chats',
  files: 'Files of conversations',
  plans: 'Plans: steps that are shown, changed and run',
  approvals: 'Tool calls that wait for a person',
  schedules: 'Tasks that start on their own',
  usage: 'Tokens, model time and costs',
  administration: 'What needs the scope `admin`',
};

const DESCRIPTION =
  'Chat with the bot, follow what it does, decide what it may do. Every route under /v1 requires a token; ' +
  'errors have the shape of OpenAI’s. A message with an Idempotency-Key may be repeated.';

/** Answers with the description, which is made once. */
export function describeApi(routes: () => readonly Route[]): Handler {
  let text: string | undefined;
  return async (c, { gateway }) => {
    text ??= JSON.stringify(makeDocument(routes(), (await gateway.health()).version));
    return c.body(text, 200, { 'content-type': 'application/json' });
  };
}

/** The description of these routes. Throws `TypeError` for a route that no operation describes. */
export function makeDocument(
  routes: readonly Pick<Route, 'method' | 'path' | 'scope' | 'tokenOptional'>[],
  version: string,
): Json {
  const schemas: Json = {};
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const operation = OPERATIONS[`${route.method} ${route.path}`];
    if (operation === undefined) throw new TypeError(`no operation describes ${route.method} ${route.path}`);
    const { path, names } = pathOf(route.path);
    const item = (paths[path] ??= {});
    item[route.method.toLowerCase()] = describe(route, operation, names, schemas);
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Parley',
      version,
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas,
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      responses: {
        Error: { description: 'Nothing was done', content: jsonOf(schemaOf(error, 'output', schemas)) },
        OllamaError: {
          description: 'Nothing was done',
          content: jsonOf(schemaOf(ollamaError, 'output', schemas)),
        },
      },
    },
  };
}

function describe(
  route: Pick<Route, 'method' | 'path' | 'scope' | 'tokenOptional'>,
  operation: Operation,
  names: readonly string[],
  schemas: Json,
): Json {
  const { tag, summary, description, query = {}, body } = operation;
  const inPath = names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
  const inQuery = Object.entries(query).map(([name, description]) => ({
    name,
    in: 'query',
    description,
    schema: { type: 'string' },
  }));
  const isOpen = route.scope === undefined;
  return {
    operationId: operationId(route.method, route.path),
    tags: [tag],
    summary,
    description,
    ...(isOpen && { security: [] }),
    ...(route.tokenOptional === true && { security: [{}, { token: [] }] }),
    ...(!isOpen && route.tokenOptional !== true && { security: [{ token: [] }] }),
    ...(route.scope !== undefined && { 'x-scope': route.scope }),
    parameters: [...inPath, ...inQuery],
    ...(body !== undefined && {
      requestBody: {
        required: operation.bodyOptional !== true,
        content: jsonOf(schemaOf(body, 'input', schemas)),
      },
    }),
    ...(operation.upload !== undefined && { requestBody: { required: true, content: operation.upload } }),
    responses: { ...successes(operation, schemas), ...failures(route.path) },
  };
}

/** The bodies of success, by status and content type. */
function successes(operation: Operation, schemas: Json): Record<string, Json> {
  const { summary, status = 200, answer, others = [] } = operation;
  const usual = { description: summary, ...contentOf(answer, schemas) };
  const responses: Record<string, Json> = { [String(status)]: usual };
  for (const { status: other = status, type = 'application/json', body } of others) {
    const response = (responses[String(other)] ??= { description: summary });
    if (body === 'nothing') continue;
    const schema = typeof body === 'string' ? TEXTS[body] : schemaOf(body, 'output', schemas);
    response['content'] = { ...contentIn(response), [type]: { schema } };
  }
  return responses;
}

function contentIn({ content }: Json): object {
  return typeof content === 'object' && content !== null ? content : {};
}

/** Errors, in the shape of the API that the path belongs to. */
function failures(path: string): Json {
  const $ref = `#/components/responses/${path.startsWith('/api/') ? 'OllamaError' : 'Error'}`;
  return { '4XX': { $ref }, default: { $ref } };
}

const BYTES = { schema: { type: 'string', format: 'binary' } };
const TEXTS = { text: { type: 'string' }, bytes: BYTES.schema };

function contentOf(answer: Operation['answer'], schemas: Json): Json {
  if (answer === 'nothing') return {};
  if (answer === 'text') return { content: { 'text/plain': { schema: { type: 'string' } } } };
  if (answer === 'events') return { content: { 'text/event-stream': { schema: { type: 'string' } } } };
  if (answer === 'session-events')
    return { content: { 'text/event-stream': { schema: schemaOf(agentEvent, 'output', schemas) } } };
  if (answer === 'bytes') return { content: { '*/*': BYTES } };
  if (answer === undefined) return { content: jsonOf({ type: 'object' }) };
  return { content: jsonOf(schemaOf(answer, 'output', schemas)) };
}

function jsonOf(schema: unknown): Json {
  return { 'application/json': { schema } };
}

/** A schema as JSON Schema (2020-12, as OpenAPI 3.1 has it); those with a name go into `schemas`. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output', schemas: Json): unknown {
  const { $schema: _, ...made } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  const text = JSON.stringify(made).replaceAll('"#/$defs/', '"#/components/schemas/');
  const { $defs, ...placed }: Json = JSON.parse(text);
  Object.assign(schemas, $defs);
  return placed;
}

/** A path of the table of routes as OpenAPI writes it; the rest after `*` is one parameter. */
function pathOf(route: string): { path: string; names: string[] } {
  const names: string[] = [];
  const path = route.replaceAll(/:(\w+)|\*/g, (_, name: string | undefined) => {
    names.push(name ?? 'path');
    return `{${name ?? 'path'}}`;
  });
  return { path, names };
}

/** `GET /v1/sessions/:key` as `getSessionsKey`. */
function operationId(method: string, route: string): string {
  const words =
    route
      .replace('/v1/', '/')
      .replace('*', 'path')
      .match(/[A-Za-z]+/g) ?? [];
  return method.toLowerCase() + words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
}
