/**
 * A text-to-speech server with OpenAI's API, as strict as the real ones: it refuses the same fields, keys, voices and
 * texts.
 */
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { z } from 'zod';
import { OGG } from './media-bytes.ts';

const Asked = z.strictObject({
  model: z.string().min(1),
  input: z.string().min(1).max(4_096),
  voice: z.enum(['alloy', 'nova']),
  response_format: z.enum(['opus', 'mp3']).default('mp3'),
  speed: z.number().min(0.25).max(4).optional(),
});

/** A text that was spoken. */
export type Spoken = z.infer<typeof Asked>;

/** The beginning of every text's MP3. */
const MP3 = Buffer.from('ID3\x04\0\0\0\0\0\0 sound', 'latin1');

export interface FakeSpeech {
  /** For `speech.baseUrl`. */
  readonly url: string;
  /** The texts, in order of arrival. */
  readonly spoken: Spoken[];
  /** The next answer has this status and body; `silence` is none at all. */
  fails(status: number | 'silence', body?: string, headers?: Record<string, string>): void;
  /** Answers wait until the returned function is called. */
  hold(): () => void;
  close(): Promise<void>;
}

/** `key`: the only one that is accepted; undefined accepts everyone. */
export async function startFakeSpeech(key?: string): Promise<FakeSpeech> {
  const spoken: Spoken[] = [];
  const failures: [number | 'silence', string, Record<string, string>][] = [];
  let held: Promise<void> = Promise.resolve();

  async function serve(body: unknown, headers: { key: string | undefined }, response: ServerResponse) {
    const refuse = (status: number, message: string): void =>
      void response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: { message } }));
    const failure = failures.shift();
    if (failure?.[0] === 'silence') return;
    if (failure !== undefined) return void response.writeHead(failure[0], failure[2]).end(failure[1]);
    if (key !== undefined && headers.key !== `Bearer ${key}`) return refuse(401, 'Invalid API key');
    const asked = Asked.safeParse(body);
    if (!asked.success) return refuse(400, asked.error.issues[0]?.path.join('.') ?? 'invalid');
    spoken.push(asked.data);
    await held;
    const isOpus = asked.data.response_format === 'opus';
    const type = isOpus ? 'audio/ogg' : 'audio/mpeg';
    response.writeHead(200, { 'content-type': type }).end(isOpus ? OGG : MP3);
  }

  const server = createServer((request, response) => {
    if (request.method !== 'POST' || request.url !== '/v1/audio/speech') {
      response.writeHead(404).end('{"detail":"Not Found"}');
      return;
    }
    json(request)
      .then((body) => serve(body, { key: request.headers.authorization }, response))
      .catch((error: unknown) => {
        response.destroy(error instanceof Error ? error : new Error(String(error)));
      });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    spoken,
    fails: (status, body = '', headers = {}) => void failures.push([status, body, headers]),
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
