/** Lists of sessions over HTTP: what marks each, what a search finds in them, and which events cover all of them. */
import { expect, it, vi } from 'vitest';
import { MAX_DELETED_AT_ONCE, MAX_SEARCHES_AT_ONCE } from '../../../src/protocol/sessions/session-list.ts';
import { hashSecret } from '../../../src/security/token-lookup.ts';
import { frames } from '../../channels/http/client.ts';
import { describeGateway, WAIT } from '../setup.ts';

const FRIEND = 'parley_a-friend-who-chats-0123456789abcdef';

interface Listed {
  key: string;
  state: string;
  unread: number;
  preview: string;
  ownerName: string;
}

describeGateway('lists of sessions', {}, (fixture) => {
  const list = async (query = '', token?: string): Promise<Listed[]> => {
    const answer = await fixture().call(`/v1/sessions?${query}`, token === undefined ? {} : { token });
    const { sessions }: { sessions: Listed[] } = await answer.json();
    return sessions;
  };
  const keys = async (query = ''): Promise<string[]> => (await list(query)).map(({ key }) => key);
  const change = (id: string, json: unknown): Promise<Response> =>
    fixture().call(`/v1/sessions/http:${id}`, { method: 'PATCH', json });
  const found = async (text: string, token?: string): Promise<string[]> => {
    const path = `/v1/search?q=${encodeURIComponent(text)}`;
    const answer = await fixture().call(path, token === undefined ? {} : { token });
    const body: { found: { key: string; match: { snippet: string } | null }[] } = await answer.json();
    return body.found.map(({ key, match }) => `${key} ${match?.snippet ?? ''}`.trim());
  };
  const say = async (id: string, content: string): Promise<void> => {
    await fixture().post(id, content);
    await fixture().idle(`http:${id}`);
  };

  it('show what is running and what is new, with pinned ones first and archived ones separate', async () => {
    const { ollama } = fixture();
    await say('one', 'first words');
    await say('two', 'second words');
    ollama.answer({ text: 'slow', hold: true }, { when: 'take your time' });
    await fixture().post('two', 'take your time');
    const call = await fixture().modelCall('take your time');
    const [two, one] = await list();
    expect(two).toMatchObject({ key: 'http:two', state: 'running', preview: 'second words' });
    expect(one).toMatchObject({ key: 'http:one', state: 'idle', unread: 2 });
    call.release();
    await fixture().idle('http:two');
    expect((await change('one', { pinned: true, readSeq: 2 })).status).toBe(200);
    expect((await list())[0]).toMatchObject({ key: 'http:one', unread: 0 });
    await change('two', { archived: true });
    expect(await keys()).toEqual(['http:one']);
    expect(await keys('archived=true')).toEqual(['http:two']);
    await change('two', { archived: false });
    expect(await keys('limit=1')).toEqual(['http:one', 'http:two']);
  });

  it('have few searches of one token at once, and leave the others theirs', async () => {
    const search = (token?: string): Promise<Response> =>
      fixture().call('/v1/search?q=word', token === undefined ? {} : { token });
    await fixture().store.access.putToken({ hash: hashSecret(FRIEND), name: 'a friend', scopes: ['chat'] });
    await fixture().sql.begin(async (sql) => {
      await sql`lock table message in access exclusive mode`;
      const searches = Array.from({ length: MAX_SEARCHES_AT_ONCE }, () => search());
      await vi.waitFor(async () => {
        const more = await search();
        expect([more.status, more.headers.get('retry-after')]).toEqual([429, '1']);
        expect(await more.json()).toMatchObject({ error: { code: 'too_many_searches' } });
      }, WAIT);
      const [slow, other] = await Promise.all([searches[0], search(FRIEND)]);
      expect([slow?.status, other.status]).toEqual([503, 503]);
      expect(await other.json()).toMatchObject({ error: { code: 'search_timeout' } });
      await Promise.all(searches);
    });
    expect((await search()).status).toBe(200);
  });

  it('are searched by words of messages and titles, each token within its own', async () => {
    await fixture().store.access.putToken({ hash: hashSecret(FRIEND), name: 'a friend', scopes: ['chat'] });
    await say('cooking', 'How long does an artichoke take to boil?');
    await change('cooking', { title: 'Thistles in the kitchen' });
    await fixture().call('/v1/sessions/http:friends/messages', {
      token: FRIEND,
      json: { content: 'An artichoke is a flower' },
    });
    await fixture().idle('http:friends');
    expect(new Set((await found('artichoke')).map((line) => line.split(' ')[0]))).toEqual(
      new Set(['http:cooking', 'http:friends']),
    );
    expect((await found('artichoke boil'))[0]).toMatch(/^http:cooking .*artichoke take to boil/);
    expect(await found('thistles')).toEqual(['http:cooking']);
    expect(await found('artichoke -boil', FRIEND)).toEqual(['http:friends echo: An artichoke is a flower']);
    expect(await found('thistles', FRIEND)).toEqual([]);
    expect((await fixture().call('/v1/search?q=')).status).toBe(400);
    expect((await list('')).find(({ key }) => key === 'http:friends')).toMatchObject({
      ownerName: 'a friend',
      own: false,
    });
  });

  it('report changes in every session that the token may see, and in no other', async () => {
    const closed = new AbortController();
    const { signal } = closed;
    const streams = await Promise.all([
      fixture().call('/v1/events', { token: FRIEND, signal }),
      fixture().call('/v1/events', { signal }),
    ]);
    const [friends, all] = streams.map((response) => {
      const events: { type: string; sessionKey: string }[] = [];
      const read = (async () => {
        for await (const { data } of frames(response)) if (data !== undefined) events.push(JSON.parse(data));
      })();
      return { events, read };
    });
    await say('secret', 'nobody else reads this');
    await fixture().call('/v1/sessions/http:friends/messages', { token: FRIEND, json: { content: 'mine' } });
    await fixture().idle('http:friends');
    const of = (key: string, events: readonly { type: string; sessionKey: string }[] = []): string[] =>
      events.filter(({ sessionKey }) => sessionKey === key).map(({ type }) => type);
    await vi.waitFor(() => expect(of('http:friends', friends?.events)).toContain('turn_ended'), WAIT);
    const call = ['stream_start', 'stream_chunk', 'stream_end'];
    const types = ['message_received', 'turn_started', ...call, 'turn_ended'];
    expect(of('http:friends', friends?.events)).toEqual(types);
    expect(of('http:secret', friends?.events)).toEqual([]);
    await vi.waitFor(() => expect(of('http:friends', all?.events)).toContain('turn_ended'), WAIT);
    expect(of('http:secret', all?.events)).toContain('turn_ended');
    expect(JSON.stringify(all?.events)).not.toContain('nobody else');
    closed.abort();
    const ends = await Promise.allSettled([friends?.read, all?.read]);
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  it(`are shortened by one request that deletes at most ${MAX_DELETED_AT_ONCE} sessions`, async () => {
    const remove = (gone: string[], token?: string): Promise<Response> =>
      fixture().call('/v1/sessions/delete', { json: { keys: gone }, ...(token && { token }) });
    expect(await (await remove(['http:cooking'], FRIEND)).json()).toEqual({ deleted: [] });
    expect(await (await remove(['http:cooking', 'http:one', 'http:nobody'])).json()).toEqual({
      deleted: ['http:cooking', 'http:one'],
    });
    const many = Array.from({ length: MAX_DELETED_AT_ONCE + 1 }, (_, n) => `http:none-${n}`);
    expect((await remove(many)).status).toBe(400);
    expect((await remove(many.slice(1))).status).toBe(200);
  });
});
