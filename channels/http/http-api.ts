/** What every handler of this door is given. */
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { Caller, Scope } from '../../src/contracts/access.ts';
import type { GatewayApi } from '../../src/contracts/gateway-api.ts';
import type { Log } from '../../src/contracts/log.ts';
import type { Receive } from '../../src/contracts/receive.ts';
import type { OpenStreams } from './open-streams.ts';

/** The house behind the door, and what the door keeps for itself. */
export interface Door {
  log: Log;
  gateway: GatewayApi;
  receive: Receive;
  streams: OpenStreams;
}

/** `caller` is there for every route that has a scope. */
export interface HttpEnv {
  Bindings: HttpBindings;
  Variables: { caller: Caller };
}

/** One request, as Hono hands it over. */
export type HttpContext = Context<HttpEnv>;

/** Answers one request. What it throws becomes an error answer, as long as nothing was sent. */
export type Handler = (c: HttpContext, door: Door) => Response | Promise<Response>;

/** One line of the door's table; without `scope` no token is asked for. */
export interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  scope?: Scope;
  handle: Handler;
}
