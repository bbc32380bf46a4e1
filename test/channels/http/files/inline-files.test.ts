/** Files in the bodies of completions and responses: which parts are read, and what is refused by name. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  MAX_BODY_BYTES,
  MAX_INLINE_BODY_BYTES,
  MAX_INLINE_FILES,
  MAX_LARGE_BODIES,
} from '../../../../channels/http/config.ts';
import type { StatelessMessage } from '../../../../src/protocol/gateway-api.ts';
import { CHAT } from '../../../fakes/gateway/gateway-api.ts';
import { openApi, type OpenApi } from '../client.ts';
import { codeOf, PNG } from './file-client.ts';

const WAIT = { timeout: 20_000, interval: 10 };

let api: OpenApi;
let asked: StatelessMessage[] = [];
beforeEach(async () => {
  api = await openApi();
  const { completion } = api.gateway;
  api.gateway.completion = (request, signal) => {
    asked = request.messages;
    return completion(request, signal);
  };
});
afterEach(() => api.close());

const DATA = PNG.toString('base64');
const URL_OF_DATA = `data:image/png;base64,${DATA}`;
const IMAGE = { type: 'image_url', image_url: { url: URL_OF_DATA, detail: 'low' } };

/** Requests a completion whose only message has this content. */
function complete(content: unknown, { role = 'user', session = '' } = {}): Promise<Response> {
  const headers: Record<string, string> = { authorization: CHAT };
  if (session !== '') headers['x-session-id'] = session;
  return api.call('/v1/chat/completions', { json: { messages: [{ role, content }] }, headers });
}

/** Requests a response whose only message has this content. */
function respond(content: unknown): Promise<Response> {
  return api.call('/v1/responses', {
    json: { input: [{ role: 'user', content }] },
    headers: { authorization: CHAT },
  });
}

