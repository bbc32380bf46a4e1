/** API hosts and model servers that never come to an end: each call ends by itself, in time and in memory. */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DiscordRest } from '../../channels/discord/rest.ts';
import { MatrixClient } from '../../channels/matrix/client.ts';
import { SlackApi } from '../../channels/slack/web-api.ts';
import { BotApi } from '../../channels/telegram/bot-api.ts';
import { MAX_ANSWER_BYTES } from '../../src/lib/async/http-stream.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createOllama } from '../../src/providers/ollama/ollama.ts';
import { createOpenai } from '../../src/providers/openai/openai.ts';
import { never } from '../providers/request.ts';
import { OLLAMA_SERVER, OPENAI_SERVER } from '../providers/servers.ts';

/** Between two bytes of a host that trickles, in milliseconds: far less than any limit on silence. */
const TRICKLE_MS = 100;
/** What a connection may have sent besides what was read: the buffers of the kernel and of the client. */
const BUFFERED_BYTES = 8 * 1024 * 1024;

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
/** What a host answers forever: a beginning, then pieces. */
const ANSWERS = {
  'headers that never end': { first: HEAD, piece: 'x: y\r\n', trickles: true },
  'a body that trickles': { first: `${HEAD}connection: close\r\n\r\n{"ok":`, piece: ' ', trickles: true },
  'a body of endless size': {
    first: `${HEAD}connection: close\r\n\r\n{"ok":"`,
    piece: 'x'.repeat(1024 * 1024),
    trickles: false,
  },
} as const;

/** Answers each connection until it closes. */
async function openHost({ first, piece, trickles }: (typeof ANSWERS)[keyof typeof ANSWERS]) {
  const sockets = new Set<Socket>();
  let sent = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    const timer = trickles ? setInterval(() => socket.write(piece), TRICKLE_MS) : undefined;
    const fill = (): void => {
      do sent += piece.length;
      while (socket.write(piece));
    };
    socket.once('data', () => {
      socket.write(first);
      if (trickles) return;
      socket.on('drain', fill);
      fill();
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      clearInterval(timer);
      sockets.delete(socket);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { url: `http://127.0.0.1:${port}`, sent: () => sent, connections: () => sockets.size };
}

const monotonicMs = (): number => performance.now();
/** One call to each; those whose limit can be chosen have a short one. */
const CALLS: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  telegram: (url) => {
    const bot = new BotApi({ token: '1:x', apiRoot: url, callTimeoutMs: 1_000, clock: systemClock });
    return bot.identify();
  },
  discord: (url) => new DiscordRest('x', url, monotonicMs).get('/users/@me', 'me'),
  slack: (url) => new SlackApi('xoxb-1', `${url}/`, monotonicMs).call('auth.test', {}),
  matrix: (url) =>
    new MatrixClient(url, 'x', Date.now, monotonicMs, 500).call('GET', '/x', { silenceMs: 500 }),
  ollama: (url) => createOllama({ ...OLLAMA_SERVER, baseUrl: url, answerWithinMs: 1_000 }).models(never),
  openai: (url) => createOpenai({ ...OPENAI_SERVER, baseUrl: url, answerWithinMs: 1_000 }).models(never),
};

describe.each(Object.entries(CALLS))('%s', (_, call) => {
  it.concurrent.each(Object.entries(ANSWERS))(
    'gives up on %s, and closes the connection',
    async (__, answer) => {
      const host = await openHost(answer);
      const began = performance.now();
      await expect(call(host.url)).rejects.toMatchObject({
        code: expect.stringMatching(/unavailable|bad_response/),
      });
      expect(performance.now() - began).toBeLessThan(20_000);
      expect(host.sent()).toBeLessThan(MAX_ANSWER_BYTES + BUFFERED_BYTES);
      await expect.poll(host.connections, { timeout: 10_000 }).toBe(0);
    },
  );
});

it('a homeserver that trickles is reported after one such call, and forgotten after a good one', async () => {
  const host = await openHost(ANSWERS['a body that trickles']);
  const client = new MatrixClient(host.url, 'x', Date.now, monotonicMs, 300);
  await expect(client.call('GET', '/x', { silenceMs: 300 })).rejects.toMatchObject({ code: 'unavailable' });
  expect(client.health).toMatchObject({ state: 'degraded' });
});
