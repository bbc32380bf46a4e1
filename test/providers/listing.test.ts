/** Model lists, read by the Ollama and OpenAI clients: over our connections, within our limits, with our errors. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { inspect } from 'node:util';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { LLMProvider } from '../../src/protocol/agent/provider.ts';
import type { ServerOptions } from '../../src/providers/kind.ts';
import { createOllama } from '../../src/providers/ollama/ollama.ts';
import { createOpenai } from '../../src/providers/openai/openai.ts';
import { MAX_DOCUMENT_BYTES } from '../../src/providers/answers/read-answer.ts';
import { never } from './request.ts';
import { OLLAMA_SERVER, OPENAI_SERVER } from './servers.ts';

const KINDS = [
  {
    kind: 'ollama',
    folder: '/behind/a/proxy',
    path: '/behind/a/proxy/api/tags',
    list: { models: [{ name: 'one' }, { name: 'two' }] },
    none: '{"models":{}}',
    make: (options: Partial<ServerOptions> & { baseUrl: string }) =>
      createOllama({ ...OLLAMA_SERVER, ...options }),
  },
  {
    kind: 'openai',
    folder: '/behind/v1',
    path: '/behind/v1/models',
    list: { data: [{ id: 'one' }, { id: 'two' }] },
    none: '{"object":"list"}',
    make: (options: Partial<ServerOptions> & { baseUrl: string }) =>
      createOpenai({ ...OPENAI_SERVER, ...options }),
  },
];

/** A server that answers each request as configured, and a provider for it. */
async function startServer(
  { make, folder }: (typeof KINDS)[number],
  answer: (response: ServerResponse) => void,
  options: Partial<ServerOptions> = {},
): Promise<{ provider: LLMProvider; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    answer(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  const provider = make({ baseUrl: `http://127.0.0.1:${port}${folder}`, ...options });
  onTestFinished(async () => {
    await provider.close();
    server.closeAllConnections();
    server.close();
  });
  return { provider, requests };
}

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

describe.each(KINDS)('the models of a server of kind $kind', (kind) => {
  it('are requested below its address, with its key, and nothing that the client adds or prints', async () => {
    vi.stubEnv('OPENAI_API_KEY', 'of-another-server');
    vi.stubEnv('OPENAI_ORG_ID', 'an-organization');
    vi.stubEnv('OPENAI_LOG', 'debug');
    const printed = (['log', 'warn', 'error', 'debug', 'info'] as const).map((name) =>
      vi.spyOn(console, name),
    );
    const list = JSON.stringify(kind.list);
    const { provider, requests } = await startServer(kind, (response) => response.end(list), {
      apiKey: 'secret',
    });
    expect(await provider.models(never)).toEqual(['one', 'two']);
    expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual([`GET ${kind.path}`]);
    const { host: _host, connection: _connection, ...headers } = requests[0]?.headers ?? {};
    const json = 'application/json';
    expect(headers).toEqual({ accept: json, 'content-type': json, authorization: 'Bearer secret' });
    for (const spy of printed) expect(spy).not.toHaveBeenCalled();
  });

  it.each([
    [500, 'unavailable'],
    [429, 'rate_limited'],
    [418, 'bad_request'],
  ])('are requested once, even when the server answers %i', async (status, code) => {
    const printed = vi.spyOn(console, 'log');
    const { provider, requests } = await startServer(kind, (response) =>
      response.writeHead(status).end('{"error":"no"}'),
    );
    await expect(provider.models(never)).rejects.toMatchObject({ name: 'ProviderError', code });
    expect(requests).toHaveLength(1);
    expect(printed).not.toHaveBeenCalled();
  });

  it.each(['', 'the key is s3cret', '{"data": "s3cret"', '[]', '{"data":[7],"models":[7]}', kind.none])(
    'are not a list when the server sends %j, which no error repeats',
    async (body) => {
      const { provider } = await startServer(kind, (response) => response.end(body));
      const error: unknown = await provider.models(never).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ name: 'ProviderError', code: 'bad_response' });
      expect(inspect(error, { depth: 10, showHidden: true })).not.toContain('s3cret');
    },
  );

  it('are read up to a limit and no further', async () => {
    const { provider } = await startServer(kind, (response) =>
      response.end(Buffer.alloc(MAX_DOCUMENT_BYTES + 1, ' ')),
    );
    const tooLong = { code: 'bad_response', message: expect.stringContaining(String(MAX_DOCUMENT_BYTES)) };
    await expect(provider.models(never)).rejects.toMatchObject(tooLong);
  });

  it('are not awaited when the caller stops or time runs out, and the connection is closed', async () => {
    const begun = Promise.withResolvers<ServerResponse>();
    const answerWithinMs = 5_000;
    const stopped = await startServer(kind, (response) => begun.resolve(response), { answerWithinMs });
    const stop = new AbortController();
    const listed = stopped.provider.models(stop.signal).catch((thrown: unknown) => thrown);
    const closed = once(await begun.promise, 'close');
    stop.abort();
    await closed;
    expect(await listed).toMatchObject({ code: 'aborted' });
    const begin = (response: ServerResponse): void => void response.write('{');
    const slow = await startServer(kind, begin, { answerWithinMs: 100 });
    const late = { code: 'unavailable', message: expect.stringContaining('0.1 s') };
    await expect(slow.provider.models(never)).rejects.toMatchObject(late);
  });
});