describe('a message of a request', () => {
  it('brings images, recordings and documents in the parts of chat completions', async () => {
    const parts = [
      { type: 'text', text: 'What are' },
      IMAGE,
      { type: 'input_audio', input_audio: { data: DATA, format: 'mp3' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${DATA}` } },
      { type: 'file', file: { file_data: DATA } },
      { type: 'text', text: 'these?' },
    ];
    expect((await complete(parts)).status).toBe(200);
    const files = ['image-2', 'audio-3.mp3', 'a.pdf', 'file-5'].map((name) => ({ name, base64: DATA }));
    expect(asked).toEqual([{ role: 'user', content: 'What are\nthese?', files }]);
  });

  it('brings them in the parts of responses', async () => {
    const parts = [
      { type: 'input_text', text: 'What are these?' },
      { type: 'input_image', image_url: URL_OF_DATA, detail: 'auto' },
      { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${DATA}` },
    ];
    expect((await respond(parts)).status).toBe(200);
    const files = ['image-2', 'a.pdf'].map((name) => ({ name, base64: DATA }));
    expect(asked).toEqual([{ role: 'user', content: 'What are these?', files }]);
  });

  it('puts them into the folder of its session, once', async () => {
    for (let n = 0; n < 2; n += 1) expect((await complete([IMAGE], { session: 'a' })).status).toBe(200);
    const media = [...api.gateway.turns.values()].map((turn) => turn.message.media);
    const [first] = media[0]!;
    expect(first).toMatchObject({ kind: 'image', name: 'image-1', mimeType: 'image/png', bytes: PNG.length });
    expect(media).toEqual([[first], [first]]);
    const path = first!.url.replace('session:', '');
    expect(
      (await api.call(`/v1/sessions/http:a/files/${path}`, { headers: { authorization: CHAT } })).status,
    ).toBe(200);
  });

  it.each([
    [
      'an address',
      { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
      'unsupported_value',
    ],
    [
      'an address in the gateway’s network',
      { type: 'image_url', image_url: 'http://127.0.0.1/' },
      'unsupported_value',
    ],
    [
      'a data URL that is not base64',
      { type: 'image_url', image_url: { url: 'data:image/png,x' } },
      'unsupported_value',
    ],
    ['broken base64', { type: 'image_url', image_url: { url: 'data:image/png;base64,a' } }, 'invalid_body'],
    ['no base64', { type: 'input_audio', input_audio: { data: '....', format: 'mp3' } }, 'invalid_body'],
    [
      'a format like a path',
      { type: 'input_audio', input_audio: { data: DATA, format: '../x' } },
      'invalid_body',
    ],
    ['the id of a file', { type: 'file', file: { file_id: 'file-1' } }, 'unsupported_value'],
    ['nothing', { type: 'image_url' }, 'invalid_body'],
    ['a part of another kind', { type: 'video_url', video_url: { url: URL_OF_DATA } }, 'unsupported_value'],
  ])('is refused when it brings %s', async (_what, part, code) => {
    const answer = await complete([{ type: 'text', text: 'look' }, part]);
    expect(answer.status).toBe(400);
    const { error } = await answer.json();
    expect(error.code).toBe(code);
    expect(error.param).toMatch(/^messages\.0\.content\.1/);
  });

  it('says that an address is not fetched, and what to send instead', async () => {
    const answer = await complete([{ type: 'image_url', image_url: { url: 'https://example.org/a.png' } }]);
    const { error } = await answer.json();
    expect(error.message).toContain('nothing is fetched from an address: send the bytes as a data URL');
  });

  it.each(['system', 'assistant', 'tool'])('brings no files in the role %s', async (role) => {
    expect(await codeOf(await complete([IMAGE], { role }))).toBe('400 unsupported_value');
  });

  it('brings a bounded number of files', async () => {
    const images = Array.from({ length: MAX_INLINE_FILES + 1 }, () => IMAGE);
    expect((await complete(images.slice(1))).status).toBe(200);
    expect(await codeOf(await complete(images))).toBe('400 too_many_files');
    // In a session the limit is that of any message; the fake gateway's is 3.
    expect(await codeOf(await complete(images.slice(0, 4), { session: 'a' }))).toBe('400 too_many_files');
  });
});

describe('a large body', () => {
  /** A request of about this many bytes. */
  const sized = (bytes: number): Promise<Response> =>
    complete([{ type: 'file', file: { file_data: 'A'.repeat(bytes - (bytes % 4)) } }]);

  it('may carry files up to its limit, and no route without files accepts one', async () => {
    expect((await sized(MAX_INLINE_BODY_BYTES - 1_000)).status).toBe(200);
    expect(await codeOf(await sized(MAX_INLINE_BODY_BYTES))).toBe('413 body_too_large');
    const content = 'x'.repeat(MAX_BODY_BYTES);
    const post = api.call('/v1/sessions/http:a/messages', {
      json: { content },
      headers: { authorization: CHAT },
    });
    expect(await codeOf(await post)).toBe('413 body_too_large');
  });

  it('is one of a bounded number, until its answer has ended', async () => {
    const release = Promise.withResolvers<void>();
    const { completion } = api.gateway;
    let running = 0;
    api.gateway.completion = async function* (request, signal) {
      running += 1;
      await release.promise;
      yield* completion(request, signal);
    };
    const held = Array.from({ length: MAX_LARGE_BODIES }, () => sized(MAX_BODY_BYTES + 1_000));
    await vi.waitFor(() => expect(running).toBe(MAX_LARGE_BODIES), WAIT);
    expect(await codeOf(await sized(MAX_BODY_BYTES + 1_000))).toBe('503 too_many_large_bodies');
    const small = complete('a small one');
    release.resolve();
    expect((await small).status).toBe(200);
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual(held.map(() => 200));
    await vi.waitFor(async () => expect((await sized(MAX_BODY_BYTES + 1_000)).status).toBe(200), WAIT);
  });
});
