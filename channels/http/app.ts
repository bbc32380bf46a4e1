/** The routes of the API together, and the checks that every request passes first. */
import { Hono } from 'hono';
import { a2aRoutes } from './a2a/routes.ts';
import { allowCrossOrigin, type AllowList, checkHeaders } from './allow-list.ts';
import type { Authenticator } from './authenticator.ts';
import { readBody } from './body.ts';
import { answerError, callerReader, HttpError, notReady, toHttpError } from './errors.ts';
import { drainShortBody } from './limits/bodies.ts';
import { mcpRoutes } from './mcp/routes.ts';
import { audioRoutes } from './model-apis/audio.ts';
import { completionRoutes } from './model-apis/completions.ts';
import { embeddingRoutes } from './model-apis/embeddings.ts';
import { ollamaRoutes } from './model-apis/ollama.ts';
import { responseRoutes } from './model-apis/responses.ts';
import { textCompletionRoutes } from './model-apis/text-completions.ts';
import { describeApi } from './openapi.ts';
import { servePageFile } from './page-files.ts';
import {
  type HandlerDeps,
  type HttpContext,
  type HttpEnv,
  requestId,
  type Route,
  routeOf,
  type ServedRoute,
} from './route.ts';
import { accessRoutes } from './routes/access.ts';
import { approvalRoutes } from './routes/approvals.ts';
import { configFileRoutes } from './routes/config-files.ts';
import { conversationRoutes } from './routes/conversations.ts';
import { eventRoutes } from './routes/events.ts';
import { fileRoutes } from './routes/files.ts';
import { gatewayRoutes } from './routes/gateway.ts';
import { knowledgeRoutes } from './routes/knowledge.ts';
import { maintenanceRoutes } from './routes/maintenance.ts';
import { messageRoutes } from './routes/messages.ts';
import { personRoutes } from './routes/person.ts';
import { pushRoutes } from './routes/push.ts';
import { planRoutes } from './routes/plans.ts';
import { replayRoutes } from './routes/replays.ts';
import { scheduleRoutes } from './routes/schedules.ts';
import { sessionRoutes } from './routes/sessions.ts';
import { authorizeByCookie, authorizeByTicket, signInRoutes } from './routes/sign-in.ts';
import { surfaceRoutes } from './routes/surfaces.ts';
import { webhookRoutes } from './routes/webhooks.ts';

/** The routes of the API, all but the files of the page. Of two that match, the first answers. */
export const API: readonly Route[] = [
  ...gatewayRoutes,
  routeOf('gateway')('GET', '/v1/openapi.json', 'chat', {
    summary: 'This description',
    description: 'OpenAPI 3.1, made from the schemas that check the requests.',
    handle: describeApi(() => API),
  }),
  ...completionRoutes,
  ...responseRoutes,
  ...textCompletionRoutes,
  ...audioRoutes,
  ...embeddingRoutes,
  ...ollamaRoutes,
  ...webhookRoutes,
  ...personRoutes,
  ...pushRoutes,
  ...sessionRoutes,
  ...messageRoutes,
  ...eventRoutes,
  ...fileRoutes,
  ...knowledgeRoutes,
  ...conversationRoutes,
  ...replayRoutes,
  ...surfaceRoutes,
  ...planRoutes,
  ...approvalRoutes,
  ...signInRoutes,
  ...scheduleRoutes,
  ...accessRoutes,
  ...configFileRoutes,
  ...maintenanceRoutes,
  ...mcpRoutes,
  ...a2aRoutes,
];

/** Parts of the app. `allowed` is called per request, because the port is known only once the server listens. */
export interface AppParts {
  deps: HandlerDeps;
  authenticator: Authenticator;
  allowed(): AllowList;
}

