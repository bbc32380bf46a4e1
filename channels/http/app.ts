/** The table of routes, and the checks that every request passes first. */
import { Hono } from 'hono';
import { allowCrossOrigin, type AllowList, checkHeaders } from './allow-list.ts';
import type { RequestAuthenticator } from './authenticator.ts';
import { answerApproval, listApprovals, listRules, removeRule } from './routes/approvals.ts';
import { callHook } from './routes/hooks.ts';
import { describeApi } from './routes/openapi/document.ts';
import { ADMIN_ROUTES } from './routes/admin/routes.ts';
import { type HandlerDeps, type HttpContext, type HttpEnv, requestId, type Route } from './route.ts';
import { answerError, callerReader, HttpError, toHttpError } from './errors.ts';
import {
  chooseAnswer,
  forkSession,
  readChoices,
  readSessionModel,
  retryQuestion,
  undoQuestion,
} from './routes/conversations.ts';
import { deleteFile, downloadFile, listFiles, readFileLimits, uploadFile } from './routes/files.ts';
import {
  healthz,
  listCommands,
  listModels,
  metrics,
  readModel,
  readSettings,
  readyz,
} from './routes/gateway.ts';
import { actOnPlan, changePlan, listPlans, readOnePlan, requestPlan } from './routes/plans.ts';
import { dropWaiting, editWaiting, readQueue, sendWaitingNow } from './routes/queue.ts';
import type { OpenSockets } from './limits/open-sockets.ts';
import { drainShortBody } from './limits/unread-body.ts';
import { servePageFile } from './page-files/serve.ts';
import { OLLAMA_ROUTES } from './routes/ollama/routes.ts';
import { OPENAI_ROUTES } from './routes/openai/routes.ts';
import { authorizeByCookie } from './sign-in/cookie.ts';
import { signInByProxy } from './sign-in/proxy.ts';
import { endOtherSignIns, endSignIn, listSignIns, signIn, signOut } from './sign-in/routes.ts';
import { authorizeByTicket, makeTicket } from './sign-in/tickets.ts';
import {
  changeSchedule,
  createSchedule,
  listRuns,
  listSchedules,
  removeSchedule,
  runSchedule,
} from './routes/schedules.ts';
import { allEvents } from './routes/all-events.ts';
import { sessionEvents } from './routes/session-events.ts';
import { chooseLanguage, readLanguage } from './routes/language.ts';
import { readTrace } from './routes/traces.ts';
import { exportSession } from './routes/transcripts.ts';
import { takeInteraction } from './routes/interactions.ts';
import { takeUpdate } from './routes/updates.ts';
import { answerLink, enterLinkCode, giveLinkCode, listSurfaces, separateSurface } from './routes/surfaces.ts';
import { forgetOwnMemory, listOwnMemories } from './routes/person/own-memories.ts';
import { readUsage } from './routes/person/usage.ts';
import {
  changeSession,
  deleteSession,
  deleteSessions,
  listMessages,
  listSessions,
  postMessage,
  readPlan,
  readSession,
  searchSessions,
  stopSession,
} from './routes/sessions.ts';

