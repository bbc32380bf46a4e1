/** What clients of `/v1/responses` refer to by id: a response that they continue, items of it, and what is read back. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StatelessRequest } from '../../../../../src/protocol/gateway-api.ts';
import { StoreError } from '../../../../../src/protocol/errors.ts';
import { USAGE } from '../../../../fakes/gateway/turn.ts';
import { ADMIN, CHAT } from '../../../../fakes/gateway/gateway-api.ts';
import { allFrames, openApi, type OpenApi } from '../../client.ts';

const look = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } };
const user = (content: string) => ({ role: 'user', content });
const reference = (id: string) => ({ type: 'item_reference', id });

let api: OpenApi;
let seen: StatelessRequest | undefined;
beforeEach(async () => {
  seen = undefined;
  api = await openApi();
});
afterEach(() => api.close());

/** The model says this next, with a thought before it. */
function answers(text: string, ...calls: { id: string; name: string }[]): void {
  api.gateway.completion = async function* (request) {
    seen = request;
    yield { type: 'thinking', delta: 'Hm.' };
    if (text !== '') yield { type: 'text', delta: text };
    for (const call of calls) yield { type: 'tool_call', call: { ...call, args: { at: 'home' } } };
    yield { type: 'done', finishReason: calls.length > 0 ? 'tool_calls' : 'stop', usage: USAGE };
  };
}

async function ask(json: Record<string, unknown>, headers: Record<string, string> = {}) {
  const response = await api.call('/v1/responses', { json, headers });
  return { status: response.status, body: await response.json() };
}

/** The roles and texts of the newest request to the model. */
const context = () => seen?.messages.map(({ role, content }) => `${role}: ${content}`);

describe('an item that is sent as a reference', () => {
  it('is the stored one, as the AI SDK continues after its tools', async () => {
    answers('Let me look.', { id: 'call_1', name: 'look' });
    const { body } = await ask({ input: 'where is it?', tools: [look] });
    expect(body.store).toBe(true);
    const ids: string[] = body.output.map(({ id }: { id: string }) => id);
    expect(ids).toHaveLength(3);
    answers('A cat.');
    const output = { type: 'function_call_output', call_id: 'call_1', output: 'a cat' };
    const input = [user('where is it?'), ...ids.map(reference), output];
    expect(await ask({ input, tools: [look] })).toMatchObject({ status: 200 });
    expect(context()).toEqual(['user: where is it?', 'assistant: Let me look.', 'tool: a cat']);
    expect(seen?.messages[1]).toMatchObject({ toolCalls: [{ id: 'call_1', name: 'look' }] });
  });

  it('may leave its type out, and may be an item of an input', async () => {
    answers('Hello.');
    const { body } = await ask({ input: [user('one'), user('two')] });
    const id = body.id.replace('resp_', '');
    await ask({ input: [{ id: `msg_${id}_i1` }, { type: null, id: body.output[1].id }, user('three')] });
    expect(context()).toEqual(['user: two', 'assistant: Hello.', 'user: three']);
  });

  it('is an error that names it when it is not stored, or belongs to another token', async () => {
    answers('Hello.');
    const { body } = await ask({ input: 'hi' });
    const [, message] = body.output;
    const denied = await ask({ input: [user('x'), reference(message.id)] }, { authorization: CHAT });
    expect(denied).toMatchObject({
      status: 404,
      body: { error: { param: 'input.1.id', code: 'item_not_found' } },
    });
    for (const id of ['x', 'msg_nothing_0', message.id.replace(/\d$/, '7'), `msg_${'x'.repeat(200)}_0`]) {
      const missing = await ask({ input: [reference(id)] });
      expect(missing).toMatchObject({ status: 404, body: { error: { param: 'input.0.id' } } });
      expect(missing.body.error.message).toContain(id.slice(0, 80));
    }
  });

  it('is the right one when a client mixes the items of two conversations', async () => {
    answers('One.', { id: 'call_1', name: 'look' });
    const first = (await ask({ input: 'first', tools: [look] })).body;
    answers('Two.');
    const second = (await ask({ input: 'second' })).body;
    answers('Done.');
    const output = { type: 'function_call_output', call_id: 'call_1', output: 'a cat' };
    const [, one, call] = first.output;
    await ask({ input: [reference(second.output[1].id), reference(one.id), reference(call.id), output] });
    expect(context()).toEqual(['assistant: Two.', 'assistant: One.', 'tool: a cat']);
    const orphan = await ask({ input: [reference(second.output[1].id), output] });
    expect(orphan).toMatchObject({ status: 400, body: { error: { param: 'input.1.call_id' } } });
  });

  it('needs no store in a session, which knows what came before', async () => {
    const input = [user('hi'), reference('msg_gone_0'), user('again')];
    expect(await ask({ input }, { 'x-session-id': 'anna' })).toMatchObject({ status: 200 });
    expect([...api.gateway.turns.values()].map(({ message }) => message.content)).toEqual(['again']);
  });
});

