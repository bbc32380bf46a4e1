/** Files that are sent over HTTP, and messages that bring them: what is accepted and what is refused. */
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_UPLOADS_PER_TOKEN } from '../../../../channels/http/config.ts';
import { FILE_LIMITS, PERSON_LIMIT } from '../../../fakes/gateway/files.ts';
import { ADMIN, CHAT, OTHER } from '../../../fakes/gateway/gateway-api.ts';
import { openApi, type OpenApi } from '../client.ts';
import { codeOf, fetched, FILES, PNG, send, stored } from './file-client.ts';
import { openSocket, readAnswer } from '../raw-http.ts';

let api: OpenApi;
beforeEach(async () => {
  api = await openApi();
});
afterEach(() => api.close());

/** The first lines of a raw request. */
const headOf = (name: string | number): string[] => [
  `POST ${FILES}?name=${name} HTTP/1.1`,
  `Host: ${new URL(api.url).host}`,
  `Authorization: ${CHAT}`,
];

describe('a file that is sent', () => {
  it('is stored under a name made from its content, typed by its bytes, and is returned unchanged', async () => {
    const answer = await send(api, 'my photo.txt', PNG);
    expect(answer.status).toBe(201);
    const sent = await answer.json();
    expect(sent).toEqual({
      file: expect.stringMatching(/^inbox\/[0-9a-f]{12}-my photo\.txt$/),
      kind: 'image',
      name: 'my photo.txt',
      mimeType: 'image/png',
      bytes: PNG.length,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const back = await fetched(api, encodeURIComponent(sent.file));
    expect(back.status).toBe(200);
    expect(Buffer.from(await back.arrayBuffer())).toEqual(PNG);
    expect(Object.fromEntries(back.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(PNG.length),
      'content-disposition': `inline; filename="my photo.txt"; filename*=UTF-8''my%20photo.txt`,
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-cache',
    });
  });

  it('is one file when it is sent twice', async () => {
    const names = [
      await stored(api, 'a.txt', 'same'),
      await stored(api, 'a.txt', 'same'),
      await stored(api, 'a.txt', 'other'),
    ];
    expect(new Set(names).size).toBe(2);
  });

  it('creates the session, which belongs to its sender', async () => {
    await stored(api, 'a.txt', 'x');
    const list = await api.call('/v1/sessions', { headers: { authorization: CHAT } });
    expect(await list.json()).toMatchObject({ sessions: [{ key: 'http:a', messageCount: 0 }] });
    expect(await codeOf(await send(api, 'b.txt', 'x', { token: OTHER }))).toBe('404 session_not_found');
  });

  it('arrives in a form, too, with a name in any language', async () => {
    const form = new FormData();
    form.append('note', 'beside it');
    form.append('file', new Blob([PNG]), 'Übersicht – 図.png');
    const answer = await fetch(api.url + FILES, {
      method: 'POST',
      body: form,
      headers: { authorization: CHAT },
    });
    expect(answer.status).toBe(201);
    expect(await answer.json()).toMatchObject({
      name: 'Übersicht – 図.png',
      mimeType: 'image/png',
      bytes: PNG.length,
    });
  });

  it('is removed by name, and then gone', async () => {
    const file = await stored(api, 'a.txt', 'x');
    const gone = (): Promise<Response> =>
      api.call(`${FILES}/${file}`, { method: 'DELETE', headers: { authorization: CHAT } });
    expect(await (await gone()).json()).toEqual({ file, deleted: true });
    expect(await codeOf(await gone())).toBe('404 file_not_found');
    expect(await codeOf(await fetched(api, file))).toBe('404 file_not_found');
  });

  it('may be as large as the limit, which clients can query', async () => {
    const { maxFileBytes } = FILE_LIMITS;
    const asked = await api.call('/v1/file-limits', { headers: { authorization: CHAT } });
    expect(await asked.json()).toEqual(FILE_LIMITS);
    await stored(api, 'a.bin', Buffer.alloc(maxFileBytes));
    expect(await codeOf(await send(api, 'b.bin', Buffer.alloc(maxFileBytes + 1)))).toBe('413 file_too_large');
    const chunks = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start(stream) {
        for (let sent = 0; sent <= maxFileBytes; sent += 10_000) stream.enqueue(new Uint8Array(10_000));
        stream.close();
      },
    });
    expect(await codeOf(await send(api, 'c.bin', chunks))).toBe('413 file_too_large');
    const form = new FormData();
    form.append('file', new Blob([Buffer.alloc(maxFileBytes + 1)]), 'd.bin');
    const inForm = await fetch(api.url + FILES, {
      method: 'POST',
      body: form,
      headers: { authorization: CHAT },
    });
    expect(await codeOf(inForm)).toBe('413 file_too_large');
  });
});

/** The existing sessions. */
const made = () => api.gateway.sessions({ tokenId: 'admin', scopes: ['admin'] }, { limit: 9 });

