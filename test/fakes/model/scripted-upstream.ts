/**
 * A model server that answers with exactly the bytes it is given, for both kinds; requests that no server would accept
 * are refused.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { readText } from '../read-text.ts';
import { lastUserText } from './spoken-text.ts';

/** One answer. */
export interface UpstreamAnswer {
  status?: number;
  headers?: Record<string, string>;
  /** What is sent, in these packets. */
  body: readonly (string | Uint8Array)[];
  /** How it ends: properly, with a dead connection, not at all, or with the last packet over and over. */
  end?: 'end' | 'cut' | 'hang' | 'endless';
  /** Only the end of the connection ends the body (RFC 9112 §6.3). */
  unframed?: boolean;
  /** The connection dies before the headers. */
  noHead?: boolean;
}

const chatBody = z.looseObject({
  model: z.string().min(1),
  messages: z.array(z.looseObject({ role: z.enum(['system', 'user', 'assistant', 'tool']) })).min(1),
  stream: z.boolean(),
});
export type UpstreamBody = z.infer<typeof chatBody>;

/** Chooses the answer to a chat call by what it says; `nth` counts the calls that said the same, from 0. */
export type ChooseAnswer = (body: UpstreamBody, nth: number) => UpstreamAnswer;

export interface ScriptedUpstream {
  /** For OPENAI_BASE_URL. */
  readonly openaiUrl: string;
  /** For OLLAMA_HOST. */
  readonly ollamaUrl: string;
  /** Bodies of all chat calls, except refused ones. */
  readonly calls: readonly UpstreamBody[];
  /** Chat calls that are still open. */
  readonly open: number;
  close(): Promise<void>;
}

const SHOWN = {
  model_info: { 'general.architecture': 'fake', 'fake.context_length': 16_384 },
  capabilities: ['completion', 'tools', 'thinking'],
};

export async function startScriptedUpstream(
  choose: ChooseAnswer,
  ownedBy = 'vllm',
): Promise<ScriptedUpstream> {
  const calls: UpstreamBody[] = [];
  const counts = new Map<string, number>();
  let open = 0;
  const server = createServer((request, response) => {
    const json = (value: unknown): void =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (request.url === '/v1/models')
      json({ object: 'list', data: [{ id: 'fake', owned_by: ownedBy, max_model_len: 16_384 }] });
    else if (request.url === '/api/tags') json({ models: [{ name: 'fake' }] });
    else if (request.url === '/api/show') json(SHOWN);
    else void chat(request, response);
  });
  const chat = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parsed = chatBody.safeParse(JSON.parse((await readText(request)) || 'null'));
    if (!parsed.success) {
      response.writeHead(418).end('no request of a chat');
      return;
    }
    calls.push(parsed.data);
    const key = lastUserText(parsed.data);
    const nth = counts.get(key) ?? 0;
    counts.set(key, nth + 1);
    open += 1;
    response.once('close', () => (open -= 1));
    await send(response, choose(parsed.data, nth));
  };
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  return {
    openaiUrl: `http://127.0.0.1:${port}/v1`,
    ollamaUrl: `http://127.0.0.1:${port}`,
    calls,
    get open() {
      return open;
    },
    async close() {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function send(response: ServerResponse, answer: UpstreamAnswer): Promise<void> {
  if (answer.noHead === true) {
    response.socket?.destroy();
    return;
  }
  if (answer.unframed === true) response.useChunkedEncodingByDefault = false;
  response.writeHead(answer.status ?? 200, { 'content-type': 'text/event-stream', ...answer.headers });
  response.flushHeaders();
  for (const packet of answer.body) {
    if (response.destroyed) return;
    response.write(packet);
    await turn();
  }
  if (answer.end === 'cut') response.socket?.destroySoon();
  else if (answer.end === 'endless') await repeat(response, answer.body.at(-1) ?? '');
  else if (answer.end !== 'hang') response.end();
}

async function repeat(response: ServerResponse, packet: string | Uint8Array): Promise<void> {
  while (!response.destroyed) {
    if (response.write(packet)) await turn();
    else await pause(1);
  }
}
