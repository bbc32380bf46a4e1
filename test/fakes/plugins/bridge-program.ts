/** The chat program of docs/plugins.md: it posts signed messages to the gateway, and shows what the bridge puts. */
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';

const putShape = z.object({ chat: z.string(), text: z.string(), nonce: z.string() });

/** A program at its own port. */
export interface BridgeProgram {
  url: string;
  /** Signs and posts a message; returns the status of the gateway's answer. */
  post(webhook: string, message: { chat: string; user: string; text: string; id?: string }): Promise<number>;
  /** Texts of a chat, as they are now. */
  screen(chat: string): string[];
  /** The next call is answered with this status. */
  fails(status: number): void;
  close(): Promise<void>;
}

/** Starts it. */
export async function startBridgeProgram(secret: string): Promise<BridgeProgram> {
  const messages = new Map<string, { chat: string; text: string }>();
  const byNonce = new Map<string, string>();
  const failures: number[] = [];
  let posted = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<unknown> => {
    const body = await text(request);
    const [, , old] = (request.url ?? '').split('/');
    const failure = failures.shift();
    const isAllowed = request.headers.authorization === `Bearer ${secret}`;
    if (!isAllowed || failure !== undefined) return response.writeHead(failure ?? 401).end();
    const put = putShape.parse(JSON.parse(body));
    const id = old ?? byNonce.get(put.nonce) ?? `m${messages.size + 1}`;
    messages.set(id, { chat: put.chat, text: put.text });
    byNonce.set(put.nonce, id);
    return response.setHeader('content-type', 'application/json').end(JSON.stringify({ id }));
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    async post(webhook, { id = `p${(posted += 1)}`, ...message }) {
      const body = JSON.stringify({ id, sentAt: Date.now(), ...message });
      const signature = createHmac('sha256', secret).update(body).digest('hex');
      const answer = await fetch(webhook, { method: 'POST', body, headers: { 'x-signature': signature } });
      await answer.arrayBuffer();
      return answer.status;
    },
    screen: (chat) => [...messages.values()].filter((one) => one.chat === chat).map((one) => one.text),
    fails: (status) => void failures.push(status),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