describe('a response that continues another', () => {
  it('has the whole conversation as its context, without the earlier instructions', async () => {
    answers('One.');
    const first = (await ask({ input: 'first', instructions: 'Be kind.' })).body;
    answers('Two.');
    const second = (await ask({ input: [user('second')], previous_response_id: first.id })).body;
    expect(second.previous_response_id).toBe(first.id);
    answers('Three.');
    // A reference to what is continued anyway adds nothing.
    const input = [reference(first.output[1].id), user('third')];
    await ask({ input, previous_response_id: second.id, instructions: 'Be brief.' });
    expect(context()).toEqual([
      'system: Be brief.',
      'user: first',
      'assistant: One.',
      'user: second',
      'assistant: Two.',
      'user: third',
    ]);
  });

  it('continues a function call with its output', async () => {
    answers('', { id: 'call_1', name: 'look' });
    const { body } = await ask({ input: 'where?', tools: [look] });
    answers('A cat.');
    const output = { type: 'function_call_output', call_id: 'call_1', output: 'a cat' };
    expect(await ask({ input: [output], previous_response_id: body.id })).toMatchObject({ status: 200 });
    expect(context()).toEqual(['user: where?', 'assistant: ', 'tool: a cat']);
  });

  it('is refused by name when the other one is not stored, or belongs to another token or a session', async () => {
    const refused = async (id: string, headers = {}) => {
      const { status, body } = await ask({ input: 'x', previous_response_id: id }, headers);
      expect([status, body.error.param]).toEqual([400, 'previous_response_id']);
      return body.error;
    };
    expect(await refused('resp_1')).toMatchObject({ code: 'previous_response_not_found' });
    answers('Hello.');
    const unstored = (await ask({ input: 'hi', store: false })).body;
    expect(unstored.store).toBe(false);
    expect((await refused(unstored.id)).message).toContain('"store": false');
    const stored = (await ask({ input: 'hi' })).body;
    await refused(stored.id, { authorization: CHAT });
    const ofSession = (await ask({ input: 'hi' }, { 'x-session-id': 'anna' })).body;
    expect((await refused(ofSession.id)).message).toContain('X-Session-Id: anna');
    await refused(stored.id, { 'x-session-id': 'anna' });
  });
});

describe('a stored response', () => {
  it('can be read, listed and deleted, by its token only', async () => {
    answers('Hello.');
    const sent = (
      await ask({
        input: [user('one'), { type: 'reasoning', id: 'rs_x', summary: [] }],
        metadata: { a: 'b' },
      })
    ).body;
    const path = `/v1/responses/${sent.id}`;
    expect(await (await api.call(path)).json()).toEqual(sent);
    const items = await (await api.call(`${path}/input_items?order=asc`)).json();
    const id = sent.id.replace('resp_', '');
    expect(items).toMatchObject({
      object: 'list',
      data: [
        { id: `msg_${id}_i0`, type: 'message', role: 'user', content: [{ type: 'input_text', text: 'one' }] },
        { id: `rs_${id}_i1`, type: 'reasoning' },
      ],
      has_more: false,
    });
    const page = await (await api.call(`${path}/input_items?limit=1`)).json();
    expect(page).toMatchObject({ data: [{ type: 'reasoning' }], has_more: true });
    const next = await (await api.call(`${path}/input_items?limit=1&after=${page.last_id}`)).json();
    expect(next).toMatchObject({ data: [{ type: 'message' }], has_more: false });
    for (const query of ['limit=0', 'limit=101', 'after=x'])
      expect((await api.call(`${path}/input_items?${query}`)).status).toBe(400);
    expect((await api.call(`${path}?stream=true`)).status).toBe(400);
    for (const init of [
      { headers: { authorization: CHAT } },
      { headers: { authorization: CHAT }, method: 'DELETE' },
    ])
      expect((await api.call(path, init)).status).toBe(404);
    const deleted = await api.call(path, { method: 'DELETE', headers: { authorization: ADMIN } });
    expect(await deleted.json()).toEqual({ id: sent.id, object: 'response', deleted: true });
    for (const method of ['GET', 'DELETE']) expect((await api.call(path, { method })).status).toBe(404);
    expect((await api.call(`${path}/input_items`)).status).toBe(404);
  });

  it('is stored before a stream says that it is complete', async () => {
    answers('Hello.');
    const response = await api.call('/v1/responses', { json: { input: 'hi', stream: true } });
    const events = (await allFrames(response)).map(({ data }) => JSON.parse(data ?? '{}'));
    const last = events.at(-1);
    expect(last).toMatchObject({ type: 'response.completed', response: { store: true } });
    expect((await api.call(`/v1/responses/${last.response.id}`)).status).toBe(200);
  });

  it('is missing when the database fails; the answer still arrives, and says so', async () => {
    answers('Hello.');
    api.gateway.responses.storeResponse = async () => {
      throw new StoreError('unavailable', 'The database cannot be reached.', { retryable: true });
    };
    expect(await ask({ input: 'hi' })).toMatchObject({
      status: 200,
      body: { status: 'completed', store: false },
    });
  });
});

