/** Slow clients: headers that never end are timed out, and other requests are answered in the meantime. */
import { afterEach, describe, expect, it } from 'vitest';
import { HEADERS_TIMEOUT_MS } from '../../../channels/http/config.ts';
import { openApi, type OpenApi } from './client.ts';
import { openSocket, readAnswer } from './raw-http.ts';

describe('a client that sends its headers byte by byte', () => {
  let api: OpenApi | undefined;
  afterEach(() => api?.close());

  it('is answered 408 after 10 seconds, while others are served', async () => {
    api = await openApi();
    const began = performance.now();
    const sockets = await Promise.all(Array.from({ length: 50 }, () => openSocket(api?.url ?? '')));
    const answers = sockets.map(readAnswer);
    for (const socket of sockets) socket.write('GET /v1/models HTTP/1.1\r\nX-Slow: ');
    const drip = setInterval(() => {
      for (const socket of sockets) if (socket.writable) socket.write('x');
    }, 1_000);
    expect((await api.call('/v1/models')).status).toBe(200);
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    clearInterval(drip);
    const took = performance.now() - began;
    for (const socket of sockets) socket.destroy();
    expect(new Set(statuses)).toEqual(new Set([408]));
    expect(took).toBeGreaterThan(HEADERS_TIMEOUT_MS - 500);
    expect(took).toBeLessThan(HEADERS_TIMEOUT_MS + 5_000);
  });
});
