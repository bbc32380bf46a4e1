/** One route of the HTTP API, and what its handler is given. */
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { Caller, Scope } from '../../src/contracts/access.ts';
import type { GatewayApi } from '../../src/contracts/gateway-api.ts';
import type { Log } from '../../src/contracts/log.ts';
import type { Receive } from '../../src/contracts/receive.ts';
import type { OpenStreams } from './open-streams.ts';

/** Everything handlers share: the gateway, and the answer streams that are open. */
export interface HandlerDeps {
  log: Log;
  gateway: GatewayApi;
  receive: Receive;
  streams: OpenStreams;
}

/** Hono's environment; `caller` is set for every route that has a scope. */
export interface HttpEnv {
  Bindings: HttpBindings;
  Variables: { caller: Caller };
}

/** One request as Hono gives it. */
export type HttpContext = Context<HttpEnv>;

/** Answers one request. What it throws becomes an error answer, as long as nothing was sent. */
export type Handler = (c: HttpContext, deps: HandlerDeps) => Response | Promise<Response>;

/** One line of the table of routes; without `scope` no token is needed. */
export interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  scope?: Scope;
  handle: Handler;
}
