/** `docs/examples/api.ts`: the types of the API's operations, from the API's own description. */
import { compile, type JSONSchema } from 'json-schema-to-typescript';
import { API } from '../../channels/http/app.ts';
import { makeDocument } from '../../channels/http/openapi.ts';

export const TYPES_FILE = 'docs/examples/api.ts';
const BANNER =
  '/** What the HTTP API takes and answers, by method and path. Made by "npm run docs" from /v1/openapi.json. */';

interface Parameter {
  name: string;
  in: 'path' | 'query';
}
interface Described {
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: JSONSchema }> };
  responses: Record<string, { content?: Record<string, { schema: JSONSchema }> }>;
}
interface Document {
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, JSONSchema> };
}

/** The file's text. */
export async function clientTypes(): Promise<string> {
  const { paths, components } = described();
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) => {
      const schema = schemaOf(operation);
      return schema === undefined ? [] : [[`${method.toUpperCase()} ${path}`, schema] as const];
    }),
  );
  const root: JSONSchema = {
    ...record(Object.fromEntries(operations)),
    definitions: components.schemas,
  };
  const text = JSON.stringify(root).replaceAll('#/components/schemas/', '#/definitions/');
  return await compile(JSON.parse(text) as JSONSchema, 'Api', {
    bannerComment: BANNER,
    format: true,
    unreachableDefinitions: false,
    style: { singleQuote: true, printWidth: 110 },
  });
}

function described(): Document {
  return JSON.parse(JSON.stringify(makeDocument(API, ''))) as Document;
}

/** An operation that answers with JSON or with events; undefined for files and texts, which need no types. */
function schemaOf({ parameters = [], requestBody, responses }: Described): JSONSchema | undefined {
  const answers = Object.entries(responses).flatMap(([status, { content = {} }]) => {
    const answer = content['application/json'] ?? content['text/event-stream'];
    return status.startsWith('2') && answer !== undefined ? [answer.schema] : [];
  });
  const [first] = answers;
  if (first === undefined) return undefined;
  const named = (place: Parameter['in']): Record<string, JSONSchema> =>
    Object.fromEntries(
      parameters.filter((one) => one.in === place).map(({ name }) => [name, { type: 'string' }]),
    );
  const path = named('path');
  const query = named('query');
  const body = requestBody?.content['application/json']?.schema;
  const fields = record({
    ...(Object.keys(path).length > 0 && { path: record(path) }),
    ...(Object.keys(query).length > 0 && { query: { ...record(query), required: [] as string[] } }),
    ...(body !== undefined && { body }),
    answer: answers.length === 1 ? first : { anyOf: answers },
  });
  return { ...fields, required: Object.keys(fields.properties ?? {}).filter((name) => name !== 'query') };
}

/** An object with exactly these fields. */
function record(properties: Record<string, JSONSchema>): JSONSchema {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}
