/** The connection of Socket Mode before it is known to be up: what arrives early waits, but not without end. */
import { once } from 'node:events';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { MAX_EARLY, SocketLink } from '../../../channels/slack/socket.ts';
import type { SlackApi, SlackTiming } from '../../../channels/slack/web-api.ts';
import { silentLog } from '../../database.ts';

const WAIT = { timeout: 8_000, interval: 5 };

let server: WebSocketServer;
let link: SocketLink;
/** What the link passes on, in order. */
let told: unknown[];
beforeEach(async () => {
  server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  const address = server.address();
  const url = `ws://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  told = [];
  const api = { call: () => Promise.resolve({ url }) } as unknown as SlackApi;
  const timing = { retryBaseMs: 10, closeMs: 100 } as SlackTiming;
  link = new SocketLink(api, 'http://127.0.0.1', silentLog, timing, {
    envelope: ({ payload }) => told.push(payload),
    connected: () => told.push('connected'),
    lost: () => told.push('lost'),
  });
});
afterEach(async () => {
  await link.stop();
  server.close();
});

const envelope = (nth: number, payload: unknown = nth): string =>
  JSON.stringify({ envelope_id: `envelope-${nth}`, type: 'events_api', payload });

it(`keeps ${MAX_EARLY} envelopes that arrive before it is up, and leaves others to be sent again`, async () => {
  const started = link.start();
  const [socket] = (await once(server, 'connection')) as [WebSocket];
  for (let nth = 0; nth <= MAX_EARLY; nth += 1) socket.send(envelope(nth));
  socket.send(JSON.stringify({ type: 'hello' }));
  await started;
  // Slack repeats what was not acknowledged.
  socket.send(envelope(MAX_EARLY, 'again'));
  await vi.waitFor(() => expect(told).toHaveLength(MAX_EARLY + 2), WAIT);
  expect(told).toEqual(['connected', ...Array.from({ length: MAX_EARLY }, (_, nth) => nth), 'again']);
});
