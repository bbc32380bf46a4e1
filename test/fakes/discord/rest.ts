/** The fake Discord's REST API on node:http: token check, rate limits, failures, routing, and errors in Discord's JSON. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Limits } from './limits.ts';
import { ROUTES } from './routes.ts';
import type { Call, Route } from './route.ts';
import { Refusal } from './platform.ts';
import { readForm } from './uploads.ts';

/** How the next matching call fails. */
export type Failure = {
  /** "METHOD /path"; default: any call. */
  match?: RegExp;
} & (
  | { kind: 'drop' }
  | { kind: 'cut' }
  | { kind: 'status'; status: number; body?: string }
  | { kind: 'hold'; until: Promise<void> }
  | { kind: 'refuse'; refusal: Refusal }
);

export interface RestSettings {
  token: string;
  limits: Limits;
  /** What a route may use besides the data of its own call. */
  shared(): Pick<
    Call,
    'platform' | 'gatewayUrl' | 'startsLeft' | 'applicationFlags' | 'shards' | 'maxConcurrency'
  >;
}

const PATTERNS = ROUTES.map((route) => ({
  route,
  pattern: new RegExp(
    `^${route.path
      .replaceAll('/:id', String.raw`/(\d{17,20})`)
      .replaceAll('/:token', '/([^/]{40,})')
      .replaceAll('/:emoji', '/([^/]+)')}$`,
  ),
}));

export class FakeRest {
  readonly failures: Failure[] = [];
  /** "METHOD /path" of every call, in order. */
  readonly calls: string[] = [];
  /** Set: the token was reset. */
  revoked = false;
  readonly #settings: RestSettings;

  constructor(settings: RestSettings) {
    this.#settings = settings;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://fake');
    const path = url.pathname.replace(/^\/api\/v10/, '');
    const label = `${request.method} ${path}`;
    this.calls.push(label);
    const failure = this.#takeFailure(label);
    const body = await readBody(request);
    if (failure?.kind === 'hold') await failure.until;
    if (failure?.kind === 'cut') {
      request.socket.destroy();
      return;
    }
    if (failure?.kind === 'status') {
      response.writeHead(failure.status, { 'Content-Type': 'text/html' });
      response.end(failure.body ?? '<html>error</html>');
      return;
    }
    try {
      if (failure?.kind === 'refuse') throw failure.refusal;
      const answer = this.#answer(request, response, path, url.searchParams, body);
      if (answer === 'limited') return;
      if (failure?.kind === 'drop') {
        request.socket.destroy();
        return;
      }
      if (answer === undefined) response.writeHead(204);
      else response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(answer === undefined ? '' : JSON.stringify(answer));
    } catch (error) {
      this.#refuse(response, error);
    }
  }

  #answer(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    query: URLSearchParams,
    body: Buffer,
  ): object | undefined | 'limited' {
    const [route, ids] = findRoute(request.method ?? 'GET', path);
    const isBot = !this.revoked && request.headers.authorization === `Bot ${this.#settings.token}`;
    if (route.open !== true && !isBot) throw new Refusal(401, 0, '401: Unauthorized');
    // For an interaction the token counts, which follows the application's id.
    const major = (route.path.startsWith('/webhooks/') ? ids[1] : ids[0]) ?? '';
    if (this.#settings.limits.refuses(`${route.method} ${route.path}`, major, response)) return 'limited';
    const type = request.headers['content-type'] ?? '';
    const form = type.startsWith('multipart/') ? readForm(type, body) : undefined;
    const json = parseBody(form?.json ?? body.toString('utf8'));
    const fields = typeof json === 'object' ? { ...json } : {};
    const files = form?.files ?? new Map();
    return route.effect({ ...this.#settings.shared(), ids, query, json, body: fields, files });
  }

  #refuse(response: ServerResponse, error: unknown): void {
    if (!(error instanceof Refusal)) throw error;
    const { status, code, message, errors, retryAfterMs } = error;
    if (status === 401 || status === 403 || status === 429) this.#settings.limits.invalid += 1;
    const seconds = retryAfterMs === undefined ? undefined : retryAfterMs / 1_000;
    if (seconds !== undefined) response.setHeader('Retry-After', seconds);
    response.writeHead(status, { 'Content-Type': 'application/json' });
    const limit = seconds === undefined ? {} : { retry_after: seconds, global: false };
    response.end(JSON.stringify({ message, code, ...limit, ...(errors === undefined ? {} : { errors }) }));
  }

  #takeFailure(label: string): Failure | undefined {
    const index = this.failures.findIndex(({ match }) => match === undefined || match.test(label));
    return index === -1 ? undefined : this.failures.splice(index, 1)[0];
  }
}

function findRoute(method: string, path: string): [Route, string[]] {
  for (const { route, pattern } of PATTERNS) {
    const found = route.method === method ? pattern.exec(path) : null;
    if (found !== null) return [route, found.slice(1)];
  }
  throw new Refusal(404, 0, '404: Not Found');
}

function parseBody(body: string): unknown {
  if (body === '') return undefined;
  try {
    return JSON.parse(body);
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new Refusal(400, 50_109, 'The request body contains invalid JSON.');
    throw error;
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}