/** The routes of the API, all but the files of the page. */
export const API: readonly Route[] = [
  { method: 'GET', path: '/healthz', handle: healthz },
  { method: 'GET', path: '/readyz', scope: 'chat', tokenOptional: true, handle: readyz },
  { method: 'GET', path: '/metrics', scope: 'admin', handle: metrics },
  ...OPENAI_ROUTES,
  ...OLLAMA_ROUTES,
  { method: 'GET', path: '/v1/models', scope: 'chat', handle: listModels },
  // Model names may contain slashes.
  { method: 'GET', path: '/v1/models/*', scope: 'chat', handle: readModel },
  { method: 'GET', path: '/v1/openapi.json', scope: 'chat', handle: describeApi(() => API) },
  { method: 'POST', path: '/v1/hooks/:name', handle: callHook },
  { method: 'POST', path: '/v1/updates/:channel', handle: takeUpdate },
  { method: 'POST', path: '/v1/interactions/:channel', handle: takeInteraction },
  { method: 'GET', path: '/v1/choices', scope: 'chat', handle: readChoices },
  { method: 'GET', path: '/v1/commands', scope: 'chat', handle: listCommands },
  { method: 'GET', path: '/v1/language', scope: 'chat', handle: readLanguage },
  { method: 'PATCH', path: '/v1/language', scope: 'chat', handle: chooseLanguage },
  { method: 'GET', path: '/v1/me/memories', scope: 'chat', handle: listOwnMemories },
  { method: 'DELETE', path: '/v1/me/memories/:id', scope: 'chat', handle: forgetOwnMemory },
  { method: 'GET', path: '/v1/settings', scope: 'admin', handle: readSettings },
  { method: 'GET', path: '/v1/usage', scope: 'chat', handle: readUsage },
  { method: 'GET', path: '/v1/sessions', scope: 'chat', handle: listSessions },
  { method: 'POST', path: '/v1/sessions/delete', scope: 'chat', handle: deleteSessions },
  { method: 'GET', path: '/v1/search', scope: 'chat', handle: searchSessions },
  { method: 'POST', path: '/v1/stream-tickets', scope: 'chat', handle: makeTicket },
  { method: 'GET', path: '/v1/events', scope: 'chat', ticket: true, handle: allEvents },
  { method: 'GET', path: '/v1/ws', handle: upgradeRequired },
  { method: 'GET', path: '/v1/sessions/:key', scope: 'chat', handle: readSession },
  { method: 'PATCH', path: '/v1/sessions/:key', scope: 'chat', handle: changeSession },
  { method: 'DELETE', path: '/v1/sessions/:key', scope: 'chat', handle: deleteSession },
  { method: 'GET', path: '/v1/sessions/:key/messages', scope: 'chat', handle: listMessages },
  { method: 'GET', path: '/v1/sessions/:key/export', scope: 'chat', handle: exportSession },
  { method: 'POST', path: '/v1/sessions/:key/messages', scope: 'chat', handle: postMessage },
  { method: 'GET', path: '/v1/sessions/:key/files', scope: 'chat', handle: listFiles },
  { method: 'POST', path: '/v1/sessions/:key/files', scope: 'chat', handle: uploadFile },
  // File paths contain slashes.
  { method: 'GET', path: '/v1/sessions/:key/files/*', scope: 'chat', handle: downloadFile },
  { method: 'DELETE', path: '/v1/sessions/:key/files/*', scope: 'chat', handle: deleteFile },
  { method: 'GET', path: '/v1/file-limits', scope: 'chat', handle: readFileLimits },
  { method: 'GET', path: '/v1/sessions/:key/events', scope: 'chat', ticket: true, handle: sessionEvents },
  { method: 'GET', path: '/v1/sessions/:key/plan', scope: 'chat', handle: readPlan },
  { method: 'POST', path: '/v1/sessions/:key/fork', scope: 'chat', handle: forkSession },
  { method: 'GET', path: '/v1/sessions/:key/queue', scope: 'chat', handle: readQueue },
  { method: 'PATCH', path: '/v1/sessions/:key/queue/:turn', scope: 'chat', handle: editWaiting },
  { method: 'DELETE', path: '/v1/sessions/:key/queue/:turn', scope: 'chat', handle: dropWaiting },
  { method: 'POST', path: '/v1/sessions/:key/queue/:turn/send-now', scope: 'chat', handle: sendWaitingNow },
  { method: 'POST', path: '/v1/sessions/:key/links', scope: 'commands', handle: giveLinkCode },
  { method: 'POST', path: '/v1/sessions/:key/link', scope: 'commands', handle: enterLinkCode },
  { method: 'POST', path: '/v1/links/:code', scope: 'commands', handle: answerLink },
  { method: 'GET', path: '/v1/sessions/:key/surfaces', scope: 'chat', handle: listSurfaces },
  {
    method: 'DELETE',
    path: '/v1/sessions/:key/surfaces/:address',
    scope: 'commands',
    handle: separateSurface,
  },
  { method: 'GET', path: '/v1/sessions/:key/model', scope: 'chat', handle: readSessionModel },
  { method: 'POST', path: '/v1/sessions/:key/retry', scope: 'chat', handle: retryQuestion },
  { method: 'POST', path: '/v1/sessions/:key/undo', scope: 'chat', handle: undoQuestion },
  { method: 'POST', path: '/v1/sessions/:key/turns/:turn/choose', scope: 'chat', handle: chooseAnswer },
  { method: 'POST', path: '/v1/sessions/:key/stop', scope: 'chat', handle: stopSession },
  { method: 'POST', path: '/v1/sessions/:key/plans', scope: 'chat', handle: requestPlan },
  { method: 'GET', path: '/v1/plans', scope: 'chat', handle: listPlans },
  { method: 'GET', path: '/v1/plans/:id', scope: 'chat', handle: readOnePlan },
  { method: 'PATCH', path: '/v1/plans/:id', scope: 'chat', handle: changePlan },
  { method: 'POST', path: '/v1/plans/:id/:action', scope: 'chat', handle: actOnPlan },
  { method: 'GET', path: '/v1/turns/:id/trace', scope: 'chat', handle: readTrace },
  { method: 'GET', path: '/v1/approvals', scope: 'chat', handle: listApprovals },
  { method: 'POST', path: '/v1/approvals/:id', scope: 'approve', handle: answerApproval },
  { method: 'GET', path: '/v1/approval-rules', scope: 'chat', handle: listRules },
  { method: 'DELETE', path: '/v1/approval-rules/:id', scope: 'approve', handle: removeRule },
  // The code proves who is signing in.
  { method: 'POST', path: '/v1/sign-in', handle: signIn },
  { method: 'POST', path: '/v1/sign-in/proxy', handle: signInByProxy },
  { method: 'POST', path: '/v1/sign-out', handle: signOut },
  { method: 'GET', path: '/v1/sign-ins', scope: 'chat', handle: listSignIns },
  { method: 'DELETE', path: '/v1/sign-ins', scope: 'chat', handle: endOtherSignIns },
  { method: 'DELETE', path: '/v1/sign-ins/:id', scope: 'chat', handle: endSignIn },
  { method: 'GET', path: '/v1/schedules', scope: 'chat', handle: listSchedules },
  { method: 'POST', path: '/v1/schedules', scope: 'chat', handle: createSchedule },
  { method: 'PATCH', path: '/v1/schedules/:id', scope: 'chat', handle: changeSchedule },
  { method: 'GET', path: '/v1/schedules/:id/runs', scope: 'chat', handle: listRuns },
  { method: 'POST', path: '/v1/schedules/:id/run', scope: 'chat', handle: runSchedule },
  { method: 'DELETE', path: '/v1/schedules/:id', scope: 'chat', handle: removeSchedule },
  ...ADMIN_ROUTES,
];

