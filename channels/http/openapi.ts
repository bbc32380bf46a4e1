/** `GET /v1/openapi.json`: the API described in OpenAPI 3.1, from the schemas that check its requests. */
import { z } from 'zod';
import { ENVELOPE, EVENTS } from '../../src/protocol/event.ts';
import { type HandlerDeps, type HttpContext, type Route, TAGS } from './route.ts';
import { errorJson, ollamaErrorJson } from './wire.ts';

type Json = Record<string, unknown>;

function describedEvent({ shape, description = '' }: (typeof EVENTS)[number]) {
  const { type, ...fields } = shape;
  return z.looseObject({ type, ...ENVELOPE, ...fields }).describe(description);
}

/** Any event of a session, as streams and WebSockets send it. */
export const agentEvent = z
  .discriminatedUnion('type', EVENTS.map((event) => describedEvent(event)) as unknown as typeof EVENTS)
  .meta({ id: 'Event' });

const DESCRIPTION =
  'Chat with the bot, follow what it does, decide what it may do. Every route under /v1 requires a token; ' +
  'errors have the shape of OpenAI’s. A message with an Idempotency-Key may be repeated.';

/** What answers with the description, which is made once. */
export function describeApi(routes: () => readonly Route[]) {
  let text: string | undefined;
  return async (c: HttpContext, { gateway }: HandlerDeps): Promise<Response> => {
    text ??= JSON.stringify(makeDocument(routes(), (await gateway.health()).version));
    return c.body(text, 200, { 'content-type': 'application/json' });
  };
}

/** The description of these routes. Throws `TypeError` for one that is not described. */
export function makeDocument(routes: readonly Route[], version: string): Json {
  const schemas: Json = {};
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    if (!route.summary) throw new TypeError(`nothing describes ${route.method} ${route.path}`);
    const { path, names } = pathOf(route.path);
    const item = (paths[path] ??= {});
    item[route.method.toLowerCase()] = describe(route, names, schemas);
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
        Error: { description: 'Nothing was done', content: jsonOf(schemaOf(errorJson, 'output', schemas)) },
        OllamaError: {
          description: 'Nothing was done',
          content: jsonOf(schemaOf(ollamaErrorJson, 'output', schemas)),
        },
      },
    },
  };
}

function describe(route: Route, names: readonly string[], schemas: Json): Json {
  const { tag, summary, description, query = {}, body, upload } = route;
  const inPath = names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
  const inQuery = Object.entries(query).map(([name, description]) => ({
    name,
    in: 'query',
    description,
    schema: { type: 'string' },
  }));
  const withToken = route.token === 'optional' ? [{}, { token: [] }] : [{ token: [] }];
  return {
    operationId: operationId(route.method, route.path),
    tags: [tag],
    summary,
    description,
    security: route.scope === undefined ? [] : withToken,
    ...(route.scope !== undefined && { 'x-scope': route.scope }),
    parameters: [...inPath, ...inQuery],
    ...((body ?? upload) !== undefined && {
      requestBody: {
        required: route.bodyOptional !== true,
        content: { ...upload, ...(body !== undefined && jsonOf(schemaOf(body, 'input', schemas))) },
      },
    }),
    responses: { ...successes(route, schemas), ...failures(route.path) },
  };
}

/** The bodies of success, by status and content type. */
function successes(route: Route, schemas: Json): Record<string, Json> {
  const { summary, status = 200, answer, others = [] } = route;
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

const TEXTS = { text: { type: 'string' }, bytes: { type: 'string', format: 'binary' } };

function contentOf(answer: Route['answer'], schemas: Json): Json {
  switch (answer) {
    case 'nothing':
      return {};
    case 'text':
      return { content: { 'text/plain': { schema: TEXTS.text } } };
    case 'events':
      return { content: { 'text/event-stream': { schema: TEXTS.text } } };
    case 'session-events':
      return { content: { 'text/event-stream': { schema: schemaOf(agentEvent, 'output', schemas) } } };
    case 'bytes':
      return { content: { '*/*': { schema: TEXTS.bytes } } };
    default:
      return {
        content: jsonOf(answer === undefined ? { type: 'object' } : schemaOf(answer, 'output', schemas)),
      };
  }
}

function jsonOf(schema: unknown): Json {
  return { 'application/json': { schema } };
}

/** A schema as JSON Schema (2020-12, as OpenAPI 3.1 has it); those with a name go into `schemas`. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output', schemas: Json): unknown {
  const { $schema: _, ...jsonSchema } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  const text = JSON.stringify(jsonSchema).replaceAll('"#/$defs/', '"#/components/schemas/');
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
