/** Stored responses in the store: per token, chained, and deleted by number, size and age. */
import { expect, it } from 'vitest';
import {
  MAX_CHAIN_BYTES,
  MAX_RESPONSE_BYTES,
  MAX_RESPONSES,
  RESPONSE_MS,
  type StoredResponse,
} from '../../../src/protocol/store/ledger.ts';
import { describeStore, type TestStore } from '../../database.ts';

const A = { tokenId: 'a', endUser: undefined };
const says = (content: string) => ({ role: 'user', content });
const answer = (id: string, text = 'Hello.') => ({
  id,
  output: [{ id: `msg_${id}_0`, type: 'message', text }],
});
const response = (id: string, more: Partial<StoredResponse> = {}): StoredResponse => ({
  id,
  previousId: undefined,
  session: undefined,
  input: [says(`to ${id}`)],
  body: answer(id),
  ...more,
});
/** A text of this many bytes. */
const long = (bytes: number) => 'x'.repeat(bytes);
const age = ({ sql }: TestStore, id: string, ms: number) =>
  sql`update stored_response set used_at = now() - ${ms}::float8 * interval '1 millisecond' where id = ${id}`;
const idsOf = async ({ sql }: TestStore) =>
  (await sql<{ id: string }[]>`select id from stored_response order by id`).map(({ id }) => id);