/** Parts of the app. `allowed` is called per request, because the port is known only once the server listens. */
export interface AppParts {
  deps: HandlerDeps;
  authenticator: RequestAuthenticator;
  sockets: Pick<OpenSockets, 'identify'>;
  allowed(): AllowList;
}

/** Makes the app. Its answers are JSON, event streams and the files of the page; errors have OpenAI's shape. */
export function createApp(parts: AppParts): Hono<HttpEnv> {
  const { deps } = parts;
  const app = new Hono<HttpEnv>();
  const isReady = readiness(deps);
  const routes: Route[] = [
    ...API,
    { method: 'GET', path: '/', handle: servePageFile },
    { method: 'GET', path: '/page/*', handle: servePageFile },
  ];

  app.use('*', keepConnection);
  app.use('*', async (c, next) => {
    const { incoming, outgoing } = c.env;
    outgoing.setHeader('x-content-type-options', 'nosniff');
    outgoing.setHeader('referrer-policy', 'no-referrer');
    checkHeaders(incoming, parts.allowed());
    const preflight = allowCrossOrigin(c);
    if (preflight !== undefined) return preflight;
    if (c.req.path.startsWith('/v1/') || c.req.path.startsWith('/api/')) {
      if (!(await isReady())) throw notReady();
    }
    authorizeByCookie(incoming);
    await next();
    return undefined;
  });
  for (const { method, path, scope, tokenOptional, ticket, handle } of routes) {
    const answer = async (c: HttpContext): Promise<Response> => {
      if (ticket === true) await authorizeByTicket(c.env.incoming, c.env.outgoing, deps);
      const isAnonymous = tokenOptional === true && c.env.incoming.headers.authorization === undefined;
      if (scope !== undefined && !isAnonymous) {
        const caller = await parts.authenticator.authorize(c.env.incoming, scope);
        parts.sockets.identify(c.env.incoming.socket, caller.tokenId);
        c.set('caller', caller);
      }
      return await handle(c, deps);
    };
    app.on(method, path, async (c) => await counted(deps, { method, route: path }, () => answer(c)));
  }
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

/** Answers, and records how long it took until the answer began. */
async function counted(
  { gateway }: HandlerDeps,
  asked: { method: string; route: string },
  answer: () => Promise<Response>,
): Promise<Response> {
  const begun = performance.now();
  const count = (status: number): void =>
    gateway.noteRequest({ ...asked, status, seconds: (performance.now() - begun) / 1_000 });
  try {
    const response = await answer();
    count(response.status);
    return response;
  } catch (error) {
    count(toHttpError(error).status);
    throw error;
  }
}

/** The answer to a request that reaches the WebSocket route without asking for an upgrade (RFC 9110, 15.5.22). */
function upgradeRequired(c: HttpContext): Response {
  c.env.outgoing.setHeader('upgrade', 'websocket');
  throw new HttpError(426, 'upgrade_required', 'This route speaks WebSocket; see docs/http-api.md.');
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