describe('tools of a response', () => {
  const namespace = { type: 'namespace', name: 'crm', description: 'Customers.', tools: [look] };

  it('in a namespace are called by both names, and their calls are read back', async () => {
    answers('', { id: 'call_1', name: 'crm__look' });
    const choice = { type: 'function', name: 'look', namespace: 'crm' };
    const { body } = await ask({ input: 'x', tools: [namespace, look], tool_choice: choice });
    expect(seen?.options).toMatchObject({
      tools: [{ name: 'crm__look' }, { name: 'look' }],
      toolChoice: { name: 'crm__look' },
    });
    const call = body.output.at(-1);
    expect(call).toMatchObject({ type: 'function_call', name: 'look', namespace: 'crm', call_id: 'call_1' });
    answers('Done.');
    const output = { type: 'function_call_output', call_id: 'call_1', output: 'a cat' };
    await ask({ input: [user('x'), call, output], tools: [namespace] });
    expect(seen?.messages[1]).toMatchObject({ toolCalls: [{ name: 'crm__look' }] });
  });

  it('in a namespace have names of at most 64 characters, each its own', async () => {
    const names = ['a', 'b'].map((end) => `${'x'.repeat(60)}${end}`);
    const tools = [{ ...namespace, tools: names.map((name) => ({ ...look, name })) }];
    answers('', { id: 'call_1', name: 'none' });
    await ask({ input: 'x', tools });
    const offered = seen?.options?.tools?.map(({ name }) => name) ?? [];
    expect(new Set(offered).size).toBe(2);
    for (const name of offered) expect(name).toMatch(/^crm__x+_[0-9a-f]{8}$/);
    expect(offered.map(({ length }) => length)).toEqual([64, 64]);
    answers('', { id: 'call_1', name: offered[1] ?? '' });
    expect((await ask({ input: 'x', tools })).body.output.at(-1)).toMatchObject({
      name: names[1],
      namespace: 'crm',
    });
  });

  it('that OpenAI runs are left out and named', async () => {
    answers('Hello.');
    const custom = { type: 'custom', name: 'patch', format: { type: 'text' } };
    const tools = [{ type: 'web_search' }, custom, look, { ...namespace, tools: [custom, look] }];
    const response = await api.call('/v1/responses', { json: { input: 'x', tools } });
    expect([response.status, response.headers.get('x-omitted-tools')]).toEqual([200, 'web_search, custom']);
    expect(seen?.options?.tools?.map(({ name }) => name)).toEqual(['look', 'crm__look']);
    const allowed = {
      type: 'allowed_tools',
      mode: 'auto',
      tools: [{ type: 'web_search' }, { type: 'function', name: 'look' }],
    };
    expect(await ask({ input: 'x', tools, tool_choice: allowed })).toMatchObject({ status: 200 });
    expect(seen?.options?.tools?.map(({ name }) => name)).toEqual(['look']);
  });

  it.each([
    [{ type: 'web_search' }],
    ['required'],
    [{ type: 'allowed_tools', mode: 'required', tools: [{ type: 'web_search' }] }],
  ])('that OpenAI runs are refused where the choice requires one: %j', async (choice) => {
    const refused = await ask({ input: 'x', tools: [{ type: 'web_search' }], tool_choice: choice });
    expect(refused).toMatchObject({ status: 400, body: { error: { param: 'tool_choice' } } });
    expect(refused.body.error.message).toContain('web_search');
  });
});
