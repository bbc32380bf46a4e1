/** A search service on a real socket; each kind brings its own rules, as strict as the service's. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

export interface FoundPage {
  title: string;
  url: string;
  description?: string;
}

/** A request as the rules of a service see it; `body` is its text. */
export interface AskedSearch {
  method: string | undefined;
  url: URL;
  headers: IncomingMessage['headers'];
  body: string;
}

/** What a service does with a request: the query and how many results it wants, or its refusal. */
export type SearchRules = (
  asked: AskedSearch,
) => { query: string; count?: number } | { status: number; says: unknown };

/** Writes results as the service does. */
export type SearchWire = (results: readonly FoundPage[]) => unknown;

export interface FakeSearch {
  readonly root: string;
  /** What the next searches find. */
  results: FoundPage[];
  /** Queries that were answered. */
  readonly queries: string[];
  /** Requests of any kind. */
  readonly requests: AskedSearch[];
  /** The next search is answered with this status. */
  refuseNext(status: number): void;
  /** The next answers have this body instead. */
  garbage: string | undefined;
  /** The next answers redirect there instead (302). */
  location: string | undefined;
  close(): Promise<void>;
}

/** Starts a service; `folder` precedes its own path. */
export async function startFakeSearch(
  rules: SearchRules,
  wire: SearchWire,
  folder = '',
): Promise<FakeSearch> {
  let refused: number | undefined;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const say = (status: number, says: unknown): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(says));
    const { method, headers } = request;
    const url = new URL(request.url ?? '', 'http://search.example');
    const asked = { method, url, headers, body };
    fake.requests.push(asked);
    if (!url.pathname.startsWith(folder)) return say(404, { error: 'not found' });
    url.pathname = url.pathname.slice(folder.length);
    const read = rules(asked);
    if ('status' in read) return say(read.status, read.says);
    if (refused !== undefined) {
      const status = refused;
      refused = undefined;
      return say(status, { error: 'not now' });
    }
    if (fake.location !== undefined) return void response.writeHead(302, { location: fake.location }).end();
    if (fake.garbage !== undefined)
      return void response.writeHead(200, { 'content-type': 'application/json' }).end(fake.garbage);
    fake.queries.push(read.query);
    return say(200, wire(fake.results.slice(0, read.count)));
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(new Error(String(error))));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const bound = server.address();
  const fake: FakeSearch = {
    root: `http://127.0.0.1:${typeof bound === 'object' && bound !== null ? bound.port : 0}${folder}`,
    results: [],
    queries: [],
    requests: [],
    garbage: undefined,
    location: undefined,
    refuseNext: (status) => void (refused = status),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
  return fake;
}

/** The first parameter or field that the service does not know. */
export function unknownIn(given: Iterable<string>, known: readonly string[]): string | undefined {
  return [...given].find((name) => !known.includes(name));
}

/** A JSON body of a POST with a bearer token; undefined if it is not one. */
export function jsonOf({ headers, body }: AskedSearch): Record<string, unknown> | undefined {
  if (headers['content-type'] !== 'application/json') return undefined;
  try {
    const json: unknown = JSON.parse(body);
    return typeof json === 'object' && json !== null ? { ...json } : undefined;
  } catch {
    // The service reports what it objects to.
    return undefined;
  }
}
