/** Answers a call of a route within the gateway: MCP's tools and resources are the routes of the API by other names. */
import { Hono } from 'hono';
import type { IncomingMessage } from 'node:http';
import { parseShape } from '../body.ts';
import { HttpError } from '../errors.ts';
import { requireScope } from '../authenticator.ts';
import type { HandlerDeps, HttpContext, HttpEnv, Route } from '../route.ts';
import { approvalRoutes } from '../routes/approvals.ts';
import { personRoutes } from '../routes/person.ts';
import { planRoutes } from '../routes/plans.ts';
import { scheduleRoutes } from '../routes/schedules.ts';
import { sessionRoutes } from '../routes/sessions.ts';

/** A request to a route. */
export interface RouteCall {
  method: Route['method'];
  /** With its parameters: `/v1/plans/7`. */
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  /** In place of the header `Idempotency-Key`. */
  key?: string | undefined;
}

/** Answers with the JSON of the route. Throws `HttpError`s and other `GatewayError`s, as the route does. */
export type CallRoute = (c: HttpContext, call: RouteCall) => Promise<string>;

/** The routes that can be called. */
const ROUTES: readonly Route[] = [
  ...sessionRoutes,
  ...planRoutes,
  ...scheduleRoutes,
  ...approvalRoutes,
  ...personRoutes,
];

/** Every check of such a request has been passed but that of its scope, which depends on the route. */
export function createCallRoute(deps: HandlerDeps): CallRoute {
  const app = new Hono<HttpEnv>();
  const bodies = new WeakMap<IncomingMessage, { c: HttpContext; body: unknown }>();
  for (const route of ROUTES) {
    app.on(route.method, route.path, async (c) => {
      const call = bodies.get(c.env.incoming);
      if (call === undefined) throw new TypeError('this request comes from elsewhere');
      const caller = call.c.get('caller');
      if (route.scope !== undefined) requireScope(caller, route.scope);
      c.set('caller', caller);
      const { body: schema } = route;
      return await route.handle(c, deps, async () =>
        schema === undefined ? call.body : parseShape(call.body ?? {}, schema),
      );
    });
  }
  app.notFound(() => {
    throw new HttpError(404, 'not_found', 'There is nothing of that name.');
  });
  app.onError((error) => {
    throw error;
  });
  return async (c, { method, path, query = {}, body, key }) => {
    const incoming = withKey(c.env.incoming, key);
    bodies.set(incoming, { c, body });
    const words = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    );
    const url = `${path}?${new URLSearchParams(words).toString()}`;
    const response = await app.request(url, { method }, { incoming, outgoing: c.env.outgoing });
    return await response.text();
  };
}

/** The request with this key instead of the one that its headers have. */
function withKey(incoming: IncomingMessage, key: string | undefined): IncomingMessage {
  const { 'idempotency-key': _, ...headers } = incoming.headers;
  const keyed = key === undefined ? headers : { ...headers, 'idempotency-key': key };
  return Object.create(incoming, { headers: { value: keyed } });
}

/** A part of a path with any characters. */
export function segment(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
