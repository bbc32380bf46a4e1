/** Tickets for streams: one stream each, for clients that cannot send headers, and never longer than their token. */
import { expect, it, vi } from 'vitest';
import { MAX_TICKETS } from '../../../src/protocol/operator/sign-in.ts';
import { hashSecret } from '../../../src/security/token-lookup.ts';
import { SocketClient } from '../../channels/http/websocket/client.ts';
import { pageSession } from '../page-session.ts';
import { describeGateway, OWNER, WAIT } from '../setup.ts';

describeGateway('a ticket', {}, (fixture) => {
  const at = (path: string): string => fixture().gateway.url + path;
  const ticketOf = async (token = OWNER): Promise<string> => {
    const answer = await fixture().call('/v1/stream-tickets', { token, method: 'POST' });
    expect(answer.status).toBe(201);
    const { ticket, expiresAt }: { ticket: string; expiresAt: string } = await answer.json();
    expect(Date.parse(expiresAt)).toBeGreaterThan(Date.now());
    return ticket;
  };
  /** The way `EventSource` requests: an address, and no custom header. */
  const open = (path: string): Promise<Response> =>
    fetch(at(path), { headers: { accept: 'text/event-stream' } });
  const say = (content: string) =>
    fixture().call('/v1/sessions/http:tickets/messages', { json: { content } });

  it('opens one stream, which starts after the last event that its reader names', async () => {
    await say('hello');
    const ticket = await ticketOf();
    const stream = await open(`/v1/sessions/http:tickets/events?last_event_id=0-0&ticket=${ticket}`);
    expect([stream.status, stream.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
    let read = '';
    while (!read.includes('"turn_ended"')) read += (await reader.read()).value ?? '';
    expect(read).toMatch(/^id: 1-1$/m);
    const again = await open(`/v1/sessions/http:tickets/events?ticket=${ticket}`);
    expect(again.status).toBe(401);
    expect(await again.json()).toMatchObject({ error: { code: 'invalid_ticket', param: 'ticket' } });
    await reader.cancel();
    // The right to the stream ends with it.
    const { sql } = fixture();
    await vi.waitFor(async () => expect(await sql`select from sign_in`).toHaveLength(0), WAIT);
  });

  it('opens the stream of all sessions, or a WebSocket, and nothing else', async () => {
    const all = await open(`/v1/events?ticket=${await ticketOf()}`);
    expect(all.status).toBe(200);
    await all.body?.cancel();
    const socket = new SocketClient(fixture().gateway.url, {}, `?ticket=${await ticketOf()}`);
    await socket.opened();
    expect(await socket.frame(({ type }) => type === 'ready')).toMatchObject({
      scopes: expect.arrayContaining(['chat']),
    });
    socket.webSocket.terminate();
    for (const path of ['/v1/sessions', '/v1/usage', '/metrics']) {
      const refused = await fetch(at(`${path}?ticket=${await ticketOf()}`));
      expect([path, refused.status]).toEqual([path, 401]);
    }
  });

  it('ends with its token within a second, and works only for a minute', async () => {
    const secret = 'parley_a-token-that-will-be-revoked-0123456789';
    const { access } = fixture().store;
    const { tokenId } = await access.putToken({ hash: hashSecret(secret), name: 'leaver', scopes: ['chat'] });
    const stream = await open(`/v1/events?ticket=${await ticketOf(secret)}`);
    const unused = await ticketOf(secret);
    expect(await access.revokeToken(tokenId)).toBe(true);
    await stream.text().catch(() => '');
    expect((await open(`/v1/events?ticket=${unused}`)).status).toBe(401);
    const late = await ticketOf();
    await fixture().sql`update sign_in set expires_at = now() - interval '1 second' where kind = 'ticket'`;
    expect((await open(`/v1/events?ticket=${late}`)).status).toBe(401);
  });

  it('is limited in number: beyond the limit the oldest is dropped, and guessing is slowed down', async () => {
    const first = await ticketOf();
    const others = await Promise.all(Array.from({ length: MAX_TICKETS }, () => ticketOf()));
    expect((await open(`/v1/events?ticket=${first}`)).status).toBe(401);
    const statuses: number[] = [];
    for (let n = 0; n < 30; n += 1) statuses.push((await open(`/v1/events?ticket=guess-${n}`)).status);
    expect(statuses).toContain(429);
    const right = await open(`/v1/events?ticket=${others.at(-1)}`);
    expect(right.status).toBe(200);
    await right.body?.cancel();
    // On a slow machine one more guess may have become possible.
    expect([401, 429]).toContain((await open(`/v1/events?ticket=${'x'.repeat(5_000)}`)).status);
  });

  it('is not for the page, whose cookie opens its streams, and its text is stored nowhere', async () => {
    const code = ((await fixture().gateway.signInLink()) ?? '').split('=')[1] ?? '';
    const page = { 'x-parley-page': '1', 'content-type': 'application/json' };
    const signedIn = await fetch(at('/v1/sign-in'), {
      method: 'POST',
      headers: page,
      body: JSON.stringify({ code }),
    });
    const headers = await pageSession(signedIn);
    const refused = await fetch(at('/v1/stream-tickets'), { method: 'POST', headers });
    expect(await refused.json()).toMatchObject({ error: { code: 'token_needed' } });
    const ticket = await ticketOf();
    expect(await fixture().dump()).not.toContain(ticket);
  });
});
