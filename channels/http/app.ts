/** The table of routes, and the checks that every request passes first. */
import { Hono } from 'hono';
import { checkHeaders } from './allow-list.ts';
import type { AllowList } from './allow-list.ts';
import type { RequestAuthenticator } from './authenticator.ts';
import { answerApproval, listApprovals } from './routes/approvals.ts';
import { completions } from './routes/completions.ts';
import type { HandlerDeps, HttpContext, HttpEnv, Route } from './route.ts';
import { errorBody, errorHeaders, HttpError, toHttpError } from './errors.ts';
import { healthz, listCommands, listModels, metrics, readyz } from './routes/gateway.ts';
import { actOnPlan } from './routes/plans.ts';
import { servePageFile } from './page-files.ts';
import type { PageFiles } from './page-files.ts';
import { listSchedules, createSchedule, removeSchedule } from './routes/schedules.ts';
import { sessionEvents } from './routes/session-events.ts';
import { readUsage } from './routes/usage.ts';
import {
  changeSession,
  deleteSession,
  listMessages,
  listSessions,
  postMessage,
  readPlan,
  readSession,
  stopSession,
} from './routes/sessions.ts';

const API: Route[] = [
  { method: 'GET', path: '/healthz', handle: healthz },
  { method: 'GET', path: '/readyz', handle: readyz },
  { method: 'GET', path: '/metrics', scope: 'admin', handle: metrics },
  { method: 'POST', path: '/v1/chat/completions', scope: 'chat', handle: completions },
  { method: 'GET', path: '/v1/models', scope: 'chat', handle: listModels },
  { method: 'GET', path: '/v1/commands', scope: 'chat', handle: listCommands },
  { method: 'GET', path: '/v1/usage', scope: 'chat', handle: readUsage },
  { method: 'GET', path: '/v1/sessions', scope: 'chat', handle: listSessions },
  { method: 'GET', path: '/v1/sessions/:key', scope: 'chat', handle: readSession },
  { method: 'PATCH', path: '/v1/sessions/:key', scope: 'chat', handle: changeSession },
  { method: 'DELETE', path: '/v1/sessions/:key', scope: 'chat', handle: deleteSession },
  { method: 'GET', path: '/v1/sessions/:key/messages', scope: 'chat', handle: listMessages },
  { method: 'POST', path: '/v1/sessions/:key/messages', scope: 'chat', handle: postMessage },
  { method: 'GET', path: '/v1/sessions/:key/events', scope: 'chat', handle: sessionEvents },
  { method: 'GET', path: '/v1/sessions/:key/plan', scope: 'chat', handle: readPlan },
  { method: 'POST', path: '/v1/sessions/:key/stop', scope: 'chat', handle: stopSession },
  { method: 'POST', path: '/v1/plans/:id/:action', scope: 'chat', handle: actOnPlan },
  { method: 'GET', path: '/v1/approvals', scope: 'chat', handle: listApprovals },
  { method: 'POST', path: '/v1/approvals/:id', scope: 'chat', handle: answerApproval },
  { method: 'GET', path: '/v1/schedules', scope: 'chat', handle: listSchedules },
  { method: 'POST', path: '/v1/schedules', scope: 'chat', handle: createSchedule },
  { method: 'DELETE', path: '/v1/schedules/:id', scope: 'chat', handle: removeSchedule },
];

/** Parts of the app. `allowed` is called per request, because the port is known only once the server listens. */
export interface AppParts {
  deps: HandlerDeps;
  authenticator: RequestAuthenticator;
  page: PageFiles;
  allowed(): AllowList;
}

/** Makes the app. Its answers are JSON, event streams and the files of the page; errors have OpenAI's shape. */
export function createApp(parts: AppParts): Hono<HttpEnv> {
  const { deps, page } = parts;
  const app = new Hono<HttpEnv>();
  const isReady = readiness(deps);
  const routes: Route[] = [
    ...API,
    { method: 'GET', path: '/', handle: (c) => servePageFile(c, page, '/page/index.html') },
    { method: 'GET', path: '/page/*', handle: (c) => servePageFile(c, page, c.req.path) },
    { method: 'GET', path: '/src/*', handle: (c) => servePageFile(c, page, c.req.path) },
  ];

  app.use('*', async (c, next) => {
    const { incoming, outgoing } = c.env;
    outgoing.setHeader('x-content-type-options', 'nosniff');
    outgoing.setHeader('referrer-policy', 'no-referrer');
    checkHeaders(incoming, parts.allowed());
    const preflight = allowCrossOrigin(c);
    if (preflight !== undefined) return preflight;
    if (c.req.path.startsWith('/v1/')) {
      // A HEAD request for a stream would open one that is never read.
      if (incoming.method === 'HEAD')
        throw new HttpError(405, 'method_not_allowed', 'HEAD is not supported on API routes.');
      if (!(await isReady())) throw notReady();
    }
    await next();
    return undefined;
  });
  for (const { method, path, scope, handle } of routes) {
    app.on(method, path, async (c) => {
      if (scope !== undefined) c.set('caller', await parts.authenticator.authorize(c.env.incoming, scope));
      return await handle(c, deps);
    });
  }
  for (const [path, methods] of Map.groupBy(routes, (route) => route.path)) {
    const allow = methods.map((route) => route.method).join(', ');
    app.all(path, (c) => {
      c.env.outgoing.setHeader('allow', allow);
      throw new HttpError(405, 'method_not_allowed', `This route takes ${allow}.`);
    });
  }
  app.notFound(() => answerError(new HttpError(404, 'not_found', 'This route does not exist.')));
  app.onError((error, c) => {
    const httpError = toHttpError(error);
    if (httpError.status === 500)
      deps.log.error({ err: httpError.cause ?? httpError, path: c.req.path }, 'http_request_failed');
    return answerError(httpError);
  });
  return app;
}

function answerError(error: HttpError): Response {
  return new Response(JSON.stringify(errorBody(error)), {
    status: error.status,
    headers: errorHeaders(error),
  });
}

/** Lets an allowed origin read the answers; gives the answer to a preflight, else undefined. */
function allowCrossOrigin(c: HttpContext): Response | undefined {
  const { incoming, outgoing } = c.env;
  const { origin } = incoming.headers;
  if (origin === undefined) return undefined;
  outgoing.setHeader('access-control-allow-origin', origin);
  outgoing.setHeader('vary', 'Origin');
  if (incoming.method !== 'OPTIONS') return undefined;
  return c.body(null, 204, {
    'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
    'access-control-allow-headers':
      'authorization, content-type, idempotency-key, last-event-id, x-session-id',
    'access-control-max-age': '600',
  });
}

/** Asks for the gateway's health until it has been ready once; later failures have their own errors. */
function readiness(deps: HandlerDeps): () => Promise<boolean> {
  let ready = false;
  return async () => {
    ready ||= (await deps.gateway.health()).ready;
    return ready;
  };
}

function notReady(): HttpError {
  return new HttpError(503, 'not_ready', 'The gateway is still starting; see /readyz.');
}
