/**
 * An MCP server over HTTP that requires a sign-in, with its authorization server, as strict as OAuth 2.1: codes once,
 * PKCE, exact redirects, rotated refresh tokens.
 */
import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

export interface FakeOauthServer {
  /** For `mcp.servers.<name>.url`. */
  readonly url: string;
  /** Received requests, as `METHOD path`. */
  readonly asked: string[];
  /** Every token that was issued. */
  readonly tokens: string[];
  /** Access tokens issued so far become invalid. */
  expire(): void;
  /** Refresh tokens issued so far become invalid, too. */
  revoke(): void;
  /** The person refuses the next sign-in. */
  refuses: boolean;
  close(): Promise<void>;
}

interface Code {
  clientId: string;
  redirectUri: string;
  challenge: string;
}

type Sent = (status: number, body?: object, headers?: Record<string, string>) => void;

export async function startFakeOauthServer(): Promise<FakeOauthServer> {
  const clients = new Map<string, string[]>();
  const codes = new Map<string, Code>();
  const access = new Set<string>();
  const refresh = new Map<string, string>();
  const tokens: string[] = [];
  const asked: string[] = [];
  const random = (): string => randomBytes(24).toString('base64url');
  const origin = (): string => {
    const bound = server.address();
    return `http://127.0.0.1:${typeof bound === 'object' && bound !== null ? bound.port : 0}`;
  };

  const give = (clientId: string, send: Sent): void => {
    const [token, next] = [random(), random()];
    access.add(token);
    refresh.set(next, clientId);
    tokens.push(token, next);
    send(200, { access_token: token, token_type: 'Bearer', expires_in: 3_600, refresh_token: next });
  };

  const authorize = (query: URLSearchParams, send: Sent): void => {
    const clientId = query.get('client_id') ?? '';
    const redirectUri = query.get('redirect_uri') ?? '';
    const challenge = query.get('code_challenge') ?? '';
    const isRight =
      clients.get(clientId)?.includes(redirectUri) === true &&
      query.get('response_type') === 'code' &&
      query.get('code_challenge_method') === 'S256' &&
      query.get('resource') === `${origin()}/mcp` &&
      challenge !== '';
    if (!isRight) return send(400, { error: 'invalid_request' });
    const back = new URL(redirectUri);
    back.searchParams.set('state', query.get('state') ?? '');
    if (fake.refuses) back.searchParams.set('error', 'access_denied');
    else {
      const code = random();
      codes.set(code, { clientId, redirectUri, challenge });
      back.searchParams.set('code', code);
    }
    send(302, undefined, { location: back.href });
  };

  const exchange = (form: URLSearchParams, send: Sent): void => {
    const clientId = form.get('client_id') ?? '';
    if (!clients.has(clientId)) return send(401, { error: 'invalid_client' });
    if (form.get('grant_type') === 'refresh_token') {
      const token = form.get('refresh_token') ?? '';
      if (refresh.get(token) !== clientId) return send(400, { error: 'invalid_grant' });
      refresh.delete(token);
      return give(clientId, send);
    }
    const code = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const isRight =
      code?.clientId === clientId &&
      code.redirectUri === form.get('redirect_uri') &&
      code.challenge === verifier;
    if (!isRight) return send(400, { error: 'invalid_grant' });
    give(clientId, send);
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', origin());
    const route = `${request.method} ${pathname}`;
    asked.push(route);
    const body = await text(request);
    const send: Sent = (status, json, headers = {}) =>
      void response
        .writeHead(status, { ...(json && { 'content-type': 'application/json' }), ...headers })
        .end(json === undefined ? '' : JSON.stringify(json));
    if (pathname === '/mcp') {
      const [, token = ''] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? [];
      const resource = `${origin()}/.well-known/oauth-protected-resource/mcp`;
      if (!access.has(token))
        return send(
          401,
          { error: 'unauthorized' },
          { 'www-authenticate': `Bearer resource_metadata="${resource}"` },
        );
      return request.method === 'POST' ? answerMcp(JSON.parse(body), send) : send(405);
    }
    switch (route) {
      case 'GET /.well-known/oauth-protected-resource/mcp':
        return send(200, { resource: `${origin()}/mcp`, authorization_servers: [origin()] });
      case 'GET /.well-known/oauth-authorization-server':
        return send(200, {
          issuer: origin(),
          authorization_endpoint: `${origin()}/authorize`,
          token_endpoint: `${origin()}/token`,
          registration_endpoint: `${origin()}/register`,
          response_types_supported: ['code'],
          grant_types_supported: ['authorization_code', 'refresh_token'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['none'],
        });
      case 'POST /register': {
        const asked: { redirect_uris: string[] } = JSON.parse(body);
        const id = random();
        clients.set(id, asked.redirect_uris);
        return send(201, { ...asked, client_id: id });
      }
      case 'GET /authorize':
        return authorize(searchParams, send);
      case 'POST /token':
        return exchange(new URLSearchParams(body), send);
      default:
        return send(404, { error: 'not_found' });
    }
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const fake: FakeOauthServer = {
    url: `${origin()}/mcp`,
    asked,
    tokens,
    refuses: false,
    expire: () => access.clear(),
    revoke() {
      access.clear();
      refresh.clear();
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
  return fake;
}

/** A server with one tool, `look`. */
function answerMcp(
  { id, method, params }: { id?: number; method: string; params?: { protocolVersion?: string } },
  send: Sent,
): void {
  if (id === undefined) return send(202);
  const answers: Record<string, object> = {
    initialize: {
      protocolVersion: params?.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'fake', version: '1' },
    },
    ping: {},
    'tools/list': {
      tools: [{ name: 'look', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }],
    },
    'tools/call': { content: [{ type: 'text', text: 'seen' }] },
  };
  const result = answers[method];
  if (result === undefined)
    return send(200, { jsonrpc: '2.0', id, error: { code: -32_601, message: method } });
  send(200, { jsonrpc: '2.0', id, result });
}
