/** Downloads in parts and again: ranges, entity tags, and what pages of other origins may read of them. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openApi, type OpenApi } from '../client.ts';
import { stored } from './file-client.ts';

const ORIGIN = 'https://chat.example.org';
const TEXT = 'abcdefghij';
let api: OpenApi;
let path: string;

beforeEach(async () => {
  api = await openApi({ allowedOrigins: [ORIGIN] });
  path = `/v1/sessions/http:a/files/${await stored(api, 'a.txt', TEXT)}`;
});
afterEach(() => api.close());

const fetched = async (headers: Record<string, string> = {}, method = 'GET') => {
  const answer = await api.call(path, { headers, method });
  return {
    status: answer.status,
    range: answer.headers.get('content-range'),
    length: answer.headers.get('content-length'),
    text: await answer.text(),
  };
};

it.each([
  ['bytes=0-3', 'abcd', 'bytes 0-3/10'],
  ['bytes=4-', 'efghij', 'bytes 4-9/10'],
  ['bytes=-3', 'hij', 'bytes 7-9/10'],
  ['bytes=-50', TEXT, 'bytes 0-9/10'],
  ['bytes=9-9', 'j', 'bytes 9-9/10'],
  ['bytes=8-500', 'ij', 'bytes 8-9/10'],
])('answers Range: %s with that part', async (range, text, contentRange) => {
  expect(await fetched({ range })).toEqual({
    status: 206,
    range: contentRange,
    length: String(text.length),
    text,
  });
});

it.each(['bytes=10-', 'bytes=10-20', 'bytes=-0', 'bytes=999999999999999-'])(
  'refuses Range: %s, which is outside the file, with 416 and its length',
  async (range) => {
    expect(await fetched({ range })).toMatchObject({ status: 416, range: 'bytes */10' });
  },
);

it.each(['bytes=0-1,4-5', 'bytes=5-2', 'bytes=a-b', 'bytes=-', 'lines=0-1', 'bytes=9999999999999999-'])(
  'answers Range: %s with the whole file',
  async (range) => {
    expect(await fetched({ range })).toMatchObject({ status: 200, range: null, text: TEXT });
  },
);

it('answers a repeated download that has not changed with 304 and no body', async () => {
  const etag = (await api.call(path)).headers.get('etag') ?? '';
  expect(etag).toMatch(/^"[\w-]+"$/);
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    expect(await fetched({ 'if-none-match': known })).toMatchObject({ status: 304, text: '' });
  }
  expect(await fetched({ 'if-none-match': '"other"' })).toMatchObject({ status: 200, text: TEXT });
});

it('continues a download only while the file is the same', async () => {
  const etag = (await api.call(path)).headers.get('etag') ?? '';
  const range = 'bytes=4-';
  expect(await fetched({ range, 'if-range': etag })).toMatchObject({ status: 206, text: 'efghij' });
  for (const other of ['"other"', `W/${etag}`, 'Thu, 01 Jan 1970 00:00:00 GMT']) {
    expect(await fetched({ range, 'if-range': other })).toMatchObject({ status: 200, text: TEXT });
  }
});

it('says in a HEAD that parts can be asked for, and how long the file is', async () => {
  const head = await api.call(path, { method: 'HEAD' });
  expect(head.status).toBe(200);
  expect(Object.fromEntries(head.headers)).toMatchObject({
    'accept-ranges': 'bytes',
    'content-length': '10',
  });
});

it('lets pages of an allowed origin read the name, the tag and the range', async () => {
  const answer = await api.call(path, { headers: { origin: ORIGIN, range: 'bytes=0-1' } });
  const exposed = answer.headers.get('access-control-expose-headers')?.split(', ');
  expect(exposed).toEqual(
    expect.arrayContaining(['content-disposition', 'content-range', 'accept-ranges', 'etag']),
  );
});