/** Makes the app. Its answers are JSON, event streams and the files of the page; errors have OpenAI's shape. */
export function createApp(parts: AppParts): Hono<HttpEnv> {
  const { deps } = parts;
  const app = new Hono<HttpEnv>();
  const isReady = readiness(deps);
  const routes: ServedRoute[] = [
    ...API,
    { method: 'GET', path: '/', handle: servePageFile },
    { method: 'GET', path: '/sw.js', handle: servePageFile },
    { method: 'GET', path: '/page/*', handle: servePageFile },
  ];

  app.use('*', keepConnection);
  app.use('*', async (c, next) => {
    const { incoming, outgoing } = c.env;
    outgoing.setHeader('x-content-type-options', 'nosniff');
    outgoing.setHeader('referrer-policy', 'no-referrer');
    // A page that opens this one, or that this one opens, gets no handle on its window.
    outgoing.setHeader('cross-origin-opener-policy', 'same-origin');
    checkHeaders(incoming, parts.allowed());
    const preflight = allowCrossOrigin(c);
    if (preflight !== undefined) return preflight;
    if (/^\/(v1|api|mcp|a2a)(\/|$)/.test(c.req.path) && !(await isReady())) throw notReady();
    authorizeByCookie(incoming);
    await next();
    return undefined;
  });
  for (const served of routes) serveRoute(app, parts, served);
  for (const [path, methods] of Map.groupBy(routes, (route) => route.path)) {
    // Where there is a GET, there is a HEAD (RFC 9110, 9.3.2).
    const allow = methods.map(({ method }) => (method === 'GET' ? 'GET, HEAD' : method)).join(', ');
    app.all(path, (c) => {
      c.env.outgoing.setHeader('allow', allow);
      throw new HttpError(405, 'method_not_allowed', `This route takes ${allow}.`);
    });
  }
  app.notFound((c) => answerError(new HttpError(404, 'not_found', 'This route does not exist.'), c.req.path));
  app.onError((error, c) => {
    const httpError = toHttpError(error, callerReader(c.get('caller')));
    if (httpError.status === 500)
      deps.log.error(
        { err: httpError.cause ?? httpError, path: c.req.path, requestId: requestId(c.env.outgoing) },
        'http_request_failed',
      );
    return answerError(httpError, c.req.path);
  });
  return app;
}

/** After the answer to a request is known, before it is sent: reads what keeps its connection. */
async function keepConnection(c: HttpContext, next: () => Promise<void>): Promise<void> {
  await next();
  await drainShortBody(c.env.incoming, c.env.outgoing);
}

/** Serves a route, and records how long each request waits until its answer begins. */
function serveRoute(app: Hono<HttpEnv>, parts: AppParts, served: ServedRoute): void {
  const { method, path } = served;
  app.on(method, path, async (c) => {
    const startedAt = performance.now();
    const count = (status: number): void =>
      parts.deps.gateway.noteRequest({
        method,
        route: path,
        status,
        seconds: (performance.now() - startedAt) / 1_000,
      });
    try {
      const response = await answer(c, parts, served);
      count(response.status);
      return response;
    } catch (error) {
      count(toHttpError(error).status);
      throw error;
    }
  });
}

/** Checks who calls, then lets the handler answer. */
async function answer(
  c: HttpContext,
  { deps, authenticator }: AppParts,
  served: ServedRoute,
): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const { scope, token } = served;
  if (token === 'ticket') await authorizeByTicket(incoming, outgoing, deps);
  const isAnonymous = token === 'optional' && incoming.headers.authorization === undefined;
  if (scope !== undefined && !isAnonymous) {
    const caller = await authenticator.authorize(incoming, scope);
    deps.sockets.identify(incoming.socket, caller, outgoing);
    c.set('caller', caller);
  }
  return await served.handle(c, deps, () => readBody(incoming, outgoing, served, deps));
}

/** Asks for the gateway's health until it has been ready once; later failures have their own errors. */
function readiness(deps: HandlerDeps): () => Promise<boolean> {
  let ready = false;
  return async () => {
    ready ||= (await deps.gateway.health()).ready;
    return ready;
  };
}