describeStore('stored responses', (databases) => {
  it('are found and deleted by the token that stored them only', async () => {
    const { responses } = await databases.open();
    const stored = response('resp_1', { session: 'http:anna', input: [says('a\u0000')] });
    await responses.storeResponse(A, stored);
    expect(await responses.response('a', 'resp_1')).toEqual({ ...stored, input: [says('a\u2400')] });
    for (const [token, id] of [
      ['b', 'resp_1'],
      ['a', 'resp_2'],
      ['a', ''],
    ] as const) {
      expect(await responses.response(token, id)).toBeUndefined();
      expect(await responses.deleteResponse(token, id)).toBe(false);
      expect(await responses.responseChain(token, id)).toEqual({ missing: id });
    }
    expect(await responses.deleteResponse('a', 'resp_1')).toBe(true);
    expect(await responses.response('a', 'resp_1')).toBeUndefined();
  });

  it('are replaced by one of the same id', async () => {
    const { responses } = await databases.open();
    await responses.storeResponse(A, response('resp_1'));
    await responses.storeResponse(A, response('resp_1', { body: answer('resp_1', 'Again.') }));
    expect(await responses.response('a', 'resp_1')).toMatchObject({ body: { output: [{ text: 'Again.' }] } });
  });

  it('give their items by place, in the order of the question', async () => {
    const { responses } = await databases.open();
    await responses.storeResponse(A, response('resp_1'));
    await responses.storeResponse(A, response('resp_2'));
    const place = (responseId: string, part: 'input' | 'output', index: number) => ({
      responseId,
      part,
      index,
    });
    const places = [
      place('resp_2', 'output', 0),
      place('resp_1', 'input', 0),
      place('resp_1', 'output', 1),
      place('resp_3', 'output', 0),
      place('resp_2', 'output', 0),
    ];
    const [hello] = answer('resp_2').output;
    expect(await responses.responseItems('a', places)).toEqual([
      hello,
      says('to resp_1'),
      undefined,
      undefined,
      hello,
    ]);
    expect(await responses.responseItems('b', places)).toEqual(places.map(() => undefined));
  });

  it('give the whole conversation that leads to them, or say which part of it is missing', async () => {
    const { responses } = await databases.open();
    await responses.storeResponse(A, response('resp_1'));
    await responses.storeResponse(A, response('resp_2', { previousId: 'resp_1' }));
    await responses.storeResponse(A, response('resp_3', { previousId: 'resp_2' }));
    expect(await responses.responseChain('a', 'resp_3')).toEqual({
      items: ['resp_1', 'resp_2', 'resp_3'].flatMap((id) => [says(`to ${id}`), ...answer(id).output]),
    });
    await responses.storeResponse(A, response('resp_4', { session: 'http:anna' }));
    expect(await responses.responseChain('a', 'resp_4')).toEqual({ session: 'http:anna' });
    await responses.deleteResponse('a', 'resp_2');
    expect(await responses.responseChain('a', 'resp_3')).toEqual({ missing: 'resp_2' });
  });

  it(`are forgotten ${RESPONSE_MS} ms after they were last continued`, async () => {
    const store = await databases.open();
    const { responses } = store;
    const ids = ['resp_1', 'resp_2', 'resp_3'];
    for (const id of ids) await responses.storeResponse(A, response(id));
    await age(store, 'resp_1', RESPONSE_MS + 1_000);
    await age(store, 'resp_2', RESPONSE_MS - 10_000);
    await age(store, 'resp_3', RESPONSE_MS - 10_000);
    expect(await responses.response('a', 'resp_1')).toBeUndefined();
    expect(await responses.response('a', 'resp_2')).toBeDefined();
    await responses.storeResponse(A, response('resp_4', { previousId: 'resp_3' }));
    await store.sql`update stored_response set used_at = used_at - interval '1 minute'`;
    expect(await responses.purgeResponses(1)).toBe(1);
    expect(await responses.purgeResponses(10)).toBe(1);
    expect(await idsOf(store)).toEqual(['resp_3', 'resp_4']);
  });

  it(`are at most ${MAX_RESPONSES} for a token: the oldest go`, async () => {
    const store = await databases.open();
    await store.sql`
      insert into stored_response (token_id, id, input, body, input_bytes, body_bytes, used_at)
      select 'a', 'resp_' || n, '[]', '{"output": []}', 2, 14, now() - interval '1 hour' + n * interval '1 second'
      from generate_series(1, ${MAX_RESPONSES - 1}) n`;
    await store.responses.storeResponse(A, response('resp_x'));
    expect(await store.responses.response('a', 'resp_1')).toBeDefined();
    await store.responses.storeResponse(A, response('resp_y'));
    expect(await store.responses.response('a', 'resp_1')).toBeUndefined();
    expect(await idsOf(store)).toHaveLength(MAX_RESPONSES);
  });

  it(`take at most ${MAX_RESPONSE_BYTES} bytes, and their inputs as many: those are deleted first`, async () => {
    const store = await databases.open();
    const { responses, sql } = store;
    for (const id of ['resp_1', 'resp_2']) await responses.storeResponse(A, response(id));
    await age(store, 'resp_1', 2_000);
    await age(store, 'resp_2', 1_000);
    const { input_bytes: mine } = (
      await sql<{ input_bytes: number }[]>`
      select input_bytes from stored_response where id = 'resp_2'`
    )[0] ?? { input_bytes: 0 };
    await sql`update stored_response set input_bytes = ${MAX_RESPONSE_BYTES - mine} where id = 'resp_2'`;
    await sql`update stored_response set input_bytes = 0 where id = 'resp_1'`;
    await responses.storeResponse(A, response('resp_3'));
    expect(await responses.response('a', 'resp_2')).toMatchObject({ input: [says('to resp_2')] });
    await responses.storeResponse(A, response('resp_4'));
    expect(await responses.response('a', 'resp_2')).toMatchObject({
      input: undefined,
      body: { id: 'resp_2' },
    });
    expect(await responses.responseChain('a', 'resp_2')).toEqual({ missing: 'resp_2' });
    await sql`update stored_response set body_bytes = ${MAX_RESPONSE_BYTES} where id = 'resp_2'`;
    await responses.storeResponse({ tokenId: 'b', endUser: undefined }, response('resp_5'));
    expect(await idsOf(store)).toHaveLength(5);
    await responses.storeResponse(A, response('resp_6'));
    expect(await idsOf(store)).toEqual(['resp_3', 'resp_4', 'resp_5', 'resp_6']);
  });

  it(`are not put together to more than ${MAX_CHAIN_BYTES} bytes`, async () => {
    const { responses } = await databases.open();
    await responses.storeResponse(A, response('resp_1', { input: [says(long(MAX_CHAIN_BYTES / 2))] }));
    const half = MAX_CHAIN_BYTES / 2 - 1_000;
    await responses.storeResponse(A, response('resp_2', { previousId: 'resp_1', input: [says(long(half))] }));
    expect(await responses.responseChain('a', 'resp_2')).toHaveProperty('items');
    await responses.storeResponse(
      A,
      response('resp_3', { previousId: 'resp_2', input: [says(long(1_000))] }),
    );
    const { bytes } = Object.assign({ bytes: 0 }, await responses.responseChain('a', 'resp_3'));
    expect(bytes).toBeGreaterThan(MAX_CHAIN_BYTES);
  });

  it('are deleted with the person whom they answered', async () => {
    const store = await databases.open();
    const { responses, people } = store;
    const keep = { sessions: [], fileDays: 30 };
    await responses.storeResponse({ tokenId: 'a', endUser: 'anna' }, response('resp_1'));
    await responses.storeResponse({ tokenId: 'a', endUser: 'ben' }, response('resp_2'));
    await responses.storeResponse({ tokenId: 'b', endUser: 'anna' }, response('resp_3'));
    const anna = { channel: 'http', id: 'token:a', endUser: 'anna' };
    expect(await people.person(anna)).toMatchObject({ responses: 1 });
    expect(await people.person({ channel: 'http', id: 'token:a' })).toMatchObject({ responses: 2 });
    expect(await people.person({ channel: 'telegram', id: 'a' })).toMatchObject({ responses: 0 });
    expect(await people.personRows(anna, 'response', { after: 0, limit: 10 })).toMatchObject([
      { kind: 'response', id: 'resp_1', input: [says('to resp_1')], output: answer('resp_1').output },
    ]);
    await people.forgetPerson(anna, keep);
    expect(await idsOf(store)).toEqual(['resp_2', 'resp_3']);
    await people.forgetPerson({ channel: 'http', id: 'token:a' }, keep);
    expect(await idsOf(store)).toEqual(['resp_3']);
  });
});
