/** Sessions that the settings name belong to admins: no other token can take the name first, nor read what comes. */
import { createHmac } from 'node:crypto';
import { expect, it } from 'vitest';
import { hashSecret } from '../../../src/security/token-lookup.ts';
import { SocketClient } from '../../channels/http/websocket/client.ts';
import { describeGateway, OWNER } from '../setup.ts';

const SECRET = 'a-secret-of-the-sender-0123456789';
const TOKEN = 'parley_reserved-0123456789abcdef-0123456789';
const settings = {
  heartbeat: { everyMinutes: 60, session: 'http:beats' },
  hooks: {
    alerts: { secretEnv: 'HOOK_SECRET', to: 'http:alerts', text: '{{text}}' },
    early: { secretEnv: 'HOOK_SECRET', to: 'http:early', text: '{{text}}' },
  },
};

describeGateway(
  'a session that the settings name',
  { file: settings, env: { HOOK_SECRET: SECRET } },
  (fixture) => {
    let made: Promise<unknown> | undefined;
    const withToken = async () => {
      made ??= fixture().store.access.putToken({
        hash: hashSecret(TOKEN),
        name: 'app',
        scopes: ['chat', 'commands'],
      });
      await made;
      return (path: string, json?: unknown, headers: Record<string, string> = {}) =>
        fixture().call(path, { token: TOKEN, headers, ...(json === undefined ? {} : { json }) });
    };
    const fire = async (name: string, text: string) => {
      const body = JSON.stringify({ text });
      const seconds = Math.floor(Date.now() / 1_000);
      const digest = createHmac('sha256', SECRET).update(`${seconds}.${body}`).digest('hex');
      const headers = { 'x-parley-signature': `t=${seconds},v1=${digest}` };
      return await fetch(`${fixture().gateway.url}/v1/hooks/${name}`, { method: 'POST', headers, body });
    };

    it.each(['http:alerts', 'http:beats'])(
      '%s is refused to other tokens, whatever would begin it',
      async (key) => {
        const call = await withToken();
        const id = key.slice('http:'.length);
        await (await call('/v1/sessions/http:mine/messages', { content: 'hi' })).json();
        await fixture().idle('http:mine');
        const tries = [
          await call(`/v1/sessions/${key}/messages`, { content: 'hi' }),
          await call(`/v1/sessions/${key}/messages`, { content: '/mode agentic' }),
          await call(
            '/v1/chat/completions',
            { messages: [{ role: 'user', content: 'hi' }] },
            { 'x-session-id': id },
          ),
          await fetch(`${fixture().gateway.url}/v1/sessions/${key}/files?name=a.txt`, {
            method: 'POST',
            headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'text/plain' },
            body: 'x',
          }),
          await call(`/v1/sessions/${key}/links`, {}),
        ];
        expect(tries.map(({ status }) => status)).toEqual(tries.map(() => 403));
        for (const answer of tries) {
          const { error } = await answer.json();
          expect(error).toMatchObject({ code: 'forbidden', message: expect.stringContaining(key) });
        }
        const socket = await new SocketClient(fixture().gateway.url, {
          authorization: `Bearer ${TOKEN}`,
        }).opened();
        socket.send({ type: 'message', ref: 1, session: key, content: 'hi' });
        expect((await socket.frame(({ ref }) => ref === 1)).error?.code).toBe('forbidden');
        socket.webSocket.close();
        expect((await call(`/v1/sessions/${key}/messages`)).status).toBe(404);
        expect(await fixture().store.ledger.session(key as 'http:alerts')).toBeUndefined();
      },
    );

    it('is read by admins alone once a webhook has written there', async () => {
      const call = await withToken();
      expect((await fire('alerts', 'the disk is full')).status).toBe(202);
      expect((await call('/v1/sessions/http:alerts/messages')).status).toBe(404);
      const { messages } = await (
        await fixture().call('/v1/sessions/http:alerts/messages', { token: OWNER })
      ).json();
      expect(messages).toMatchObject([{ content: 'the disk is full' }]);
    });

    it('that a token made before gets nothing, and the sender learns why', async () => {
      const call = await withToken();
      const { sql, store } = fixture();
      await (await call('/v1/sessions/http:before/messages', { content: 'hi' })).json();
      await fixture().idle('http:before');
      await sql`insert into session (key, owner_token_id, mode, queue_mode)
      select 'http:early', owner_token_id, mode, queue_mode from session where key = 'http:before'`;
      const answer = await fire('early', 'the disk is full');
      expect([answer.status, (await answer.json()).error.code]).toEqual([409, 'session_taken']);
      expect(await store.ledger.messages('http:early', { limit: 10 })).toEqual([]);
      expect(fixture().log.join('')).toContain('"why":"taken"');
      expect((await call('/v1/sessions/http:early/messages', { content: 'hi' })).status).toBe(403);
      await fixture().call('/v1/sessions/http:early', { token: OWNER, method: 'DELETE' });
      expect((await fire('early', 'the disk is full')).status).toBe(202);
    });
  },
);
