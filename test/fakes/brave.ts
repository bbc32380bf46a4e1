/** The Brave Search API as strict as the real one: path, token, query and count are checked before anything is found. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';

export interface BraveResult {
  title: string;
  url: string;
  description?: string;
}

export interface FakeBrave {
  readonly root: string;
  /** What the next searches find. */
  results: BraveResult[];
  /** Queries that were answered. */
  readonly queries: string[];
  /** The next `times` searches are told to wait (429). */
  rateLimit(times: number): void;
  /** The next answer is this body instead. */
  garbage: string | undefined;
  close(): Promise<void>;
}

const PARAMETERS = new Set([
  'q',
  'count',
  'offset',
  'country',
  'search_lang',
  'safesearch',
  'freshness',
  'text_decorations',
]);

export async function startFakeBrave(token: string): Promise<FakeBrave> {
  let limited = 0;
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const say = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    const refuse = (status: number, code: string): void =>
      say(status, { type: 'ErrorResponse', error: { status, code } });
    const url = new URL(request.url ?? '', 'http://brave.example');
    if (url.pathname !== '/res/v1/web/search') return refuse(404, 'NOT_FOUND');
    if (request.method !== 'GET') return refuse(405, 'METHOD_NOT_ALLOWED');
    if (request.headers['x-subscription-token'] !== token) return refuse(422, 'SUBSCRIPTION_TOKEN_INVALID');
    if (limited > 0) {
      limited -= 1;
      return refuse(429, 'RATE_LIMITED');
    }
    const failure = errorFor(url.searchParams);
    if (failure !== undefined)
      return say(422, { type: 'ErrorResponse', error: { status: 422, code: 'VALIDATION', detail: failure } });
    if (fake.garbage !== undefined) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(fake.garbage);
      return undefined;
    }
    fake.queries.push(url.searchParams.get('q') ?? '');
    const results = fake.results.slice(0, Number(url.searchParams.get('count') ?? 20));
    // Without a result the real service leaves `web` out.
    return say(200, { type: 'search', ...(results.length > 0 && { web: { type: 'search', results } }) });
  };
  const server = createServer(answer);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const bound = server.address();
  const fake: FakeBrave = {
    root: `http://127.0.0.1:${typeof bound === 'object' && bound !== null ? bound.port : 0}`,
    results: [],
    queries: [],
    garbage: undefined,
    rateLimit: (times) => {
      limited = times;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
  return fake;
}

function errorFor(query: URLSearchParams): string | undefined {
  const unknown = [...query.keys()].find((key) => !PARAMETERS.has(key));
  if (unknown !== undefined) return `unknown parameter ${unknown}`;
  const q = query.get('q') ?? '';
  if (q === '' || q.length > 400 || q.split(/\s+/).length > 50) return 'q';
  const count = Number(query.get('count') ?? 20);
  return Number.isInteger(count) && count >= 1 && count <= 20 ? undefined : 'count';
}
