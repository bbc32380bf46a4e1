/** The routes of documents: who may use them, what they take and refuse, and the citations of a session. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type KnowledgeOffer,
  type KnowledgeSource,
  MAX_DOCUMENT_BYTES,
  type OpenedCitation,
} from '../../../../src/protocol/knowledge.ts';
import { storedText, textRef } from '../../../../src/protocol/texts/say.ts';
import { ADMIN, CHAT } from '../../../fakes/gateway/gateway-api.ts';
import { openApi, type OpenApi } from '../client.ts';

const SOURCE: KnowledgeSource = {
  id: 's1',
  scope: 'profile/default',
  kind: 'folder',
  location: '/srv/docs',
  instance: 'of-this-machine',
  state: 'failed',
  problem: storedText(textRef('knowledge.no_path', { location: '/srv/docs', code: 'ENOENT' })),
  documents: 0,
  failed: 0,
  passages: 0,
  vectors: 0,
  createdAt: new Date(0),
};
const CITATION: OpenedCitation = {
  number: 3,
  documentId: 'd1',
  title: 'rules.md',
  place: { headings: ['Shoes'] },
  content: 'No shoes.',
  state: 'same',
  before: [],
  after: [],
};

const { number, documentId, title, place } = CITATION;

let api: OpenApi;
let offers: KnowledgeOffer[] = [];
beforeAll(async () => {
  api = await openApi();
  const { gateway } = api;
  gateway.knowledge = {
    ...gateway.knowledge,
    list: async () => ({ sources: [SOURCE], search: { model: 'bge-m3', isSet: false } }),
    add: async (offer) => {
      offers.push(offer);
      return SOURCE;
    },
    documents: async (id) => (id === 's1' ? { source: SOURCE, documents: [] } : undefined),
    passages: async (id) =>
      id === 'd1' ? [{ position: 0, hash: 'h', place: {}, context: '', content: 'No shoes.' }] : undefined,
    refresh: async (id) => id === 's1',
    remove: async (id) => id === 's1',
    citations: async (_caller, key) =>
      key === 'http:talk' ? [{ number, documentId, title, place }] : undefined,
    citation: async (_caller, key, number) =>
      key !== 'http:talk' ? undefined : number === 3 ? CITATION : null,
  };
});
afterAll(() => api.close());

it('belong to admins alone', async () => {
  for (const [method, path] of [
    ['GET', '/v1/knowledge'],
    ['GET', '/v1/knowledge/s1'],
    ['GET', '/v1/knowledge/d1/passages'],
    ['POST', '/v1/knowledge/s1/refresh'],
    ['DELETE', '/v1/knowledge/s1'],
  ] as const) {
    const answer = await api.call(path, { method, headers: { authorization: CHAT } });
    expect([method, path, answer.status]).toEqual([method, path, 403]);
  }
  const answer = await api.call('/v1/knowledge', {
    json: { url: 'https://example.org' },
    headers: { authorization: CHAT },
  });
  expect(answer.status).toBe(403);
});

it('list sources with their problems in words, and without the name of the machine', async () => {
  const body = await (await api.call('/v1/knowledge')).json();
  expect(body).toMatchObject({
    sources: [{ id: 's1', problem: '/srv/docs cannot be read (ENOENT).' }],
    search: { model: 'bge-m3' },
  });
  expect(JSON.stringify(body)).not.toContain('of-this-machine');
  expect((await api.call('/v1/knowledge/s1')).status).toBe(200);
  expect((await api.call('/v1/knowledge/s2')).status).toBe(404);
  expect((await api.call('/v1/knowledge/d1/passages')).status).toBe(200);
  expect((await api.call('/v1/knowledge/d2/passages')).status).toBe(404);
  expect((await api.call('/v1/knowledge/s1/refresh', { method: 'POST' })).status).toBe(200);
  expect((await api.call('/v1/knowledge/s2/refresh', { method: 'POST' })).status).toBe(404);
  expect((await api.call('/v1/knowledge/s1', { method: 'DELETE' })).status).toBe(200);
  expect((await api.call('/v1/knowledge/s2', { method: 'DELETE' })).status).toBe(404);
});

it('take an address for a profile or a chat, and never a path of the server', async () => {
  offers = [];
  const post = async (json: object): Promise<number> => (await api.call('/v1/knowledge', { json })).status;
  expect(await post({ url: 'https://example.org/a' })).toBe(202);
  expect(await post({ url: 'https://example.org/a', profile: 'kitchen' })).toBe(202);
  expect(await post({ url: 'https://example.org/a', chat: 'telegram:42' })).toBe(202);
  expect(offers.map(({ scope }) => scope)).toEqual([
    'profile/default',
    'profile/kitchen',
    'chat/telegram:42',
  ]);
  expect(await post({ url: 'https://example.org/a', chat: 'telegram:42', profile: 'kitchen' })).toBe(400);
  expect(await post({ url: 'https://example.org/a', chat: 'nowhere' })).toBe(400);
  expect(await post({ path: '/etc/passwd' })).toBe(400);
  expect(await post({ url: 'https://example.org/a', path: '/etc/passwd' })).toBe(400);
  expect(offers).toHaveLength(3);
});

it('take a file in a form, up to the largest size', async () => {
  offers = [];
  const upload = async (bytes: number): Promise<number> => {
    const body = new FormData();
    body.set('chat', 'http:talk');
    body.set('file', new Blob([Buffer.alloc(bytes, 'a')]), 'rules.txt');
    const headers = { authorization: ADMIN };
    const answer = await fetch(`${api.url}/v1/knowledge`, { method: 'POST', body, headers });
    return answer.status;
  };
  expect(await upload(MAX_DOCUMENT_BYTES)).toBe(202);
  expect(offers[0]).toMatchObject({ scope: 'chat/http:talk', upload: { name: 'rules.txt' } });
  expect(offers[0]?.upload?.bytes).toHaveLength(MAX_DOCUMENT_BYTES);
  expect(await upload(MAX_DOCUMENT_BYTES + 1)).toBe(413);
  expect(offers).toHaveLength(1);
});

it('show the citations of a session to whoever may read it', async () => {
  const list = await api.call('/v1/sessions/http:talk/citations');
  expect(await list.json()).toMatchObject({ citations: [{ number: 3, title: 'rules.md' }] });
  const opened = await api.call('/v1/sessions/http:talk/citations/3');
  expect(await opened.json()).toMatchObject({ content: 'No shoes.', state: 'same' });
  const codeOf = async (path: string): Promise<string> => {
    const { error }: { error: { code: string } } = await (await api.call(path)).json();
    return error.code;
  };
  expect(await codeOf('/v1/sessions/http:talk/citations/4')).toBe('citation_not_found');
  expect(await codeOf('/v1/sessions/http:talk/citations/x')).toBe('citation_not_found');
  expect(await codeOf('/v1/sessions/http:other/citations/3')).toBe('session_not_found');
});