describe('a file that is refused', () => {
  it('is refused when two gigabytes are announced, before its first byte', async () => {
    const socket = await openSocket(api.url);
    const answer = readAnswer(socket);
    socket.write(
      `${[...headOf('a'), `Content-Length: ${2 ** 31}`, 'Expect: 100-continue'].join('\r\n')}\r\n\r\n`,
    );
    expect((await answer).status).toBe(413);
    socket.destroy();
    expect(await made()).toEqual([]);
  });

  it('is empty, has no name, or is compressed', async () => {
    expect(await codeOf(await send(api, 'a.txt', ''))).toBe('400 empty_file');
    expect(await codeOf(await send(api, '', 'x'))).toBe('400 missing_name');
    expect(await codeOf(await send(api, 'a', 'x', { headers: { 'content-encoding': 'gzip' } }))).toBe(
      '415 unsupported_encoding',
    );
  });

  it('is in a form that has none, two, or is incomplete', async () => {
    const post = async (body: BodyInit, type?: string): Promise<string> => {
      const headers = { authorization: CHAT, ...(type !== undefined && { 'content-type': type }) };
      return await codeOf(await fetch(api.url + FILES, { method: 'POST', body, headers }));
    };
    const none = new FormData();
    none.append('note', 'only words');
    const two = new FormData();
    for (const name of ['a', 'b']) two.append(name, new Blob(['x']), name);
    const part = '--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\nhalf';
    const codes = [
      await post(none),
      await post(two),
      await post(part, 'multipart/form-data; boundary=b'),
      await post(part + 'half'.repeat(40_000), 'multipart/form-data; boundary=b'),
      await post('--b--\r\n', 'multipart/form-data; boundary=b'),
      await post('x', 'multipart/form-data'),
    ];
    expect(new Set(codes)).toEqual(new Set(['400 invalid_form']));
    const first = `inbox/${createHash('sha256').update('x').digest('hex').slice(0, 12)}-a`;
    expect(await codeOf(await fetched(api, first))).toBe('404 file_not_found');
  });

  it('is refused when its sender’s quota is full, until another file is removed', async () => {
    const sizes = Array.from({ length: 5 }, (_, nth) =>
      stored(api, `${nth}.bin`, Buffer.alloc(FILE_LIMITS.maxFileBytes)),
    );
    const [first] = await Promise.all(sizes);
    expect(PERSON_LIMIT.maxBytes).toBe(5 * FILE_LIMITS.maxFileBytes);
    expect(await codeOf(await send(api, 'one.bin', 'x'))).toBe('507 storage_full');
    expect((await send(api, 'other.bin', 'x', { token: ADMIN })).status).toBe(201);
    await api.call(`${FILES}/${first}`, { method: 'DELETE', headers: { authorization: CHAT } });
    await stored(api, 'one.bin', 'x');
    const tooMuch = await send(api, 'two.bin', Buffer.alloc(FILE_LIMITS.maxFileBytes));
    expect(tooMuch.status).toBe(507);
    expect(await tooMuch.json()).toMatchObject({
      error: {
        code: 'storage_full',
        message: expect.stringContaining('may take up 1.0 MB together, and only 0.2 MB of that is left'),
      },
    });
  });

  it('comes without a token, or for a session that accepts no messages over HTTP', async () => {
    expect((await send(api, 'a', 'x', { token: '' })).status).toBe(401);
    const answer = await fetch(`${api.url}/v1/sessions/telegram:1/files?name=a`, {
      method: 'POST',
      body: 'x',
      headers: { authorization: CHAT },
    });
    expect(await codeOf(answer)).toBe('400 not_an_http_session');
  });

  it('is refused when too many are sent at the same time', async () => {
    const opening = Array.from({ length: MAX_UPLOADS_PER_TOKEN }, () => openSocket(api.url));
    const sockets = await Promise.all(opening);
    for (const [nth, each] of sockets.entries()) {
      each.write(`${[...headOf(nth), 'Content-Length: 2'].join('\r\n')}\r\n\r\nx`);
    }
    await vi.waitFor(async () =>
      expect(await codeOf(await send(api, 'z', 'x'))).toBe('429 too_many_uploads'),
    );
    const answers = sockets.map(readAnswer);
    for (const each of sockets) each.write('y');
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(sockets.map(() => 201));
    for (const each of sockets) each.destroy();
    await stored(api, 'z', 'x');
  });

  it('leaves nothing when its sender disconnects', async () => {
    const socket = await openSocket(api.url);
    socket.write(`${[...headOf('a'), 'Content-Length: 10'].join('\r\n')}\r\n\r\nhalf`);
    await vi.waitFor(async () => expect(await made()).toHaveLength(1));
    socket.destroy();
    const all = Array.from({ length: MAX_UPLOADS_PER_TOKEN }, (_, nth) => stored(api, `${nth}`, 'x'));
    expect(new Set(await Promise.all(all)).size).toBe(MAX_UPLOADS_PER_TOKEN);
  });
});

describe('a message with files', () => {
  const post = (files: string[], content = ''): Promise<Response> =>
    api.call('/v1/sessions/http:a/messages', { json: { content, files }, headers: { authorization: CHAT } });

  it('brings them by their names, and needs no text', async () => {
    const file = await stored(api, 'photo.png', PNG);
    expect((await post([file])).status).toBe(202);
    const [turn] = api.gateway.turns.values();
    expect(turn?.message.media).toEqual([
      { kind: 'image', name: 'photo.png', mimeType: 'image/png', bytes: PNG.length, url: `session:${file}` },
    ]);
  });

  it('is refused for a file that does not exist, was not uploaded, or is one too many', async () => {
    const names = await Promise.all(['1', '2', '3', '4'].map((name) => stored(api, name, name)));
    expect(await codeOf(await post(['inbox/000000000000-x'], 'hi'))).toBe('404 file_not_found');
    expect(await codeOf(await post(['notes.txt'], 'hi'))).toBe('404 file_not_found');
    expect(await codeOf(await post(['../../x'], 'hi'))).toBe('404 file_not_found');
    expect(await codeOf(await post(names, 'hi'))).toBe('400 too_many_files');
    expect(await codeOf(await post([names[0]!, names[0]!], 'hi'))).toBe('400 too_many_files');
    expect((await post(names.slice(1), 'hi')).status).toBe(202);
  });
});
