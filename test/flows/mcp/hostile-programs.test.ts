/** Programs that send the MCP server what they should not: each gets a clear error, and nothing is lost or revealed. */
import { expect, it } from 'vitest';
import { MAX_RESULT_CHARS } from '../../../channels/http/mcp/routes.ts';
import { MAX_WAIT_S } from '../../../channels/http/mcp/turns.ts';
import { describeGateway, HALF, OWNER } from '../setup.ts';
import { connectProgram } from './programs.ts';

const ACCEPT = { accept: 'application/json, text/event-stream' };

describeGateway('a hostile program', {}, (fixture) => {
  const rpc = (json: unknown, headers: Record<string, string> = ACCEPT, token = OWNER): Promise<Response> =>
    fixture().call('/mcp', { json, headers, token });
  const called = (name: string, args: unknown, id: unknown = 1) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: args },
  });
  const codeOf = async (response: Promise<Response>): Promise<unknown> => {
    const answer = await response;
    return [answer.status, (await answer.json()).error?.code];
  };
  const created = async (name: string): Promise<string> => {
    const json = { name, scopes: ['chat'] };
    return (await (await fixture().call('/v1/tokens', { json })).json()).secret;
  };

  it('is told that a batch is not part of the protocol any more', async () => {
    const batch = Array.from({ length: 100 }, (_, id) => called('list_sessions', {}, id));
    const answer = await rpc(batch);
    expect(answer.status).toBe(400);
    expect((await answer.json()).error.message).toContain('one JSON-RPC message as an object; batches');
  });

  it('gets nowhere without a token, with a wrong one, from a strange page or under a strange name', async () => {
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const bare = await fetch(`${fixture().gateway.url}/mcp`, { method: 'POST', body: JSON.stringify(list) });
    expect([bare.status, bare.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect(await codeOf(rpc(list, ACCEPT, 'no-such-token'))).toEqual([401, 'invalid_api_key']);
    expect(await codeOf(rpc(list, { ...ACCEPT, origin: 'https://evil.example' }))).toEqual([
      403,
      'origin_not_allowed',
    ]);
  });

  it('reads which argument is wrong, in arguments of any kind and size', async () => {
    const { call } = await connectProgram(fixture().gateway.url);
    const wrong = await call('read_messages', { session: 'http:x', limit: -1 });
    expect(wrong).toMatchObject({ isError: true, fields: { code: 'invalid_body' } });
    expect(wrong.text).toContain('"arguments.limit"');
    const extra = await call('list_sessions', { nosuch: true });
    expect(extra.text).toContain('nosuch');
    const none = await call('ask_person', { question: 'Who?' });
    expect(none.text).toContain('"arguments.key"');
    const late = await call('send_message', { content: 'hi', waitSeconds: MAX_WAIT_S + 1 });
    expect(late.text).toContain('"arguments.waitSeconds"');
    const long = await call('ask_person', { key: 'k', question: 'x'.repeat(100_000) });
    expect(long.text).toContain('"arguments.question"');
    const huge = rpc(called('send_message', { content: 'x'.repeat(1024 * 1024) }));
    expect(await codeOf(huge)).toEqual([413, 'body_too_large']);
    const deep = JSON.parse(`${'{"a":'.repeat(100)}1${'}'.repeat(100)}`);
    expect(await codeOf(rpc(called('send_message', deep)))).toEqual([400, 'body_too_deep']);
    expect(await codeOf(rpc(called('list_sessions', {}, 'i'.repeat(101))))).toEqual([400, 'invalid_body']);
  });

  it('hears of unknown tools, sessions, plans and addresses that they do not exist', async () => {
    const { call, client } = await connectProgram(fixture().gateway.url);
    await expect(call('rm_rf', {})).rejects.toThrow('There is no tool "rm_rf"');
    for (const session of [
      'http:nosuch',
      'telegram:1',
      'http:..',
      'http:%2e%2e',
      'x:\0',
      `http:${'y'.repeat(150)}`,
    ])
      expect(await call('read_messages', { session })).toMatchObject({
        isError: true,
        fields: { code: 'session_not_found' },
      });
    expect((await call('read_plan', { plan: '../sessions' })).text).toContain(
      'There is no plan "../sessions"',
    );
    expect((await call('send_message', { session: 'telegram:1', content: 'hi' })).text).toContain(
      'Only sessions named http:<id> accept messages',
    );
    for (const uri of [
      'parley://tokens',
      'parley://sessions/../../metrics',
      'file:///etc/passwd',
      'parley://',
    ])
      await expect(client.readResource({ uri })).rejects.toThrow('There is nothing at');
  });

  it('sees nothing of the sessions of another token, and resumes none of its streams', async () => {
    const mine = await connectProgram(fixture().gateway.url, OWNER, 'of 2025');
    const events: string[] = [];
    const secret = { session: 'http:private', content: 'my secret', key: 'p1' };
    await mine.call('send_message', secret, { onEvent: (id) => events.push(id) });
    const token = await created('other');
    const other = await connectProgram(fixture().gateway.url, token);
    expect((await other.call('read_messages', { session: 'http:private' })).fields).toMatchObject({
      code: 'session_not_found',
    });
    expect((await other.call('send_message', { ...secret, waitSeconds: 0 })).fields).toMatchObject({
      code: 'session_not_found',
    });
    expect((await other.call('list_sessions')).text).toBe('{"sessions":[]}');
    const resumed = (by: string): Promise<Response> =>
      fixture().call('/mcp', { token: by, headers: { ...ACCEPT, 'last-event-id': events[0] ?? '' } });
    expect(await codeOf(resumed(token))).toEqual([404, 'event_not_found']);
    expect(await (await resumed(OWNER)).text()).toContain('echo: my secret');
    for (const id of ['1', '1.', '7.eyJ9', `1.${'A'.repeat(5_000)}`, 'x'])
      expect(await codeOf(fixture().call('/mcp', { headers: { 'last-event-id': id } }))).toEqual([
        404,
        'event_not_found',
      ]);
  });

  it('gains nothing by an id of a session of the protocol, its own or one of others', async () => {
    const headers = { ...ACCEPT, 'mcp-session-id': 'stolen' };
    const [one, two] = await Promise.all([
      rpc(called('send_message', { session: 'http:one', content: 'first' }, 1), headers),
      rpc(called('send_message', { session: 'http:two', content: 'second' }, 1), headers),
    ]);
    expect(await one.text()).toContain('echo: first');
    expect(await two.text()).toContain('echo: second');
  });

  it('loses its stream when its token is revoked, and the turn goes on', async () => {
    const token = await created('doomed');
    fixture().ollama.answer({ text: 'word '.repeat(60), failure: HALF }, { when: 'go on and on' });
    const stream = await rpc(
      called('send_message', { session: 'http:doomed', content: 'go on and on' }),
      ACCEPT,
      token,
    );
    const end = stream.text().catch(String);
    const { tokens } = await (await fixture().call('/v1/tokens')).json();
    const { id } = tokens.find(({ name }: { name: string }) => name === 'doomed');
    await fixture().call(`/v1/tokens/${id}`, { method: 'DELETE' });
    expect(await end).toContain('terminated');
    await fixture().releaseOnce('go on and on', () => true);
    await fixture().idle('http:doomed');
    expect((await fixture().messages('http:doomed')).at(-1)?.content).toContain('word word');
  });

  it('begins nothing with a request that the protocol refuses', async () => {
    const wrong = called('send_message', { session: 'http:never', content: 'never' });
    expect((await rpc(wrong, { accept: 'application/json' })).status).toBe(406);
    expect((await rpc(wrong, { ...ACCEPT, 'mcp-protocol-version': '1999-01-01' })).status).toBe(400);
    expect(await codeOf(fixture().call('/v1/sessions/http:never'))).toEqual([404, 'session_not_found']);
    expect((await fixture().call('/mcp')).status).toBe(405);
    expect((await fixture().call('/mcp', { method: 'DELETE' })).status).toBe(405);
  });

  it('pages through 10,000 sessions, and is told where an answer would be too long to read', async () => {
    const [token] = await fixture().store.access.tokens();
    await fixture().sql`
      insert into session (key, folder, owner_token_id, updated_at)
      select 'http:many-' || n, 'many-' || n, ${token?.tokenId ?? ''}, now() - n * interval '1 second'
      from generate_series(1, 10000) n`;
    const { call, client } = await connectProgram(fixture().gateway.url, OWNER, 'of 2025');
    expect(JSON.parse((await call('list_sessions', { limit: 200 })).text).sessions).toHaveLength(200);
    const first = await client.listResources();
    const second = await client.listResources({ cursor: first.nextCursor });
    const uris = [...first.resources, ...second.resources].map(({ uri }) => uri);
    expect(uris).toHaveLength(103);
    expect(new Set(uris).size).toBe(103);
    // The SDK of today reads all pages by itself, and no more than 64.
    const current = await connectProgram(fixture().gateway.url);
    expect((await current.client.listResources()).resources).toHaveLength(3 + 60 * 50);
    await expect(client.listResources({ cursor: 'soon' })).rejects.toThrow('"before"');
    await call('send_message', { session: 'http:long', content: 'hi' });
    const { text } = await call('read_messages', { session: 'http:long' });
    const lengthen = async (chars: number): Promise<void> => {
      await fixture().sql`
        update message set content = content || repeat('x', ${chars}) where session = 'http:long' and role = 'user'`;
    };
    await lengthen(MAX_RESULT_CHARS - text.length);
    expect((await call('read_messages', { session: 'http:long' })).text).toHaveLength(MAX_RESULT_CHARS);
    await lengthen(1);
    const long = await call('read_messages', { session: 'http:long' });
    expect(long).toMatchObject({ isError: true, fields: { code: 'too_large' } });
    expect(long.text).toContain(`at most ${MAX_RESULT_CHARS} fit: ask for less with "limit"`);
    await expect(client.readResource({ uri: 'parley://sessions/http:long/messages' })).rejects.toThrow(
      'at most',
    );
    expect((await call('read_messages', { session: 'http:long', limit: 1 })).isError).toBe(false);
  });
});
