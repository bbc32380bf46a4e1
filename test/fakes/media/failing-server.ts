/** The server of a fake with OpenAI's API: on a free port, with one route, one key, and answers that fail on request. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

export interface FailingServer {
  /** For the setting `baseUrl`. */
  readonly url: string;
  /** The next answer has this status and body; `silence` is none at all. */
  fails(status: number | 'silence', body?: string, headers?: Record<string, string>): void;
  close(): Promise<void>;
}

/** A request with the accepted key, and how to answer it. */
export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  body: Buffer<ArrayBuffer>;
  /** Answers with an error as OpenAI words it. */
  refuse: (status: number, message: string) => void;
}

/** `key`: the only one that is accepted; undefined accepts everyone. `serve` answers what is posted to `/v1` + `route`. */
export async function startFailingServer(
  route: string,
  key: string | undefined,
  serve: (exchange: Exchange) => Promise<void>,
): Promise<FailingServer> {
  const failures: [number | 'silence', string, Record<string, string>][] = [];

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const refuse = (status: number, message: string): void => {
      response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: { message, code: status } }));
    };
    const [status, text, headers] = failures.shift() ?? [];
    if (status === 'silence') return;
    if (status !== undefined) response.writeHead(status, headers).end(text);
    else if (key !== undefined && request.headers.authorization !== `Bearer ${key}`)
      refuse(401, 'Invalid API key');
    else if (request.method !== 'POST' || request.url !== `/v1${route}`) refuse(404, 'Not Found');
    else await serve({ request, response, body, refuse });
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
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
    fails: (status, body = '', headers = {}) => void failures.push([status, body, headers]),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
