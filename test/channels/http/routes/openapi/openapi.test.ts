/** The API's description: valid, complete, and consistent with what the routes answer. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { API } from '../../../../../channels/http/app.ts';
import type {
  acceptedAt,
  approvalJson,
  handledJson,
  listedSessionJson,
  messageJson,
  receiptJson,
  scheduleJson,
  sessionJson,
  WireApproval,
  WireListed,
  WireMessage,
  WireSchedule,
  WireSession,
} from '../../../../../channels/http/wire.ts';
import { type agentEvent, makeDocument } from '../../../../../channels/http/openapi.ts';
import type { Route } from '../../../../../channels/http/route.ts';
import type { AgentEvent } from '../../../../../src/protocol/event.ts';
import { openApi, type OpenApi } from '../../client.ts';
import { checkDeclared } from '../../declared.ts';

/** An interface as a type, which a schema with further fields accepts. */
type Plain<Value> = Value extends readonly (infer Item)[]
  ? Plain<Item>[]
  : Value extends object
    ? { [Key in keyof Value]: Plain<Value[Key]> }
    : Value;

/** The compiler refuses a catalog with an event that does not exist. */
export type Existing<Type extends AgentEvent['type'] = z.infer<typeof agentEvent>['type']> = Type;

/** The compiler refuses a schema that does not accept what the routes write. */
type Takes<Schema extends z.ZodType, Written extends z.input<Schema>> = Written;
type Accepted = ReturnType<typeof acceptedAt>;
export type Written =
  | Takes<typeof agentEvent, Plain<AgentEvent>>
  | Takes<typeof sessionJson, WireSession>
  | Takes<typeof listedSessionJson, WireListed>
  | Takes<typeof messageJson, WireMessage>
  | Takes<typeof receiptJson, Exclude<Accepted, { handled: true }>>
  | Takes<typeof handledJson, Extract<Accepted, { handled: true }>>
  | Takes<typeof approvalJson, WireApproval>
  | Takes<typeof scheduleJson, WireSchedule>;

interface Described {
  paths: Record<string, Record<string, Described.Operation>>;
  components: { schemas: Record<string, unknown> };
}
declare namespace Described {
  interface Operation {
    operationId: string;
    responses: Record<string, { content?: Record<string, { schema: object }> }>;
    requestBody?: { content: Record<string, { schema: object }> };
  }
}

let api: OpenApi;
beforeEach(async () => {
  api = await openApi();
});
afterEach(() => api.close());

async function document(): Promise<Described> {
  const answer = await api.call('/v1/openapi.json');
  expect(answer.status).toBe(200);
  return await answer.json();
}

describe('the description of the API', () => {
  it('is valid OpenAPI 3.1, has every route once, and no others', async () => {
    const described = await document();
    const whole: Record<string, unknown> = JSON.parse(JSON.stringify(described));
    expect(await new Validator().validate(whole)).toEqual({ valid: true });
    const served = API.map(({ method, path }) => `${method} ${path}`).toSorted();
    const documented = Object.entries(described.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const asDocumented = served.map((route) => route.replaceAll(/:(\w+)/g, '{$1}').replace('*', '{path}'));
    expect(documented.toSorted()).toEqual(asDocumented.toSorted());
    const operations = Object.values(described.paths).flatMap((item) => Object.values(item));
    expect(operations).toHaveLength(served.length);
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(served.length);
  });

  it('refuses a route without a description, as the compiler does', () => {
    // @ts-expect-error a record of a route has a summary and a description
    const route: Route = { method: 'GET', path: '/v1/nothing', handle: () => new Response() };
    expect(() => makeDocument([route], '1')).toThrow('GET /v1/nothing');
  });

  it('matches answers and errors', async () => {
    const described = await document();
    const ajv = new Ajv2020({ strict: false });
    ajv.addSchema({ $id: 'api', ...described });
    const check = (method: string, path: string, status: string, body: unknown): void => {
      const place = ['paths', path.replaceAll('/', '~1'), method, 'responses', status].join('/');
      const pointer = `api#/${place}/content/application~1json/schema`;
      const validate = ajv.getSchema(encodeURI(pointer));
      void validate?.(body);
      expect(validate === undefined ? 'no schema' : validate.errors).toBeNull();
    };
    const sent = await api.call('/v1/sessions/http:anna/messages', { json: { content: 'hello' } });
    check('post', '/v1/sessions/{key}/messages', '202', await sent.json());
    const tries: [string, string][] = [
      ['/v1/sessions', '/v1/sessions'],
      ['/v1/sessions/http:anna', '/v1/sessions/{key}'],
      ['/v1/sessions/http:anna/messages', '/v1/sessions/{key}/messages'],
      ['/v1/approvals', '/v1/approvals'],
      ['/v1/schedules', '/v1/schedules'],
    ];
    for (const [url, path] of tries) check('get', path, '200', await (await api.call(url)).json());
    const wrong = await (await api.call('/v1/sessions/http:nobody')).json();
    expect(ajv.getSchema('api#/components/schemas/Error')?.(wrong)).toBe(true);
    expect(ajv.getSchema('api#/components/schemas/Error')?.({ error: 'text' })).toBe(false);
  });

  it('declares each answer of these tests: its status, its type and its body', async () => {
    const url = 'http://127.0.0.1/v1/sessions/http:anna/messages';
    const check = async (status: number, body: unknown, type = 'application/json') =>
      await checkDeclared(
        'POST',
        url,
        new Response(JSON.stringify(body), { status, headers: { 'content-type': type } }),
      );
    await check(202, { turnId: 't', seq: 1, lastEventId: '0-0' });
    await check(200, { handled: true, reply: null });
    await check(404, { error: { message: 'm', type: 't', code: 'c', param: null } });
    await expect(check(202, { turnId: 1 })).rejects.toThrow(/POST .* 202 is not as declared/);
    await expect(check(201, {})).rejects.toThrow('201 is not declared');
    await expect(check(202, {}, 'text/html')).rejects.toThrow('not declared as text/html');
    await expect(check(404, { error: 'text' })).rejects.toThrow('404 is not as declared');
  });

  it('describes every operation in a sentence besides its summary', () => {
    const texts = API.map(({ description }) => description);
    expect(texts.filter((text) => !/^.{20,}\.$/.test(text))).toEqual([]);
  });

  it('has schemas that refuse what the routes refuse', async () => {
    const described = await document();
    const ajv = new Ajv2020({ strict: false });
    const body = described.paths['/v1/sessions/{key}/messages']?.['post']?.requestBody;
    const schema = body?.content['application/json']?.schema;
    const validate = ajv.compile(schema ?? {});
    for (const json of [{ content: 'x' }, { content: 1 }, {}, { content: 'x', more: 1 }]) {
      const answer = await api.call('/v1/sessions/http:anna/messages', { json });
      expect(validate(json)).toBe(answer.status === 202);
    }
  });
});
